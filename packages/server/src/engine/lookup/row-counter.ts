import { RECORD_ARRAY_NAMES, type RecordArray } from '@sluice/protocol/field-table';
import type { BatchWriter, BlockSpan, FoundRows, SelectedBatch } from '../batch-writer.ts';
import type { EngineKernel } from '../engine-kernel.ts';
import type { EngineSegment } from '../engine-segment.ts';
import { type BlockRows, rowsOfBlocks } from '../group-columns.ts';
import { MARK_BITS } from '../group-selection.ts';
import { startsOf } from '../record-programs.ts';

/** The number of selected records of each kind, and of the blocks that have one. */
export interface RowCount extends Record<RecordArray, number> {
  blocks: number;
  /** The slots of the first and the last of these blocks, or null if no block has a selected record. */
  firstBlock: number | null;
  lastBlock: number | null;
}

export function emptyCount(): RowCount {
  const records = {
    transactions: 0,
    instructions: 0,
    logs: 0,
    balances: 0,
    tokenBalances: 0,
    rewards: 0,
  };
  return { blocks: 0, ...records, firstBlock: null, lastBlock: null };
}

export function addCount(sum: RowCount, more: RowCount): void {
  for (const name of ['blocks', ...RECORD_ARRAY_NAMES] as const) sum[name] += more[name];
  sum.firstBlock ??= more.firstBlock;
  sum.lastBlock = more.lastBlock ?? sum.lastBlock;
}

const noBytes = new Uint8Array(0);

/** Counts the selected rows instead of writing them. */
export class RowCounter implements BatchWriter {
  readonly isAtLineEnd = true;
  readonly lastLineBlock = -1;
  readonly lineCount = 0;
  readonly count = emptyCount();
  readonly #open: EngineSegment;
  readonly #kernel: EngineKernel;
  readonly #includeAllBlocks: boolean;

  constructor(open: EngineSegment, kernel: EngineKernel, includeAllBlocks: boolean) {
    this.#open = open;
    this.#kernel = kernel;
    this.#includeAllBlocks = includeAllBlocks;
  }

  /** Returns a piece without bytes after each batch, so that other runs get their turn. */
  *write({ blocks, found }: SelectedBatch): Generator<Uint8Array> {
    if (this.#includeAllBlocks) this.#addBlocks(blocks);
    if (found !== undefined) this.#addRows(blocks, found);
    yield noBytes;
  }

  *flush(): Generator<Uint8Array> {}

  headerLine(): Uint8Array {
    return noBytes;
  }

  release(): void {}

  /** Adds blocks that are counted with or without a row. They are given by their numbers in the segment. */
  #addBlocks({ from, to }: BlockSpan): void {
    const { headers } = this.#open.segment;
    this.count.blocks += to - from;
    this.count.firstBlock ??= headers.numberAt(from);
    this.count.lastBlock = headers.numberAt(to - 1);
  }

  #addRows({ from, to }: BlockSpan, found: FoundRows): void {
    const arrays = RECORD_ARRAY_NAMES.filter((array) => found.selected.flags[array] !== 0);
    const countOf = arrays.map((array) => this.#rowsIn(array, found));
    for (const block of rowsOfBlocks(found.columns, to)) {
      if (block.block < from) continue;
      let total = 0;
      arrays.forEach((array, i) => {
        const count = countOf[i]?.(block) ?? 0;
        this.count[array] += count;
        total += count;
      });
      if (total > 0 && !this.#includeAllBlocks)
        this.#addBlocks({ from: block.block, to: block.block + 1 });
    }
  }

  /** Returns the function that counts the selected rows of a kind in a block. */
  #rowsIn(array: RecordArray, { columns, selected }: FoundRows): (rows: BlockRows) => number {
    const flags = selected.flags[array];
    const { collectRows, collectBlockRows } = this.#kernel.exports;
    if (array === 'rewards') {
      const rows = columns.scratch.reserve(columns.stored('rewKey').count * 4);
      return ({ firstReward, rewardEnd }) =>
        collectBlockRows(flags, firstReward, rewardEnd, rows, 0);
    }
    const starts = startsOf(columns, array);
    const { transactionCount, kernel } = columns;
    const countMax =
      starts === 0 ? transactionCount : (kernel.ints[starts / 4 + transactionCount] ?? 0);
    const rows = columns.scratch.reserve(countMax * 4);
    const transactions = columns.scratch.reserve(countMax * 4);
    return ({ firstTransaction, transactionEnd }) =>
      collectRows(
        ...[flags, starts, selected.marks, MARK_BITS[array]],
        ...[firstTransaction, transactionEnd],
        ...[rows, transactions, 0],
      );
  }
}
