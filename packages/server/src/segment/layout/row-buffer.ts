import { ByteColumn, IntColumn, LongColumn } from '../encoding/growable.ts';
import { BLOCK_COLUMNS } from './block-columns.ts';
import { COLUMNS, type ColumnType } from './columns.ts';

interface ColumnOf {
  int: IntColumn;
  long: LongColumn;
  bytes: ByteColumn;
}

type Table = Record<string, { readonly type: ColumnType }>;

export type Rows<Columns extends Table> = {
  readonly [Name in keyof Columns]: ColumnOf[Columns[Name]['type']];
};

/** The rows of one row group in columns, as they are stored. */
export type GroupRows = Rows<typeof COLUMNS>;
export type BlockRows = Rows<typeof BLOCK_COLUMNS>;

export const emptyGroupRows = (): GroupRows => emptyRows(COLUMNS);
export const emptyBlockRows = (): BlockRows => emptyRows(BLOCK_COLUMNS);

function emptyRows<Columns extends Table>(table: Columns): Rows<Columns> {
  const make = {
    int: () => new IntColumn(),
    long: () => new LongColumn(),
    bytes: () => new ByteColumn(),
  };
  const entries = Object.entries(table).map(([name, { type }]) => [name, make[type]()]);
  return Object.fromEntries(entries) as Rows<Columns>;
}
