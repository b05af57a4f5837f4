import { useMemo } from 'preact/hooks';
import { VirtualList } from '../../../components/virtual-list.tsx';
import type { QueryRun, ResultRecord } from '../run-query.ts';
import { RecordCell } from './record-cell.tsx';
import type { TableName } from './result-panel.tsx';

const rowHeight = 32;
/** In rem. */
const slotWidth = 7;

interface RecordTableProps {
  readonly dataset: string;
  readonly run: QueryRun;
  readonly table: TableName;
  readonly version: number;
}

/** Records of one kind as rows, a column for each field. Only visible rows are in the document. */
export function RecordTable({ dataset, run, table, version }: RecordTableProps) {
  const rowCount = countRows(run, table);
  // The first rows decide, and they come with the first batch.
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
      rowHeight={rowHeight}
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

export function countRows(run: QueryRun, table: TableName): number {
  return table === 'blocks' ? run.blocks.length : run.records[table].length;
}

export function recordAt(run: QueryRun, table: TableName, row: number): ResultRecord | undefined {
  return table === 'blocks' ? run.blocks[row]?.header : run.records[table][row];
}

export function slotAt(run: QueryRun, table: TableName, row: number): number | undefined {
  return table === 'blocks' ? run.blocks[row]?.header.number : run.slots[table][row];
}

/** All records of a kind have the same fields. */
export function columnsOf(run: QueryRun, table: TableName): readonly string[] {
  const names = Object.keys(recordAt(run, table, 0) ?? {});
  return table === 'blocks' ? names.filter((name) => name !== 'number') : names;
}
