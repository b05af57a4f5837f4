/** Shows a long text in a box that scrolls. */
export function RawText({ text }: { readonly text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling box must be reachable with the keyboard.
    <pre class="raw" tabIndex={0}>
      {text}
    </pre>
  );
}
