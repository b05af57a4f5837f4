import { useEffect, useRef, useState } from 'preact/hooks';
import { parseSearch } from '../base/parse-search.ts';
import { namedAddresses, programName } from '../ledger/address-names.ts';
import { clientOf } from '../state/clients.ts';
import { currentDataset, statusOf } from '../state/datasets.ts';
import { pagePath } from '../state/page-path.ts';
import { navigate } from '../state/router.ts';
import { describeError } from './error-notice.tsx';

/** Accepts a slot, a signature, an address, a name or a time, and opens its page. */
export function SearchBox() {
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  const [note, setNote] = useState('');
  useSlashKey(field);
  const submit = async (event: Event) => {
    event.preventDefault();
    const dataset = currentDataset.value;
    if (text.trim() === '' || dataset === undefined) return;
    try {
      const target = await findTarget(text, dataset);
      setNote(target.note ?? '');
      if (target.href === undefined) return;
      setText('');
      field.current?.blur();
      navigate(target.href);
    } catch (error) {
      setNote(describeError(error).text);
    }
  };
  return (
    <search class="search no-print">
      <form onSubmit={(event) => void submit(event)}>
        <input
          ref={field}
          class="input"
          type="search"
          aria-label="Search for a slot, signature, address, name or time"
          placeholder="Slot, signature, address, name or time"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setNote('');
          }}
          onBlur={() => setNote('')}
        />
        <span class="search-key" aria-hidden="true">
          /
        </span>
        {note !== '' && (
          <p class="search-note" role="alert">
            {note}
          </p>
        )}
      </form>
    </search>
  );
}

async function findTarget(
  text: string,
  dataset: string,
): Promise<{ readonly href?: string; readonly note?: string }> {
  const target = parseSearch(text, {
    head: statusOf(dataset)?.head?.number,
    named: namedAddresses,
  });
  switch (target.kind) {
    case 'slot':
      return { href: pagePath.block(dataset, target.slot) };
    case 'signature':
      return { href: pagePath.transaction(dataset, target.signature) };
    case 'address':
      return { href: await pathOfAddress(dataset, target.address) };
    case 'time': {
      const slot = await clientOf(dataset).blockAt(target.seconds);
      if (slot === null) return { note: `${dataset} has no block at or after this time yet.` };
      return { href: pagePath.block(dataset, slot) };
    }
    case 'unknown':
      return { note: target.reason };
  }
}

/** A transaction may name a program without calling it, for instance as an account of another call. */
const transactionsRead = 25;

/** An address that one of the newest transactions calls is a program. */
async function pathOfAddress(dataset: string, address: string): Promise<string> {
  if (programName(address) !== undefined) return pagePath.program(dataset, address);
  const { transactions } = await clientOf(dataset).accountTransactions(address, {
    limit: transactionsRead,
  });
  const isCalled = transactions.some(({ instructions }) =>
    instructions.some(({ programId }) => programId === address),
  );
  return isCalled ? pagePath.program(dataset, address) : pagePath.account(dataset, address);
}

/** The key `/` moves the focus here, except while the user types in a field. */
function useSlashKey(field: { readonly current: HTMLInputElement | null }): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isTyping =
        event.target instanceof Element &&
        event.target.closest('input, textarea, select, [contenteditable], .editor') !== null;
      if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      field.current?.focus();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [field]);
}
