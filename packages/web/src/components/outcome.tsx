import { CheckIcon, CloseIcon } from './icons.tsx';

/** Whether a transaction succeeded, as a sign that a screen reader reads as a word. */
export function Outcome({ isFailed }: { readonly isFailed: boolean }) {
  const text = isFailed ? 'Failed' : 'Succeeded';
  return (
    <span class={isFailed ? 'outcome failed' : 'outcome'} title={text}>
      {isFailed ? <CloseIcon /> : <CheckIcon />}
      <span class="visually-hidden">{text}</span>
    </span>
  );
}
