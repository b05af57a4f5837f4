import type { ComponentChildren } from 'preact';

interface NoticeProps {
  readonly title: string;
  readonly slim?: boolean;
  readonly children?: ComponentChildren;
}

/** Explains why there is nothing to show, and what to do: instead of a page, or `slim` in a part of one. */
export function Notice({ title, slim = false, children }: NoticeProps) {
  return (
    <div class={slim ? 'notice slim' : 'notice'}>
      {slim ? <h2>{title}</h2> : <h1>{title}</h1>}
      {children}
    </div>
  );
}
