import type { ComponentChildren } from 'preact';

interface FactProps {
  readonly label: string;
  /** Whether the value uses the whole width, for hashes and signatures. */
  readonly wide?: boolean;
  readonly children: ComponentChildren;
}

/** One labelled value in a list with the class `facts`. */
export function Fact({ label, wide = false, children }: FactProps) {
  return (
    <div class={wide ? 'wide' : ''}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  );
}
