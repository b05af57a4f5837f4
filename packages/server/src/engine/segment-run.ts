/** Evaluates one query on one segment: decides which row groups to read, selects rows, and passes them to a writer. */

import { elementAt } from '@sluice/base/element-at';
import { IdlRegistry } from '@sluice/decode/idl-registry';
import type { ByteRange } from '../object-store/object-store.ts';
import type { Selection } from '../query/query.ts';
import { keyBytes } from '../segment/layout/dictionary.ts';
import { PART } from '../segment/layout/directory.ts';
import { pageCountOf } from '../segment/layout/group-entry.ts';
import type { StoredGroup } from '../segment/layout/stored-group.ts';
import { ArrowWriter } from './arrow/arrow-writer.ts';
import type { BatchWriter, BlockSpan, FoundRows } from './batch-writer.ts';
import { divideGroups } from './divide-groups.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { EngineSegment } from './engine-segment.ts';
import { GroupColumns, wholeShare } from './group-columns.ts';
import { candidateCount, canMatch, GroupSelector } from './group-selection.ts';
import { LineWriter } from './line-writer.ts';
import { newKeysOf } from './load-key-texts.ts';
import { neededSections, selectsAll } from './needed-sections.ts';
import { type NumberedGroup, pagesOf, type TransactionSpan } from './page-set.ts';
import type { LoadMeter } from './plain-reader.ts';
import { limitItems, type PlannedItem, planItems } from './plan-items.ts';
import { Scratch } from './scratch.ts';

/** Row groups are read together while they have no more wanted pages than this, about as many as two whole groups have. */
const batchPagesMax = 1_024;

export interface BlockRange {
  /** Slots, both inclusive. */
  readonly first: number;
  readonly last: number;
}

/** Consecutive row groups of a segment, by number; the end is not included. */
export interface GroupBatch {
  readonly first: number;
  readonly end: number;
}

/** Parts of a row group that are fetched from a remote segment as a whole. */
export interface GroupParts {
  readonly sections: ReadonlySet<number>;
  /** Whether the keys that appear first in the group belong to it. */
  readonly hasNewKeys: boolean;
}

export interface RunOptions {
  readonly range?: BlockRange;
  /** Whether the last block of the range in this segment always gets a line. */
  readonly endsCoverage?: boolean;
  /** The IDLs by which records are decoded. Default: those of the ledger's own programs. */
  readonly idls?: IdlRegistry;
  /** Selects only records of these transactions, by their ascending numbers in the segment. */
  readonly only?: Uint32Array;
  /** Makes the writer of the selected rows. Default: the writer of the query's output form. */
  readonly writer?: (open: EngineSegment, kernel: EngineKernel) => BatchWriter;
}

/** Statistics of a run, for `sluice explain` and for metrics. */
export interface RunReport extends LoadMeter {
  readonly items: readonly PlannedItem[];
  readonly groupCount: number;
  groupsRead: number;
  linesWritten: number;
}

export class SegmentRun {
  readonly report: RunReport;
  readonly #open: EngineSegment;
  readonly #selection: Selection;
  readonly #kernel: EngineKernel;
  /** The memory for one batch of row groups. */
  readonly #scratch: Scratch;
  readonly #firstBlock: number;
  readonly #endBlock: number;
  readonly #selector: GroupSelector;
  readonly #writer: BatchWriter;
  #columns: GroupColumns | undefined;

  constructor(
    open: EngineSegment,
    selection: Selection,
    options: RunOptions,
    kernel: EngineKernel,
  ) {
    this.#open = open;
    this.#selection = selection;
    this.#kernel = kernel;
    this.#scratch = new Scratch(kernel);
    const { segment } = open;
    const { first, last } = options.range ?? { first: 0, last: Infinity };
    this.#endBlock = segment.headers.firstAtOrAfter(last + 1);
    this.#firstBlock = segment.headers.firstAtOrAfter(first);
    const items = planItems(selection, open.index, segment.directory.transactionCount);
    this.report = {
      items: options.only === undefined ? items : limitItems(items, options.only),
      groupCount: segment.directory.groups.length,
      groupsRead: 0,
      linesWritten: 0,
      pagesRead: 0,
      bytesRead: 0,
      bytesInflated: 0,
    };
    // Nothing below can fail. A damaged index was detected above, before any memory was allocated.
    this.#selector = new GroupSelector(kernel, segment, this.report.items);
    const alwaysLast = options.endsCoverage === true ? this.#endBlock - 1 : -1;
    const { idls = noIdls } = options;
    const { arrow } = selection;
    this.#writer =
      options.writer?.(open, kernel) ??
      (arrow === undefined
        ? new LineWriter(open, { selection, idls, alwaysLast }, kernel)
        : new ArrowWriter(open, { selection, arrow, idls }, kernel));
    open.enter();
  }

  release(): void {
    this.#open.leave();
    this.#writer.release();
    this.#selector.release();
    this.#scratch.release();
  }

  /** The share of the segment's transactions that may match the query, from 0 to 1. Rewards belong to no transaction, so a query for rewards gives 1. */
  get candidateShare(): number {
    const { transactionCount } = this.#open.segment.directory;
    let candidates = 0;
    for (const { array, estimate } of this.report.items)
      candidates += array === 'rewards' ? transactionCount : estimate;
    return candidates === 0 ? 0 : Math.min(1, candidates / transactionCount);
  }

  /** Returns the parts that the last batch needed as a whole, or undefined if none was read. The next one probably needs the same. */
  get lastParts(): GroupParts | undefined {
    if (this.#columns === undefined) return undefined;
    const { wholeSections: sections, needsNewKeys: hasNewKeys } = this.#columns;
    return { sections, hasNewKeys };
  }

  /** Whether the output so far ends with a whole block, and the number of that block in the segment. */
  get isAtLineEnd(): boolean {
    return this.#writer.isAtLineEnd;
  }

  get lastLineBlock(): number {
    return this.#writer.lastLineBlock;
  }

  /** The last block of a batch, by its number in the segment, that is in the range; -1 if none is. */
  lastCoveredBlock(batch: GroupBatch): number {
    const { from, to } = this.#blocksOf(batch);
    return from < to ? to - 1 : -1;
  }

  /**
   * Returns the next row groups to read together, from group `first` to the group before `limit`, or undefined if none is left. A sparse query
   * reads a few pages of each group; reading the pages of several groups at once saves most of the work that every group costs.
   */
  nextBatch(
    first: number,
    pagesMax = batchPagesMax,
    limit = this.groupCount,
  ): GroupBatch | undefined {
    let start = first;
    while (start < limit && this.skips(start)) start++;
    if (start === limit) return undefined;
    let pages = this.#pagesMost(start);
    let end = start + 1;
    for (; end < limit; end++) {
      pages += this.#pagesMost(end);
      if (pages > pagesMax) break;
    }
    return { first: start, end };
  }

  /** Returns the part of the segment that each row group belongs to. Threads share the parts among them. */
  divide(partBlocksMin: number): readonly number[] {
    return divideGroups(this.#open.segment.directory.groups, partBlocksMin);
  }

  /**
   * Returns whether a row group has no line and is not read. The group with the last block of the range is not skipped, because it
   * reports how far the run came: so a segment without the wanted addresses takes one message, not one for each group.
   */
  skips(number: number): boolean {
    const { from, to } = this.#blocksOf({ first: number, end: number + 1 });
    if (from >= to) return true;
    if (this.#selection.includeAllBlocks || to === this.#endBlock) return false;
    const group = this.#groupAt(number);
    const span = this.#transactionsOf({ from, to });
    return !this.report.items.some((item) => canMatch(item, group, span));
  }

  /** Returns how many pages of a row group the items need at most. */
  #pagesMost(number: number): number {
    const group = this.#groupAt(number);
    const span = this.#transactionsOf(this.#blocksOf({ first: number, end: number + 1 }));
    const most = this.report.items.reduce(
      (sum, item) => sum + (item.array === 'rewards' ? 0 : candidateCount(item, group, span)),
      0,
    );
    return Math.min(most, pageCountOf(group));
  }

  #groupAt(number: number): StoredGroup {
    return elementAt(this.#open.segment.directory.groups, number);
  }

  /** Returns what a row group certainly needs, before any was read. */
  get certainParts(): GroupParts {
    const { select, write } = neededSections(this.report.items, this.#selection);
    const isAll = this.report.items.every(selectsAll);
    return { sections: isAll ? new Set([...select, ...write]) : select, hasNewKeys: false };
  }

  dictionariesOf({ sections }: GroupParts): ByteRange[] {
    return this.#open.segment.dictionaryRanges(sections);
  }

  /** Returns where these parts of a row group are. Of a group with few wanted pages that is only the page table. */
  rangesOf(number: number, { sections, hasNewKeys }: GroupParts): ByteRange[] {
    const { segment, reader } = this.#open;
    const group = this.#groupAt(number);
    const isSparse = this.#pagesMost(number) < pageCountOf(group) * wholeShare;
    const wanted = isSparse ? [] : group.sections.filter((_, i) => sections.has(i));
    const ranges = [
      [group.pageTable.offset, group.pageTable.length] as const,
      ...wanted.map(({ offset, storedLength }) => [offset, storedLength] as const),
    ];
    if (hasNewKeys && !isSparse) {
      const { first, end } = newKeysOf(segment, number);
      const { offset } = segment.partEntry(PART.keys, 0);
      ranges.push([offset + first * keyBytes, (end - first) * keyBytes]);
    }
    return ranges.map(([offset, byteLength]) => {
      const { start, length } = reader.chunksOf(offset, byteLength);
      return { start, end: start + length };
    });
  }

  /** Returns the output that marks a block as covered, without its records. */
  headerLine(block: number): Uint8Array {
    return this.#writer.headerLine(block);
  }

  slotOf(block: number): number {
    return this.#open.segment.headers.numberAt(block);
  }

  hashOf(block: number): string {
    return this.#open.segment.headers.hashAt(block);
  }

  get groupCount(): number {
    return this.report.groupCount;
  }

  /** The text of all row groups; it ends with a line. Pieces are views as those of `batchPieces`. */
  *pieces(): Generator<Uint8Array> {
    for (let batch = this.nextBatch(0); batch !== undefined; batch = this.nextBatch(batch.end))
      yield* this.#writeBlocks(batch, this.#blocksOf(batch));
    yield* this.#writer.flush();
  }

  /**
   * The text of some row groups; it ends with a line. A piece is a view of the kernel's memory, which the next step of this run or of
   * another one overwrites.
   */
  *batchPieces(batch: GroupBatch): Generator<Uint8Array> {
    yield* this.#writeBlocks(batch, this.#blocksOf(batch));
    yield* this.#writer.flush();
  }

  /** As `batchPieces`, but the first block is written before anything of the others is read: a client waits for the first line. */
  *firstPieces(batch: GroupBatch): Generator<Uint8Array> {
    const { from, to } = this.#blocksOf(batch);
    yield* this.#writeBlocks(batch, { from, to: Math.min(from + 1, to) });
    yield* this.#writer.flush();
    yield* this.#writeBlocks(batch, { from: from + 1, to });
    yield* this.#writer.flush();
  }

  /** Returns the blocks of some row groups that are in the range. */
  #blocksOf({ first, end }: GroupBatch): BlockSpan {
    const { firstBlock, blockCount } = this.#groupAt(end - 1);
    return {
      from: Math.max(this.#groupAt(first).firstBlock, this.#firstBlock),
      to: Math.min(firstBlock + blockCount, this.#endBlock),
    };
  }

  #transactionsOf({ from, to }: BlockSpan): TransactionSpan {
    const { transactionStarts } = this.#open;
    return {
      first: elementAt(transactionStarts, from),
      end: elementAt(transactionStarts, Math.max(from, to)),
    };
  }

  *#writeBlocks(batch: GroupBatch, blocks: BlockSpan): Generator<Uint8Array> {
    if (blocks.from >= blocks.to) return;
    const span = this.#transactionsOf(blocks);
    const groups: NumberedGroup[] = [];
    for (let number = batch.first; number < batch.end; number++) {
      const group = this.#groupAt(number);
      if (this.report.items.some((item) => canMatch(item, group, span)))
        groups.push({ number, group });
    }
    const items = this.report.items.filter((item) =>
      groups.some(({ group }) => canMatch(item, group, span)),
    );
    const { firstBlock } = this.#groupAt(batch.first);
    const found = items.length === 0 ? undefined : this.#select(groups, items, span);
    yield* this.#writer.write({ firstBlock, blocks, found });
    this.report.linesWritten = this.#writer.lineCount;
  }

  #select(
    groups: readonly NumberedGroup[],
    items: readonly PlannedItem[],
    span: TransactionSpan,
  ): FoundRows {
    const kernel = this.#kernel;
    this.report.groupsRead += groups.length;
    this.#scratch.reset();
    const columns = new GroupColumns(this.#open, pagesOf(groups, items, span), {
      kernel,
      scratch: this.#scratch,
      meter: this.report,
    });
    const isRemote = this.#open.segment.bytes.expect !== undefined;
    const needed = isRemote ? neededSections(items, this.#selection) : undefined;
    columns.announce(needed?.select ?? []);
    const selected = this.#selector.select(columns, items, span);
    columns.narrow(selected.marks);
    columns.announce(needed?.write ?? []);
    this.#columns = columns;
    return { columns, selected };
  }
}

const noIdls = new IdlRegistry();
