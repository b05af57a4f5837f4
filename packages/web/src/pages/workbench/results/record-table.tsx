import { useMemo, useState } from 'preact/hooks';
import { VirtualList } from '../../../components/virtual-list.tsx';
import { remPixels, toPixels } from '../../../state/rem-pixels.ts';
import type { QueryRun } from '../run-query.ts';
import { renderCell, renderDecoded } from './record-cell.tsx';
import {
  cellClass,
  columnsBetween,
  listColumns,
  type RecordColumn,
  slotColumn,
  totalWidth,
} from './record-columns.ts';
import { countRows, recordAt, slotAt, type TableName } from './result-table.ts';

const rowRem = 2.286;

interface RecordTableProps {
  readonly dataset: string;
  readonly run: QueryRun;
  readonly table: TableName;
  readonly version: number;
}

/** Records of one kind as rows, a column for each field. Only visible rows and columns are in the document. */
export function RecordTable({ dataset, run, table, version }: RecordTableProps) {
  const rowCount = countRows(run, table);
  // The columns depend on the first rows, which come with the first batch.
  const columns = useMemo(
    () => listColumns(run, table),
    [run, table, version === 0, rowCount === 0],
  );
  const [view, setView] = useState({ left: 0, width: Number.POSITIVE_INFINITY });
  const { first, end } = columnsBetween(
    columns,
    view.left / remPixels.value,
    (view.left + view.width) / remPixels.value,
  );
  // The list reuses rendered rows as long as this is the same function.
  const renderRow = useMemo(
    () => (row: number) => {
      const record = recordAt(run, table, row);
      if (record === undefined) return null;
      const slot = slotAt(run, table, row);
      const cellOf = (column: RecordColumn) =>
        column.name === 'decoded'
          ? renderDecoded(dataset, column, { slot, record })
          : renderCell(dataset, column, column === slotColumn ? slot : record[column.name]);
      return (
        <div class="record-row">
          {first > 0 && renderSpace(columns.slice(0, first))}
          {columns.slice(first, end).map(cellOf)}
          {end < columns.length && renderSpace(columns.slice(end))}
        </div>
      );
    },
    [dataset, run, table, version, columns, first, end],
  );
  return (
    <VirtualList
      class="record-table"
      label={`Table of ${table}`}
      rowCount={rowCount}
      rowHeight={toPixels(rowRem)}
      resetKey={table}
      width={totalWidth(columns)}
      head={
        <div class="record-row head">
          {columns.map((column) => (
            <span key={column.name} class={cellClass(column)}>
              {column === slotColumn ? 'slot' : column.name}
            </span>
          ))}
        </div>
      }
      renderRow={renderRow}
      onSideways={(left, width) => setView({ left, width })}
    />
  );
}

/** An empty cell in the place of columns that are out of view. */
function renderSpace(columns: readonly RecordColumn[]) {
  return <span style={{ flex: `0 0 ${totalWidth(columns)}`, padding: 0 }} />;
}
