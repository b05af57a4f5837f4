import type { RecordArray } from '@sluice/protocol/field-table';
import { type FilterRow, filterRows, relationRows } from '@sluice/protocol/request-table';
import { CloseIcon } from '../../components/icons.tsx';
import { FilterInput } from './filter-input.tsx';
import { type JsonObject, setKey } from './query-model.ts';

interface ItemEditorProps {
  readonly array: RecordArray;
  readonly item: JsonObject;
  readonly onChange: (item: JsonObject) => void;
  readonly onRemove: () => void;
}

/** One item: filters that must all match, and flags that include related records. */
export function ItemEditor({ array, item, onChange, onRemove }: ItemEditorProps) {
  const filters: readonly (readonly [string, FilterRow])[] = filterRows(array);
  const used = filters.filter(([name]) => name in item);
  const free = filters.filter(([name]) => !(name in item));
  return (
    <div class="item">
      <button
        type="button"
        class="button quiet icon item-remove"
        aria-label="Remove this item"
        onClick={onRemove}
      >
        <CloseIcon />
      </button>
      {used.length === 0 && (
        <p class="muted small">No filter: selects every record of this kind.</p>
      )}
      {used.map(([name, row]) => (
        <FilterInput
          key={name}
          name={name}
          row={row}
          value={item[name]}
          onChange={(value) => onChange(setKey(item, name, value))}
        />
      ))}
      <div class="row">
        <select
          class="select compact-select"
          aria-label="Add a filter"
          value=""
          onChange={(event) => {
            const [name, row] = free.find(([key]) => key === event.currentTarget.value) ?? [];
            if (name !== undefined)
              onChange(setKey(item, name, row?.value === 'boolean' ? true : []));
          }}
        >
          <option value="" disabled>
            Add a filter…
          </option>
          {free.map(([name, row]) => (
            <option key={name} value={name}>
              {name}: {row.text}
            </option>
          ))}
        </select>
      </div>
      <Relations array={array} item={item} onChange={onChange} />
    </div>
  );
}

function Relations({ array, item, onChange }: Omit<ItemEditorProps, 'onRemove'>) {
  const rows = relationRows(array);
  if (rows.length === 0) return null;
  return (
    <fieldset class="relations">
      <legend class="muted small">Also return, for each match</legend>
      {rows.map(([name, { text }]) => (
        <label key={name} class="check" title={text}>
          <input
            type="checkbox"
            checked={item[name] === true}
            onChange={(event) =>
              onChange(setKey(item, name, event.currentTarget.checked ? true : undefined))
            }
          />
          {name}
        </label>
      ))}
    </fieldset>
  );
}
