import { CheckIcon, CloseIcon } from './icons.tsx';

/** Shows whether a transaction succeeded, as an icon with a text for screen readers. */
export function Outcome({ isFailed }: { readonly isFailed: boolean }) {
  const text = isFailed ? 'Failed' : 'Succeeded';
  return (
    <span class={isFailed ? 'outcome failed' : 'outcome'} title={text}>
      {isFailed ? <CloseIcon /> : <CheckIcon />}
      <span class="visually-hidden">{text}</span>
    </span>
  );
}
