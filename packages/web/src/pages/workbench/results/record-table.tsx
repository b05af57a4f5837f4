import { useMemo } from 'preact/hooks';
import { VirtualList } from '../../../components/virtual-list.tsx';
import { toPixels } from '../../../state/rem-pixels.ts';
import type { QueryRun } from '../run-query.ts';
import { RecordCell } from './record-cell.tsx';
import { columnsOf, countRows, recordAt, slotAt, type TableName } from './result-table.ts';

const rowRem = 2.286;
/** Widths in rem. */
const slotWidth = 7;

interface RecordTableProps {
  readonly dataset: string;
  readonly run: QueryRun;
  readonly table: TableName;
  readonly version: number;
}

/** Records of one kind as rows, with a column for each field. Only visible rows are rendered. */
export function RecordTable({ dataset, run, table, version }: RecordTableProps) {
  const rowCount = countRows(run, table);
  // The columns follow from the first rows, which arrive with the first batch.
  const columns = useMemo(() => columnsOf(run, table), [run, table, version === 0, rowCount === 0]);
  const first = recordAt(run, table, 0) ?? {};
  const widths = columns.map((name) => (isNumber(first[name]) ? 9 : 11));
  const grid = {
    gridTemplateColumns: [slotWidth, ...widths]
      .map((rem) => `minmax(${rem}rem, ${rem}fr)`)
      .join(' '),
  };
  const width = `${widths.reduce((sum, rem) => sum + rem, slotWidth)}rem`;
  return (
    <VirtualList
      class="record-table"
      label={`Table of ${table}`}
      rowCount={rowCount}
      rowHeight={toPixels(rowRem)}
      resetKey={table}
      width={width}
      head={
        <div class="record-row head" style={grid}>
          <span>slot</span>
          {columns.map((name) => (
            <span key={name} class={isNumber(first[name]) ? 'cell-number' : ''}>
              {name}
            </span>
          ))}
        </div>
      }
      renderRow={(row) => {
        const record = recordAt(run, table, row);
        if (record === undefined) return null;
        return (
          <div class="record-row" style={grid}>
            <RecordCell dataset={dataset} name="number" value={slotAt(run, table, row)} />
            {columns.map((name) => (
              <RecordCell key={name} dataset={dataset} name={name} value={record[name]} />
            ))}
          </div>
        );
      }}
    />
  );
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}
