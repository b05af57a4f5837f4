import { formatInteger } from '../../base/format.ts';
import { useDraft } from '../../components/use-draft.ts';
import { statusOf } from '../../state/datasets.ts';
import type { QueryFormProps } from './query-form-props.ts';
import { setKey } from './query-model.ts';

export function RangeFields({ dataset, query, onChange }: QueryFormProps) {
  const status = statusOf(dataset);
  const set = (name: string, text: string) => {
    const digits = text.replaceAll(/[,_\s]/g, '');
    if (digits === '') onChange(setKey(query, name, undefined));
    else if (/^\d{1,15}$/.test(digits)) onChange(setKey(query, name, Number(digits)));
  };
  const first = useDraft(toText(query['fromBlock']), (text) => set('fromBlock', text));
  const last = useDraft(toText(query['toBlock']), (text) => set('toBlock', text));
  return (
    <div class="range-fields">
      <label class="field">
        <span>First slot</span>
        <input class="input" inputMode="numeric" {...first} />
      </label>
      <label class="field">
        <span>Last slot</span>
        <input class="input" inputMode="numeric" placeholder="follow the ledger" {...last} />
      </label>
      <p class="muted small range-note">
        {status?.head == null
          ? ''
          : `${dataset} holds slots ${formatInteger(status.start_block)} to ${formatInteger(status.head.number)}.`}
      </p>
    </div>
  );
}

function toText(value: unknown): string {
  return typeof value === 'number' ? String(value) : '';
}
