import type { ComponentChildren } from 'preact';

/** A table that scrolls horizontally when it is wider than the page. */
export function TableScroll({ children }: { readonly children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling box must be reachable with the keyboard.
    <div class="table-scroll" tabIndex={0}>
      {children}
    </div>
  );
}
