import { useState } from 'preact/hooks';
import { clock } from '../base/clock.ts';
import { CheckIcon, CopyIcon } from './icons.tsx';

const shownMs = 1_500;

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(text);
    setCopied(true);
    await clock.sleep(shownMs);
    setCopied(false);
  };
  return (
    <button
      type="button"
      class="copy no-print"
      aria-label={isCopied ? 'Copied' : `Copy ${label}`}
      title={`Copy ${label}`}
      onClick={() => void copy()}
    >
      {isCopied ? <CheckIcon /> : <CopyIcon />}
    </button>
  );
}

/** The clipboard is only available on loopback and over TLS. Copying from a selected text field works everywhere. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard !== undefined) return await navigator.clipboard.writeText(text);
  const field = document.createElement('textarea');
  field.value = text;
  document.body.append(field);
  field.select();
  document.execCommand('copy');
  field.remove();
}
