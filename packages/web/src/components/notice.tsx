import type { ComponentChildren } from 'preact';

interface NoticeProps {
  readonly title: string;
  readonly slim?: boolean;
  readonly children?: ComponentChildren;
}

/** Says why there is nothing to see here, and what to do. */
export function Notice({ title, slim = false, children }: NoticeProps) {
  return (
    <div class={slim ? 'notice slim' : 'notice'}>
      <h2>{title}</h2>
      {children}
    </div>
  );
}
