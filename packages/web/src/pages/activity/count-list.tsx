import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { formatInteger } from '../../base/format.ts';
import { Panel } from '../../components/panel.tsx';

interface CountRow {
  readonly key: string;
  readonly label: ComponentChildren;
  readonly transactions: number;
  /** A query for the records behind the count. */
  readonly href: string;
}

interface CountListProps {
  readonly title: string;
  readonly rows: readonly CountRow[];
  readonly total: number;
  readonly isExact: boolean;
  /** A note about entries that the list does not have. */
  readonly note?: string;
}

const firstRowCount = 12;

export function CountList({ title, rows, total, isExact, note }: CountListProps) {
  const [isOpen, setOpen] = useState(false);
  const shown = isOpen ? rows : rows.slice(0, firstRowCount);
  const max = Math.max(1, rows[0]?.transactions ?? 1);
  return (
    <Panel
      title={title}
      aside={<span class="muted small">{isExact ? 'transactions' : 'transactions, at least'}</span>}
      flush
    >
      {rows.length === 0 ? (
        <p class="panel-body muted">None in this range.</p>
      ) : (
        <ol class="plain counts">
          {shown.map(({ key, label, transactions, href }) => (
            <li key={key}>
              <span class="counts-label">{label}</span>
              <span class="counts-bar" aria-hidden="true">
                <span class="bar" style={{ width: `${(transactions / max) * 100}%` }} />
              </span>
              <span
                class="counts-number"
                title={`${((transactions / Math.max(1, total)) * 100).toFixed(1)} % of the transactions`}
              >
                {formatInteger(transactions)}
              </span>
              <a class="button quiet link compact" href={href} aria-label={`Query ${key}`}>
                Query
              </a>
            </li>
          ))}
        </ol>
      )}
      {note !== undefined && <p class="counts-note muted small">{note}</p>}
      {rows.length > firstRowCount && (
        <p class="counts-more">
          <button type="button" class="button compact" onClick={() => setOpen(!isOpen)}>
            {isOpen ? 'Show fewer' : `Show all ${rows.length}`}
          </button>
        </p>
      )}
    </Panel>
  );
}
