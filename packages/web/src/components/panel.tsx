import type { ComponentChildren } from 'preact';

interface PanelProps {
  readonly title: string;
  /** Content to the right of the title. */
  readonly aside?: ComponentChildren;
  readonly flush?: boolean;
  readonly children: ComponentChildren;
}

export function Panel({ title, aside, flush = false, children }: PanelProps) {
  return (
    <section class="panel" aria-label={title}>
      <div class="panel-head">
        <h2>{title}</h2>
        {aside}
      </div>
      <div class={flush ? 'panel-body flush' : 'panel-body'}>{children}</div>
    </section>
  );
}
