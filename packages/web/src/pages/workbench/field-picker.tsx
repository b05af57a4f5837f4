import {
  defaultFieldNames,
  fieldNames,
  fieldRows,
  KINDS,
  type Kind,
  RECORD_ARRAY_NAMES,
  RECORD_ARRAYS,
} from '@sluice/protocol/field-table';
import type { JsonObject } from './query-model.ts';
import { itemsOf, selectedFields, setFields, setKey } from './query-model.ts';

interface FieldPickerProps {
  readonly query: JsonObject;
  readonly onChange: (query: JsonObject) => void;
}

/** The fields of each kind. All kinds are shown, because records of any kind can be included as related records. */
export function FieldPicker({ query, onChange }: FieldPickerProps) {
  if (query['fields'] === undefined) {
    return (
      <div class="callout row spread">
        <span>All common fields of every record are sent.</span>
        <button
          type="button"
          class="button compact"
          onClick={() => onChange(chooseDefaults(query))}
        >
          Choose fields
        </button>
      </div>
    );
  }
  return (
    <div class="field-kinds">
      {KINDS.map((kind) => (
        <KindFields key={kind} kind={kind} query={query} onChange={onChange} />
      ))}
      <button
        type="button"
        class="button compact"
        onClick={() => onChange(setKey(query, 'fields', undefined))}
      >
        Send all common fields
      </button>
    </div>
  );
}

interface KindFieldsProps extends FieldPickerProps {
  readonly kind: Kind;
}

function KindFields({ kind, query, onChange }: KindFieldsProps) {
  const selected = selectedFields(query, kind) ?? [];
  const all = fieldNames(kind, 'ledger');
  const choose = (names: readonly string[]) => onChange(setFields(query, kind, names));
  return (
    <details class="field-kind">
      <summary>
        <span>{kind}</span>
        <span class="muted small">
          {selected.length === 0 ? 'none' : `${selected.length} of ${all.length}`}
        </span>
      </summary>
      <div class="row">
        <button type="button" class="button compact" onClick={() => choose(all)}>
          All
        </button>
        <button
          type="button"
          class="button compact"
          onClick={() => choose(defaultFieldNames(kind, 'ledger'))}
        >
          Common
        </button>
        <button type="button" class="button compact" onClick={() => choose([])}>
          None
        </button>
      </div>
      <div class="field-checks">
        {fieldRows(kind)
          .filter(([name]) => all.includes(name))
          .map(([name, row]) => (
            <label key={name} class="check" title={row.text}>
              <input
                type="checkbox"
                checked={selected.includes(name)}
                onChange={(event) =>
                  choose(
                    event.currentTarget.checked
                      ? all.filter((field) => field === name || selected.includes(field))
                      : selected.filter((field) => field !== name),
                  )
                }
              />
              {name}
            </label>
          ))}
      </div>
    </details>
  );
}

/** Returns the fields that the service would send by default: the header, and the kinds that the query selects. */
function chooseDefaults(query: JsonObject): JsonObject {
  const kinds = RECORD_ARRAY_NAMES.filter((array) => itemsOf(query, array).length > 0).map(
    (array): Kind => RECORD_ARRAYS[array],
  );
  const sent: readonly Kind[] = ['block', ...kinds];
  return sent.reduce(
    (next, kind) => setFields(next, kind, defaultFieldNames(kind, 'ledger')),
    query,
  );
}
