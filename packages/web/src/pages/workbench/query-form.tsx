import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import { formatInteger } from '../../base/format.ts';
import { useDraft } from '../../components/use-draft.ts';
import { statusOf } from '../../state/datasets.ts';
import { FieldPicker } from './field-picker.tsx';
import { ItemList } from './item-list.tsx';
import { type JsonObject, setKey } from './query-model.ts';

/** The query as a form. Every change returns a new query, whose text the editor then shows. */
export function QueryForm({ dataset, query, onChange }: QueryFormProps) {
  return (
    <div class="query-form">
      <RangeFields dataset={dataset} query={query} onChange={onChange} />
      <label class="check">
        <input
          type="checkbox"
          checked={query['includeAllBlocks'] === true}
          onChange={(event) =>
            onChange(
              setKey(query, 'includeAllBlocks', event.currentTarget.checked ? true : undefined),
            )
          }
        />
        Include blocks without matching records
      </label>
      <h2 class="form-title">Records to select</h2>
      {RECORD_ARRAY_NAMES.map((array) => (
        <ItemList key={array} array={array} query={query} onChange={onChange} />
      ))}
      <h2 class="form-title">Fields to send</h2>
      <FieldPicker query={query} onChange={onChange} />
    </div>
  );
}

function RangeFields({ dataset, query, onChange }: QueryFormProps) {
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

interface QueryFormProps {
  readonly dataset: string;
  readonly query: JsonObject;
  readonly onChange: (query: JsonObject) => void;
}
