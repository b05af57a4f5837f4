/**
 * Where selecting ends and writing begins. A run selects the rows of a batch of row groups, with their related rows; a writer turns them
 * into the bytes of one output form. `line-writer.ts` writes JSON lines, `arrow-writer.ts` Arrow record batches.
 */
import type { GroupColumns } from './group-columns.ts';
import type { SelectedGroup } from './group-selection.ts';

/** Blocks by their number in the segment; the end is not included. */
export interface BlockSpan {
  readonly from: number;
  readonly to: number;
}

/** The selected rows of some row groups: their columns, and a flag for each row of each kind. */
export interface FoundRows {
  readonly columns: GroupColumns;
  readonly selected: SelectedGroup;
}

export interface SelectedBatch {
  readonly firstBlock: number;
  /** The blocks of the row groups that are in the range of the query; at least one. */
  readonly blocks: BlockSpan;
  /** Undefined if no row can match. */
  readonly found: FoundRows | undefined;
}

export interface BatchWriter {
  /** Whether the output so far ends with a whole block, and the number of that block in the segment. */
  readonly isAtLineEnd: boolean;
  readonly lastLineBlock: number;
  /** The number of lines or record batches so far. */
  readonly lineCount: number;
  /** Writes a batch in pieces. A piece is a view that the next step of this or another writer overwrites. */
  write(batch: SelectedBatch): Generator<Uint8Array>;
  /** Returns what `write` has kept back to join it with the next batch. */
  flush(): Generator<Uint8Array>;
  /** Returns the bytes that say that all blocks up to this one are covered, without any row. */
  headerLine(block: number): Uint8Array;
  release(): void;
}

/** A piece is returned when it reaches the goal, and is never longer than the maximum unless a single value is. */
export const pieceBytesGoal = 1 << 18;
export const pieceBytesMax = 1 << 19;
