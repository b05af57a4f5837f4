import { BLOCK_COLUMNS } from './block-columns.ts';
import { COLUMNS, type ColumnType } from './columns.ts';
import { ByteColumn, IntColumn, LongColumn } from './growable.ts';

interface ColumnOf {
  int: IntColumn;
  long: LongColumn;
  bytes: ByteColumn;
}

export type Rows<Table extends Record<string, ColumnType>> = {
  readonly [Name in keyof Table]: ColumnOf[Table[Name]];
};

/** The rows of one row group, column by column, as they are stored. */
export type GroupRows = Rows<typeof COLUMNS>;
export type BlockRows = Rows<typeof BLOCK_COLUMNS>;

export const emptyGroupRows = (): GroupRows => emptyRows(COLUMNS);
export const emptyBlockRows = (): BlockRows => emptyRows(BLOCK_COLUMNS);

function emptyRows<Table extends Record<string, ColumnType>>(table: Table): Rows<Table> {
  const make = {
    int: () => new IntColumn(),
    long: () => new LongColumn(),
    bytes: () => new ByteColumn(),
  };
  const entries = Object.entries(table).map(([name, type]) => [name, make[type]()]);
  return Object.fromEntries(entries) as Rows<Table>;
}
