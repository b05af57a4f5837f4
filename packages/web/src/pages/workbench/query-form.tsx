import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import { FieldPicker } from './field-picker.tsx';
import { ItemList } from './item-list.tsx';
import type { QueryFormProps } from './query-form-props.ts';
import { setKey } from './query-model.ts';
import { RangeFields } from './range-fields.tsx';

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
