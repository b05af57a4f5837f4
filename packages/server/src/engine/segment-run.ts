/** One query over one segment: which groups to read, what to select in them, and the text of it in pieces. */

import type { BlockHeader } from '../ledger/block.ts';
import type { Selection } from '../query/query.ts';
import { keyBytes } from '../segment/dictionary.ts';
import type { GroupEntry } from '../segment/directory.ts';
import { pageKeyCount } from '../segment/limits.ts';
import type { Segment } from '../segment/open-segment.ts';
import type { UnitEntry } from '../segment/unit.ts';
import type { CacheStep, ColumnCache } from './column-cache.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { EngineSegment } from './engine-segment.ts';
import { GroupColumns, type LoadMeter, readUnit } from './group-columns.ts';
import { isInGroup, type SelectedGroup, selectGroup } from './group-selection.ts';
import type { HeaderTexts } from './header-texts.ts';
import { type PlannedItem, planItems } from './plan-items.ts';
import { RecordPrograms } from './record-programs.ts';

/** Pieces of text are handed on when they reach the goal; a block that fills the buffer comes in several. */
const pieceBytesGoal = 1 << 18;
const bufferBytes = 1 << 20;
const dictionaryTextBytes = 48;

export interface BlockRange {
  /** Slots, both inclusive. */
  readonly first: number;
  readonly last: number;
}

export interface RunOptions {
  readonly range?: BlockRange;
  /** Whether the last block of the range in this segment gets a line in any case. */
  readonly endsCoverage?: boolean;
}

/** What a run did, for `sluice explain` and for metrics. */
export interface RunReport extends LoadMeter {
  readonly items: readonly PlannedItem[];
  readonly groupCount: number;
  groupsRead: number;
  linesWritten: number;
}

interface Modules {
  readonly kernel: EngineKernel;
  readonly cache: ColumnCache;
}

export class SegmentRun {
  readonly report: RunReport;
  readonly #open: EngineSegment;
  readonly #selection: Selection;
  readonly #modules: Modules;
  readonly #firstBlock: number;
  readonly #endBlock: number;
  readonly #alwaysLast: number;
  readonly #headers: HeaderTexts;
  readonly #programs: RecordPrograms;
  #out: number;
  #outBytes = bufferBytes;
  #at: number;

  constructor(open: EngineSegment, selection: Selection, options: RunOptions, modules: Modules) {
    this.#open = open;
    this.#selection = selection;
    this.#modules = modules;
    const { segment } = open;
    const { first, last } = options.range ?? { first: 0, last: Infinity };
    const end = segment.headers.findIndex(({ number }) => number > last);
    const begin = segment.headers.findIndex(({ number }) => number >= first);
    this.#endBlock = end < 0 ? segment.blockCount : end;
    this.#firstBlock = begin < 0 ? segment.blockCount : begin;
    this.#alwaysLast = options.endsCoverage === true ? this.#endBlock - 1 : -1;
    this.#headers = open.headerTexts(selection.fields.block);
    this.report = {
      items: planItems(selection, open.index, segment.directory.transactionCount),
      groupCount: segment.directory.groups.length,
      groupsRead: 0,
      linesWritten: 0,
      unitsRead: 0,
      bytesRead: 0,
      bytesInflated: 0,
    };
    this.#programs = new RecordPrograms(selection, modules.kernel);
    this.#out = modules.kernel.allocate(this.#outBytes);
    this.#at = this.#out;
    // Last: a plan that meets a damaged index is never released.
    open.users++;
  }

  release(): void {
    this.#open.users--;
    this.#modules.kernel.release(this.#out);
    this.#programs.release();
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

  /** Whether the row group holds the last block of the range. */
  isLast(number: number): boolean {
    return this.lastCoveredBlock(number) === this.#endBlock - 1;
  }

  /** Whether nothing can match in the row group, so that it is not read. */
  passesOver(number: number): boolean {
    const group = this.#open.segment.directory.groups[number] as GroupEntry;
    return !this.report.items.some((item) => isInGroup(item, group));
  }

  /** The line that says only that the block was covered. */
  headerLine(block: number): Uint8Array {
    const header = this.#headerOf(block);
    return Buffer.concat([lineStart, header, lineEnd]);
  }

  slotOf(block: number): number {
    return (this.#open.segment.headers[block] as BlockHeader).number;
  }

  get groupCount(): number {
    return this.report.groupCount;
  }

  /**
   * The text of the row groups from `first` up to `end`; it ends with a line. A piece is a view of the kernel's memory:
   * whoever keeps it beyond the next step, of this run or another, copies it.
   */
  *pieces(first = 0, end = this.groupCount): Generator<Uint8Array> {
    const { groups } = this.#open.segment.directory;
    for (let number = first; number < end; number++) {
      const group = groups[number] as GroupEntry;
      const from = Math.max(group.firstBlock, this.#firstBlock);
      const to = Math.min(group.firstBlock + group.blockCount, this.#endBlock);
      if (from >= to) continue;
      const items = this.report.items.filter((item) => isInGroup(item, group));
      if (items.length === 0) yield* this.#writeHeaders(from, to);
      else yield* this.#writeGroup(number, items, { from, to });
    }
    yield* this.#flush(1);
  }

  /** Blocks in which nothing can match: lines only where all are wanted, or to mark the end. */
  *#writeHeaders(from: number, to: number): Generator<Uint8Array> {
    for (let block = from; block < to; block++) {
      if (!this.#isWantedBare(block)) continue;
      this.#beginLine(block);
      this.#endLine();
      yield* this.#flush(pieceBytesGoal);
    }
  }

  #isWantedBare(block: number): boolean {
    return this.#selection.includeAllBlocks || block === this.#alwaysLast;
  }

  *#writeGroup(
    number: number,
    items: readonly PlannedItem[],
    { from, to }: { from: number; to: number },
  ): Generator<Uint8Array> {
    const { kernel, cache } = this.#modules;
    this.report.groupsRead++;
    const step = cache.beginStep();
    let selected: SelectedGroup | undefined;
    try {
      const columns = new GroupColumns(this.#open, number, {
        kernel,
        cache: step,
        meter: this.report,
      });
      selected = selectGroup(columns, items);
      this.#loadTexts(columns, selected, step);
      this.#programs.bind(columns, selected);
      yield* this.#writeBlocks(columns, selected, { from, to });
    } finally {
      selected?.release();
      step.end();
    }
  }

  *#writeBlocks(
    columns: GroupColumns,
    selected: SelectedGroup,
    { from, to }: { from: number; to: number },
  ): Generator<Uint8Array> {
    let place = placeOf(this.#open.segment, columns.group.firstBlock, from);
    for (let block = from; block < to; block++) {
      const end = placeOf(this.#open.segment, block, block + 1, place);
      if (this.#hasRecords(selected, place, end)) {
        yield* this.#writeBlock(block, { columns, selected }, place, end);
      } else if (this.#isWantedBare(block)) {
        this.#beginLine(block);
        this.#endLine();
      }
      yield* this.#flush(pieceBytesGoal);
      place = end;
    }
  }

  #hasRecords(selected: SelectedGroup, place: Place, end: Place): boolean {
    const { exports, bytes } = this.#modules.kernel;
    if (exports.anyMarked(selected.marks, place.transaction, end.transaction) !== 0) return true;
    const flags = selected.flags.rewards;
    return flags !== 0 && bytes.subarray(flags + place.reward, flags + end.reward).includes(1);
  }

  *#writeBlock(
    block: number,
    { columns, selected }: { columns: GroupColumns; selected: SelectedGroup },
    place: Place,
    end: Place,
  ): Generator<Uint8Array> {
    const { kernel } = this.#modules;
    this.#beginLine(block);
    const state = this.#programs.startState(place.transaction);
    const { at: starts } = columns.made('keyStarts');
    const { at: keys } = columns.made('keys');
    for (;;) {
      const before = this.#at;
      // Another query may have had its turn since the last piece.
      kernel.exports.setKeys(starts, keys, this.#open.pageTable);
      this.#at = kernel.exports.writeArrays(
        state,
        this.#programs.kinds,
        selected.marks,
        place.transaction,
        end.transaction,
        place.reward,
        end.reward,
        this.#at,
        this.#out + this.#outBytes,
      );
      if (kernel.exports.isComplete() !== 0) break;
      // A record that does not fit an empty buffer needs a larger one.
      if (this.#at === before && this.#at === this.#out) this.#growOut();
      yield* this.#flush(1);
    }
    this.#endLine();
  }

  /** Room for a header and the end of a line is kept by flushing early. */
  #beginLine(block: number): void {
    const { kernel } = this.#modules;
    const header = this.#headerOf(block);
    const { bytes } = kernel;
    this.isAtLineEnd = false;
    this.lastLineBlock = block;
    bytes.set(lineStart, this.#at);
    bytes.set(header, this.#at + lineStart.length);
    this.#at += lineStart.length + header.length;
    this.report.linesWritten++;
  }

  #endLine(): void {
    const { bytes } = this.#modules.kernel;
    bytes.set(lineEnd, this.#at);
    this.#at += lineEnd.length;
    this.isAtLineEnd = true;
  }

  #headerOf(block: number): Uint8Array {
    const start = this.#headers.starts[block] as number;
    return this.#headers.bytes.subarray(start, this.#headers.starts[block + 1]);
  }

  *#flush(least: number): Generator<Uint8Array> {
    const length = this.#at - this.#out;
    if (length < least) return;
    const piece = this.#modules.kernel.bytes.subarray(this.#out, this.#at);
    this.#at = this.#out;
    yield piece;
  }

  #growOut(): void {
    const { kernel } = this.#modules;
    kernel.release(this.#out);
    this.#outBytes *= 4;
    this.#out = kernel.allocate(this.#outBytes);
    this.#at = this.#out;
  }

  /** Loads the texts of the dictionary pages on which any selected transaction's or reward's keys lie. */
  #loadTexts(columns: GroupColumns, selected: SelectedGroup, step: CacheStep): void {
    const { kernel } = this.#modules;
    const pageCount = this.#open.segment.directory.dictionaryPages.length;
    const pages = kernel.allocate(pageCount);
    kernel.bytes.fill(0, pages, pages + pageCount);
    kernel.exports.pagesOfMarked(columns.group.transactionCount, pages);
    if (selected.flags.rewards !== 0) {
      const { at, width, count } = columns.stored('rewKey');
      kernel.exports.pagesOfRewards(at, width, count, selected.flags.rewards, pages);
    }
    const wanted = kernel.bytes.slice(pages, pages + pageCount);
    kernel.release(pages);
    wanted.forEach((isWanted, page) => {
      if (isWanted === 1) this.#loadPage(columns, page, step);
    });
  }

  #loadPage(columns: GroupColumns, page: number, step: CacheStep): void {
    const { kernel } = this.#modules;
    const shelf = this.#open.pageShelf;
    if (step.get(shelf, page) !== undefined) return;
    const entry = this.#open.segment.directory.dictionaryPages[page] as UnitEntry;
    const keys = readUnit(columns, entry, `dictionary page ${page}`);
    const count = Math.min(pageKeyCount, entry.rawLength / keyBytes);
    const at = kernel.allocate(count * dictionaryTextBytes);
    kernel.exports.dictionaryTexts(keys, count, at);
    kernel.release(keys);
    const place = this.#open.pageTable / 4 + page;
    kernel.ints[place] = at;
    const column = { at, width: dictionaryTextBytes, count, starts: 0 };
    step.put(shelf, page, { column, allocation: at }, () => {
      kernel.ints[place] = 0;
    });
  }
}

const lineStart = new TextEncoder().encode('{"header":');
const lineEnd = new TextEncoder().encode('}\n');

/** Where a block's rows start in its group. */
interface Place {
  readonly transaction: number;
  readonly reward: number;
}

function placeOf(
  segment: Segment,
  from: number,
  to: number,
  start: Place = { transaction: 0, reward: 0 },
): Place {
  let { transaction, reward } = start;
  for (let block = from; block < to; block++) {
    const counts = segment.counts[block] as Segment['counts'][number];
    transaction += counts.transactions;
    reward += counts.rewards;
  }
  return { transaction, reward };
}
