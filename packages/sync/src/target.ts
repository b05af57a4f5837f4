/** Where tables are stored. One implementation for each kind of target; `CONTRIBUTING.md` says how to add one. */
import type { ArrowField } from '@sluice/arrow/arrow-type';
import type { ArrowBatch } from '@sluice/arrow/ipc-reader';
import type { CursorState } from '@sluice/client';
import type { ColumnPlan } from './column-plan.ts';
import type { Row } from './row-builder.ts';
import type { TablePlan } from './table-plan.ts';

/** A range of finalized slots that is loaded independently of others, both ends inclusive. */
export interface Span {
  readonly first: number;
  readonly last: number;
  /** The position up to which rows are stored; null at the start. */
  readonly cursor: CursorState | null;
  readonly isDone: boolean;
}

/** What a target has stored with the rows of a table. */
export interface TableState {
  /** `load` until all spans are stored, then `follow`. */
  readonly phase: 'load' | 'follow';
  /** Empty until the load has started. */
  readonly spans: readonly Span[];
  /** The position of the rows; null if no block was read yet. */
  readonly cursor: CursorState | null;
  /** The first slot to read while there is no cursor. */
  readonly nextBlock: number | null;
  /** New columns that are still empty in the rows of these slots. */
  readonly fill: Fill | null;
}

export interface Fill {
  readonly columns: readonly string[];
  readonly first: number;
  readonly last: number;
}

/** Where a load has ended. */
export interface LoadEnd {
  readonly cursor: CursorState | null;
  readonly nextBlock: number;
  readonly unixSeconds: number | null;
}

/** The newest block of a batch, for the status. */
export interface Tip {
  readonly slot: number;
  readonly unixSeconds: number | null;
}

export interface Change {
  /** The newest block that stays, if the ledger forked: all rows above it are deleted. */
  readonly rollbackTo: number | undefined;
  readonly rows: readonly Row[];
  readonly cursor: CursorState;
  readonly tip: Tip;
}

/** Converts the columns of an Arrow table of the service to rows in the form of the target. */
export interface RowEncoder {
  /** The bytes of the rows that were added and not taken. */
  readonly byteCount: number;
  add(fields: readonly ArrowField[], batch: ArrowBatch): void;
  /** Returns the rows that were added, and starts again. The bytes are overwritten when further rows are added. */
  take(): EncodedRows;
}

export interface EncodedRows {
  readonly rowCount: number;
  readonly bytes: Uint8Array;
}

/** A load of columns, which is faster than one of rows. */
export interface ColumnLoad {
  readonly columns: ColumnPlan;
  openEncoder(): RowEncoder;
  /** Stores rows of a span and its new position, as `TableStore.load` does. */
  load(span: Span, rows: EncodedRows): Promise<void>;
}

/** An open table. Each method stores all of its values or none, together with the position. */
export interface TableStore {
  readonly state: TableState;
  startLoad(spans: readonly Span[]): Promise<void>;
  /** Stores rows of a span and its new position. May be called for several spans at once. */
  load(span: Span, rows: readonly Row[]): Promise<void>;
  /** Undefined if the target or the table can be loaded with rows only. */
  readonly columnLoad: ColumnLoad | undefined;
  /** Creates the indexes, and sets the position from which the table follows, with the time of its block. */
  finishLoad(end: LoadEnd): Promise<void>;
  commit(change: Change): Promise<void>;
  /** Writes the values of new columns into rows that exist. `rest` is what remains to be done. */
  fillColumns(rows: readonly Row[], rest: Fill | null): Promise<void>;
  close(): Promise<void>;
}

export interface TableStatus {
  readonly table: string;
  readonly phase: TableState['phase'];
  /** The share of the history that is loaded, from 0 to 1. */
  readonly loadedShare: number;
  readonly slot: number | null;
  readonly blockTime: Date | null;
  readonly rowCount: number;
  readonly forkCount: number;
  readonly updatedAt: Date;
}

export interface OpenOptions {
  /** Whether an existing table is dropped and loaded again. */
  readonly isRebuilt: boolean;
}

export interface SyncTarget {
  /** Whether blocks are stored in their order only, so that the history is not divided into spans. */
  readonly isSequential: boolean;
  /** Whether stored rows cannot be removed, so that only finalized blocks are stored. */
  readonly isFinalizedOnly: boolean;
  /** The address without a password. */
  readonly name: string;
  /** Fails with a coded error if the target cannot be used, or if one of the tables that will be dropped cannot be dropped. */
  check(dropped: readonly string[]): Promise<void>;
  openTable(plan: TablePlan, options: OpenOptions): Promise<TableStore>;
  /** Returns the statements that create a table, or a description of what is written. */
  describe(plan: TablePlan): string;
  /** Writes a row as text, as it is stored. */
  writeRow(plan: TablePlan, row: Row): readonly string[];
  status(): Promise<readonly TableStatus[]>;
  /** Returns whether the same work can succeed later: a lost connection, a restart, a full disk. */
  isTransient(error: unknown): boolean;
  /** Converts an error of the target to one with a code that says what to do. */
  explain(error: unknown): unknown;
}
