import { formatInteger } from '../../base/format.ts';
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
  return (
    <div class="range-fields">
      <label class="field">
        <span>First slot</span>
        <input
          class="input"
          inputMode="numeric"
          value={toText(query['fromBlock'])}
          onChange={(event) => set('fromBlock', event.currentTarget.value)}
        />
      </label>
      <label class="field">
        <span>Last slot</span>
        <input
          class="input"
          inputMode="numeric"
          placeholder="follow the ledger"
          value={toText(query['toBlock'])}
          onChange={(event) => set('toBlock', event.currentTarget.value)}
        />
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
