/** One query over one segment: which groups to read, what to select in them, and the text of it in pieces. */

import * as layout from '../kernels/layout/writing.ts';
import type { BlockHeader } from '../ledger/block.ts';
import type { ByteRange } from '../object-store/object-store.ts';
import type { Selection } from '../query/query.ts';
import type { GroupEntry } from '../segment/directory.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { EngineSegment, LoadedHeaders } from './engine-segment.ts';
import { GroupColumns } from './group-columns.ts';
import { canMatch, GroupSelector, type SelectedGroup } from './group-selection.ts';
import { loadKeyTexts } from './load-key-texts.ts';
import { pagesOf, type TransactionSpan } from './page-set.ts';
import type { LoadMeter } from './plain-reader.ts';
import { limitItems, type PlannedItem, planItems } from './plan-items.ts';
import { RecordPrograms } from './record-programs.ts';
import { Scratch } from './scratch.ts';

/**
 * Pieces of text are handed on when they reach the goal. A line that fills the buffer comes in several, of which the last ends with
 * it: a piece that went on with the next line would keep both from a reader who wants whole lines.
 */
const pieceBytesGoal = 1 << 18;
export const pieceBytesMax = 1 << 19;

export interface BlockRange {
  /** Slots, both inclusive. */
  readonly first: number;
  readonly last: number;
}

export interface RunOptions {
  readonly range?: BlockRange;
  /** Whether the last block of the range in this segment gets a line in any case. */
  readonly endsCoverage?: boolean;
  /** Selects records of these transactions alone: ascending, counted from the first of the segment. */
  readonly only?: Uint32Array;
}

/** What a run did, for `sluice explain` and for metrics. */
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
  /** What one row group takes while it is worked on. */
  readonly #scratch: Scratch;
  readonly #firstBlock: number;
  readonly #endBlock: number;
  readonly #alwaysLast: number;
  readonly #headers: LoadedHeaders;
  readonly #selector: GroupSelector;
  readonly #programs: RecordPrograms;
  /** What the kernel is told of the lines of a row group, and how far it has come with them. */
  readonly #lines: number;
  readonly #state: number;
  #out: number;
  #outBytes = pieceBytesMax;
  #at: number;

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
    this.#endBlock = firstAtOrAfter(segment.headers, last + 1);
    this.#firstBlock = firstAtOrAfter(segment.headers, first);
    this.#alwaysLast = options.endsCoverage === true ? this.#endBlock - 1 : -1;
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
    // From here on nothing fails: a plan that meets a damaged index is never released.
    this.#headers = open.useHeaders(selection.fields.block);
    this.#selector = new GroupSelector(kernel, segment, this.report.items);
    this.#programs = new RecordPrograms(selection, kernel);
    this.#lines = kernel.allocate(layout.LINES_BYTES + layout.STATE_BYTES);
    this.#state = this.#lines + layout.LINES_BYTES;
    kernel.bytes.fill(0, this.#lines, this.#state + layout.STATE_BYTES);
    this.#out = kernel.allocate(this.#outBytes);
    this.#at = this.#out;
    open.enter();
  }

  release(): void {
    const kernel = this.#kernel;
    this.#open.leave();
    this.#headers.users--;
    kernel.release(this.#out);
    kernel.release(this.#lines);
    this.#programs.release();
    this.#selector.release();
    this.#scratch.release();
  }

  /** Whether the text handed out so far ends with a line, and the block of that line: its place in the segment. */
  isAtLineEnd = true;
  lastLineBlock = -1;

  /** The last block, by place, that a row group has in the range; -1 if none. */
  lastCoveredBlock(number: number): number {
    const { firstBlock, blockCount } = this.#open.segment.directory.groups[number] as GroupEntry;
    const last = Math.min(firstBlock + blockCount, this.#endBlock) - 1;
    return last >= Math.max(firstBlock, this.#firstBlock) ? last : -1;
  }

  /**
   * Whether a row group has no line and is not read. The one with the last block of the range tells how far the run came, so
   * that a segment without the asked addresses is one message, not one a row group.
   */
  skips(number: number): boolean {
    const last = this.lastCoveredBlock(number);
    if (last < 0) return true;
    if (this.#selection.includeAllBlocks || last === this.#endBlock - 1) return false;
    const group = this.#open.segment.directory.groups[number] as GroupEntry;
    const span = this.#transactionsOf(group, this.#blocksOf(number));
    return !this.report.items.some((item) => canMatch(item, group, span));
  }

  /** Returns which sections of a group begin where one of the ranges does. */
  sectionsAt(number: number, ranges: readonly ByteRange[]): number[] {
    const { sections } = this.#open.segment.directory.groups[number] as GroupEntry;
    const starts = new Set(ranges.map(({ start }) => start));
    return [...sections.keys()].filter((i) => starts.has(sections[i]?.offset ?? -1));
  }

  /** Returns where the page table and some sections of a group are. */
  rangesOf(number: number, sections: ReadonlySet<number>): ByteRange[] {
    const group = this.#open.segment.directory.groups[number] as GroupEntry;
    const { offset, length } = group.pageTable;
    const wanted = group.sections.filter((_, i) => sections.has(i));
    const places = [{ offset, storedLength: length }, ...wanted];
    return places.map((one) => ({ start: one.offset, end: one.offset + one.storedLength }));
  }

  /** The line that says only that the block was covered. */
  headerLine(block: number): Uint8Array {
    const header = this.#headerOf(block);
    return Buffer.concat([lineStart, header, lineEnd]);
  }

  slotOf(block: number): number {
    return (this.#open.segment.headers[block] as BlockHeader).number;
  }

  hashOf(block: number): string {
    return (this.#open.segment.headers[block] as BlockHeader).hash;
  }

  get groupCount(): number {
    return this.report.groupCount;
  }

  /**
   * The text of the row groups from `first` up to `end`; it ends with a line. A piece is a view of the kernel's memory:
   * whoever keeps it beyond the next step, of this run or another, copies it.
   */
  *pieces(first = 0, end = this.groupCount): Generator<Uint8Array> {
    for (let number = first; number < end; number++) {
      const { from, to } = this.#blocksOf(number);
      yield* this.#writeBlocks(number, { from, to });
    }
    yield* this.#flush(1);
  }

  /** The text of one row group, its first block before anything of the others is read: somebody waits for the first line. */
  *firstPieces(number: number): Generator<Uint8Array> {
    const { from, to } = this.#blocksOf(number);
    yield* this.#writeBlocks(number, { from, to: Math.min(from + 1, to) });
    yield* this.#flush(1);
    yield* this.#writeBlocks(number, { from: from + 1, to });
    yield* this.#flush(1);
  }

  /** The blocks of a row group that are in the range. */
  #blocksOf(number: number): { from: number; to: number } {
    const { firstBlock, blockCount } = this.#open.segment.directory.groups[number] as GroupEntry;
    return {
      from: Math.max(firstBlock, this.#firstBlock),
      to: Math.min(firstBlock + blockCount, this.#endBlock),
    };
  }

  *#writeBlocks(number: number, { from, to }: { from: number; to: number }): Generator<Uint8Array> {
    if (from >= to) return;
    const group = this.#open.segment.directory.groups[number] as GroupEntry;
    const span = this.#transactionsOf(group, { from, to });
    const items = this.report.items.filter((item) => canMatch(item, group, span));
    if (items.length === 0) yield* this.#writeLines(group, { from, to });
    else yield* this.#writeGroup(number, items, { from, to, span });
  }

  *#writeGroup(
    number: number,
    items: readonly PlannedItem[],
    { from, to, span }: { from: number; to: number; span: TransactionSpan },
  ): Generator<Uint8Array> {
    const kernel = this.#kernel;
    this.report.groupsRead++;
    this.#scratch.reset();
    const group = this.#open.segment.directory.groups[number] as GroupEntry;
    const columns = new GroupColumns(this.#open, number, pagesOf(group, items, span), {
      kernel,
      scratch: this.#scratch,
      meter: this.report,
    });
    const selected = this.#selector.select(columns, items, span);
    columns.narrow(selected.marks);
    this.#programs.bind(columns, selected);
    yield* this.#writeLines(group, { from, to }, { columns, selected });
  }

  #transactionsOf(
    { firstBlock, firstTransaction }: GroupEntry,
    { from, to }: { from: number; to: number },
  ): TransactionSpan {
    const { counts } = this.#open.segment;
    const sum = (start: number, first: number, end: number) => {
      let transaction = start;
      for (let block = first; block < end; block++)
        transaction += (counts[block] as (typeof counts)[number]).transactions;
      return transaction;
    };
    const first = sum(firstTransaction, firstBlock, from);
    return { first, end: sum(first, from, to) };
  }

  /** Where the kernel finds the rows of each block of a group: first transaction, end, first reward, end. */
  #blockTable(group: GroupEntry, columns: GroupColumns): number {
    const { counts } = this.#open.segment;
    const table = new Uint32Array(group.blockCount * 4);
    let [transaction, reward] = [0, 0];
    for (let i = 0; i < group.blockCount; i++) {
      const { transactions, rewards } = counts[group.firstBlock + i] as (typeof counts)[number];
      const first = columns.pages.placeOf(transaction);
      const end = columns.pages.placeOf(transaction + transactions);
      table.set([first, end, reward, reward + rewards], i * 4);
      transaction += transactions;
      reward += rewards;
    }
    const at = columns.scratch.reserve(table.byteLength);
    this.#kernel.ints.set(table, at / 4);
    return at;
  }

  /** Without anything selected, lines only where all are wanted, or to mark the end. */
  *#writeLines(
    group: GroupEntry,
    { from, to }: { from: number; to: number },
    found?: { columns: GroupColumns; selected: SelectedGroup },
  ): Generator<Uint8Array> {
    const kernel = this.#kernel;
    const isWanted = this.#selection.includeAllBlocks;
    if (found === undefined && !isWanted && (this.#alwaysLast < from || this.#alwaysLast >= to))
      return;
    const keys = this.#prepareLines(group, from, found);
    let isContinued = false;
    for (;;) {
      const before = this.#at;
      // Another query may have had its turn since the last piece.
      kernel.exports.setKeys(...keys);
      this.#at = kernel.exports.writeLines(
        this.#state,
        this.#programs.kinds,
        this.#lines,
        to,
        this.#at,
        isContinued ? before + 1 : this.#out + pieceBytesGoal,
        this.#out + this.#outBytes,
      );
      if (this.#readState() >= to) break;
      if (kernel.exports.takeKeyMissing() !== 0 && found !== undefined) {
        loadKeyTexts(this.#open, found.columns, found.selected);
        continue;
      }
      // A record that does not fit an empty buffer needs a larger one.
      if (this.#at === before && this.#at === this.#out) this.#growOut();
      yield* this.#flush(1);
      isContinued = !this.isAtLineEnd;
    }
    yield* this.#flush(isContinued ? 1 : pieceBytesGoal);
  }

  /** Tells the kernel where the lines of a group come from. Returns what it needs to write keys. */
  #prepareLines(
    group: GroupEntry,
    from: number,
    found: { columns: GroupColumns; selected: SelectedGroup } | undefined,
  ): [starts: number, keys: number, table: number] {
    const blocks = found === undefined ? 0 : this.#blockTable(group, found.columns);
    const { textsAt, startsAt } = this.#headers;
    const { ints } = this.#kernel;
    const lines = this.#lines;
    ints[(lines + layout.LINES_MARKS) / 4] = found?.selected.marks ?? 0;
    ints[(lines + layout.LINES_BLOCKS) / 4] = blocks;
    ints[(lines + layout.LINES_FIRST_BLOCK) / 4] = group.firstBlock;
    ints[(lines + layout.LINES_HEADERS) / 4] = textsAt;
    ints[(lines + layout.LINES_HEADER_STARTS) / 4] = startsAt;
    ints[(lines + layout.LINES_IS_ALL) / 4] = this.#selection.includeAllBlocks ? 1 : 0;
    ints[(lines + layout.LINES_ALWAYS) / 4] = this.#alwaysLast;
    ints[(this.#state + layout.STATE_BLOCK) / 4] = from;
    if (found === undefined) return [0, 0, 0];
    const { columns } = found;
    return [columns.made('keyStarts').at, columns.stored('txKeys').at, this.#open.keyTable];
  }

  /** Returns the block that the kernel stands before, or in. */
  #readState(): number {
    const { ints } = this.#kernel;
    const read = (offset: number) => ints[(this.#state + offset) / 4] as number;
    this.isAtLineEnd = read(layout.STATE_IS_IN_LINE) === 0;
    this.report.linesWritten = read(layout.STATE_LINE_COUNT);
    if (this.report.linesWritten > 0) this.lastLineBlock = read(layout.STATE_LAST_LINE);
    return read(layout.STATE_BLOCK);
  }

  #headerOf(block: number): Uint8Array {
    const start = this.#headers.starts[block] as number;
    return this.#headers.bytes.subarray(start, this.#headers.starts[block + 1]);
  }

  *#flush(least: number): Generator<Uint8Array> {
    const length = this.#at - this.#out;
    if (length < least) return;
    const piece = this.#kernel.bytes.subarray(this.#out, this.#at);
    this.#at = this.#out;
    yield piece;
  }

  #growOut(): void {
    const kernel = this.#kernel;
    kernel.release(this.#out);
    this.#outBytes *= 4;
    this.#out = kernel.allocate(this.#outBytes);
    this.#at = this.#out;
  }
}

/** Returns the place of the first block with that slot or a later one. */
export function firstAtOrAfter(headers: readonly BlockHeader[], slot: number): number {
  let low = 0;
  let high = headers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((headers[middle] as BlockHeader).number < slot) low = middle + 1;
    else high = middle;
  }
  return low;
}

const lineStart = new TextEncoder().encode('{"header":');
const lineEnd = new TextEncoder().encode('}\n');
