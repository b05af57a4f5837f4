import { LOG_KINDS } from '@sluice/protocol/field-table';
import { describeValues, type FilterRow } from '@sluice/protocol/request-table';
import { CloseIcon } from '../../components/icons.tsx';
import { useDraft } from '../../components/use-draft.ts';
import { listValues } from './query-model.ts';

interface FilterInputProps {
  readonly name: string;
  readonly row: FilterRow;
  readonly value: unknown;
  /** `undefined` removes the filter. */
  readonly onChange: (value: unknown) => void;
}

export function FilterInput({ name, row, value, onChange }: FilterInputProps) {
  return (
    <div class="filter">
      <span class="filter-name" title={row.text}>
        {name}
      </span>
      <Value name={name} row={row} value={value} onChange={onChange} />
      <button
        type="button"
        class="button quiet icon"
        aria-label={`Remove the filter ${name}`}
        onClick={() => onChange(undefined)}
      >
        <CloseIcon />
      </button>
    </div>
  );
}

function Value({ name, row, value, onChange }: FilterInputProps) {
  if (row.value === 'boolean') {
    return (
      <select
        class="select"
        aria-label={name}
        value={String(value === true)}
        onChange={(event) => onChange(event.currentTarget.value === 'true')}
      >
        <option value="true">true</option>
        <option value="false">false</option>
      </select>
    );
  }
  const values = listValues(value);
  if (row.value === 'logKind') {
    return (
      <span class="row">
        {LOG_KINDS.map((kind) => (
          <label key={kind} class="check">
            <input
              type="checkbox"
              checked={values.includes(kind)}
              onChange={() =>
                onChange(
                  values.includes(kind)
                    ? values.filter((chosen) => chosen !== kind)
                    : [...values, kind],
                )
              }
            />
            {kind}
          </label>
        ))}
      </span>
    );
  }
  return <ValueLines name={name} row={row} value={value} onChange={onChange} />;
}

function ValueLines({ name, row, value, onChange }: FilterInputProps) {
  const values = listValues(value);
  const draft = useDraft(values.join('\n'), (text) =>
    onChange(
      text
        .split(/[\s,]+/)
        .map((part) => part.replaceAll('"', ''))
        .filter((part) => part !== ''),
    ),
  );
  return (
    <textarea
      class="textarea mono filter-values"
      aria-label={`${name}, one value a line`}
      rows={Math.min(6, Math.max(1, values.length))}
      spellcheck={false}
      placeholder={describeValues(row).replaceAll('`', '')}
      {...draft}
    />
  );
}
