/**
 * The columns of some pages of one or more row groups in the kernel's memory, the rows of one group after those of the group before.
 * A section is read and decoded when one of its columns is needed for the first time. Other columns are made from stored ones: starts
 * from lengths, values from differences, texts from the addresses of instructions.
 */
import { elementAt } from '@sluice/base/element-at';
import {
  COUNTS_BYTES,
  DESCRIPTOR_BYTES,
  DESCRIPTOR_COUNT,
  DESCRIPTOR_VALUES,
} from '@sluice/kernels/layout/columns';
import type { ByteRange } from '../object-store/object-store.ts';
import { damaged } from '../segment/encoding/unit.ts';
import {
  type ColumnName,
  DOMAINS,
  pagedSectionCount,
  SECTIONS,
  shapeOf,
} from '../segment/layout/columns.ts';
import type { StoredColumn } from '../segment/layout/directory.ts';
import { pageCountOf } from '../segment/layout/group-entry.ts';
import {
  beginGroup,
  columnNamed,
  type LocatedColumn,
  valueBytes,
  writeDescriptors,
} from '../segment/layout/section-layout.ts';
import type { StoredGroup } from '../segment/layout/stored-group.ts';
import { pageName } from '../segment/read/decode-group.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { EngineSegment } from './engine-segment.ts';
import { type LoadedColumn, type MadeColumn, makeColumn } from './make-column.ts';
import type { PageSet } from './page-set.ts';
import type { LoadMeter } from './plain-reader.ts';
import type { Scratch } from './scratch.ts';

/** Pages with a smaller gap between them are read together, because a separate read costs about as much as reading this many bytes. */
const gapBytesMax = 4_096;
/**
 * If at least this share of the pages of a section is wanted, all of it is fetched from a remote segment: requests for pages that are so
 * close would be joined anyway.
 */
export const wholeShare = 0.25;

export class GroupColumns {
  readonly kernel: EngineKernel;
  readonly open: EngineSegment;
  /** The pages of each row group; at least one. */
  readonly pages: readonly PageSet[];
  readonly scratch: Scratch;
  readonly transactionCount: number;
  readonly meter: LoadMeter;
  readonly #stored = new Map<ColumnName, LoadedColumn>();
  readonly #loaded = new Set<number>();
  readonly #made = new Map<MadeColumn, LoadedColumn>();
  /** For each transaction in memory the number of its rows by domain; then one entry for each group, for rows of whole blocks. */
  readonly #counts: number;
  /** For each group the address of its page starts, once its page table was read. */
  readonly #startsAt: number[] = [];
  /** For each group which of its pages are read from now on; undefined for all. */
  #wanted: readonly (Uint8Array | undefined)[] = [];
  readonly #announced = new Set<number>();
  /** The sections that were fetched from a remote segment as a whole. */
  readonly wholeSections = new Set<number>();
  /** Whether most of the keys that appear first in these groups were needed. */
  needsNewKeys = false;

  constructor(
    open: EngineSegment,
    pages: readonly PageSet[],
    { kernel, scratch, meter }: { kernel: EngineKernel; scratch: Scratch; meter: LoadMeter },
  ) {
    this.open = open;
    this.kernel = kernel;
    this.pages = pages;
    this.scratch = scratch;
    this.meter = meter;
    const last = pages.at(-1);
    this.transactionCount = last === undefined ? 0 : last.firstPosition + last.transactionCount;
    this.#counts = this.#prepareCounts();
  }

  /** Restricts later reads to pages with a marked transaction. The rows of other pages are zeros. */
  narrow(marks: number): void {
    const wanted: (Uint8Array | undefined)[] = [];
    for (const pages of this.pages) wanted.push(markedPages(pages, this.kernel.bytes, marks));
    this.#wanted = wanted;
  }

  /**
   * Announces that sections will be read, so that a remote segment fetches their wanted pages in one step, with page tables and
   * dictionaries. If the wanted pages are few, the page tables come first, in a step of their own.
   */
  announce(sections: Iterable<number>): void {
    const { segment } = this.open;
    if (segment.bytes.expect === undefined) return;
    const added = [...sections].filter((section) => !this.#announced.has(section));
    if (added.length === 0) return;
    const [ranges, sparse] = [segment.dictionaryRanges(added), [] as [number, number][]];
    this.pages.forEach(({ group }, part) => {
      ranges.push(this.#chunks(group.pageTable.offset, group.pageTable.length));
      for (const section of added) {
        const { offset, storedLength } = group.sectionAt(section);
        if (!this.#isMostWanted(part, section)) sparse.push([part, section]);
        else {
          this.wholeSections.add(section);
          if (storedLength > 0) ranges.push(this.#chunks(offset, storedLength));
        }
      }
    });
    segment.bytes.expect(ranges);
    segment.bytes.expect(
      sparse.flatMap(([part, section]) => {
        const { offset } = this.#groupOf(part).sectionAt(section);
        const spans = this.#spansOf(part, section, this.#pageStarts(part, section));
        return spans.map(({ start, end }) => this.#chunks(offset + start, end - start));
      }),
    );
    for (const section of added) this.#announced.add(section);
  }

  #isMostWanted(part: number, section: number): boolean {
    if (section >= pagedSectionCount) return true;
    const { group, pages } = this.pages[part] as PageSet;
    const wanted = this.#wanted[part];
    const count =
      wanted === undefined ? pages.length : wanted.reduce((sum, mark) => sum + Math.sign(mark), 0);
    return count >= pageCountOf(group) * wholeShare;
  }

  #groupOf(part: number): StoredGroup {
    return (this.pages[part] as PageSet).group;
  }

  /** Returns the range, extended to the chunks that are verified. */
  #chunks(offset: number, byteLength: number): ByteRange {
    const { start, length } = this.open.reader.chunksOf(offset, byteLength);
    return { start, end: start + length };
  }

  stored(name: ColumnName): LoadedColumn {
    const known = this.#stored.get(name);
    if (known !== undefined) return known;
    const section = SECTIONS.indexOf(shapeOf(name).section);
    if (!this.#loaded.has(section)) this.#loadSection(section);
    return this.#stored.get(name) ?? this.#missing(name);
  }

  made(name: MadeColumn): LoadedColumn {
    let column = this.#made.get(name);
    if (column === undefined) {
      column = makeColumn(this, name);
      this.#made.set(name, column);
    }
    return column;
  }

  /** Returns a column of zeros for a column that the segment does not have. */
  #missing(name: ColumnName): LoadedColumn {
    const shape = shapeOf(name);
    const count = elementAt(this.#rowCounts(), DOMAINS.indexOf(shape.domain));
    const width = shape.type === 'long' ? 8 : shape.type === 'int' ? 4 : (shape.unit ?? 1);
    const column = { at: this.scratch.reserveZeroed(count * width), width, count };
    this.#stored.set(name, column);
    return column;
  }

  #prepareCounts(): number {
    const at = this.scratch.reserveZeroed(this.#countsLength * COUNTS_BYTES);
    const stride = COUNTS_BYTES / 4;
    const { ints } = this.kernel;
    const whole = at / 4 + this.transactionCount * stride;
    for (let row = at / 4; row < whole; row += stride) ints[row] = 1;
    let totals = whole;
    for (const { group } of this.pages) {
      ints[totals + rewardDomain] = group.totalOf(rewardDomain);
      ints[totals + textDomain] = group.totalOf(textDomain);
      totals += stride;
    }
    return at;
  }

  get #countsLength(): number {
    return this.transactionCount + this.pages.length;
  }

  /** Returns, by domain, how many rows the pages in memory have, as far as it is known. */
  #rowCounts(): Uint32Array {
    const { kernel, scratch } = this;
    const at = scratch.reserve(COUNTS_BYTES);
    kernel.exports.sumCounts(this.#counts, this.#countsLength, at);
    return kernel.ints.subarray(at / 4, (at + COUNTS_BYTES) / 4);
  }

  #loadSection(section: number): void {
    // The first section has the row counts that all other sections need.
    if (section > 0 && section < pagedSectionCount) this.stored('txIndex');
    this.announce([section]);
    const { kernel, scratch } = this;
    const { isPacked, columns } = elementAt(this.open.segment.directory.sections, section);
    const located = this.#locateColumns(section, columns);
    const descriptors = scratch.reserve(columns.length * DESCRIPTOR_BYTES);
    writeDescriptors(kernel.ints, descriptors, located);
    let rawBytesMax = 0;
    for (const { group } of this.pages)
      rawBytesMax = Math.max(rawBytesMax, group.sectionAt(section).rawBytesMax);
    const dictionary = isPacked
      ? this.open.sectionWindow(section, rawBytesMax)
      : { window: 0, length: 0 };
    const codes = textCodesOf(columns);
    for (let part = 0; part < this.pages.length; part++)
      this.#decodePart(part, section, { descriptors, columns, codes, dictionary });
    this.#loaded.add(section);
    this.meter.bytesInflated += kernel.exports.takeDecodedBytes();
    for (const [i, { column, values }] of located.entries()) {
      const name = columnNamed(column.id);
      const count = readCount(kernel.ints, descriptors, i);
      if (name !== undefined)
        this.#stored.set(name, { at: values, width: valueBytes(column), count });
    }
  }

  /** Reserves memory for the values of a section. */
  #locateColumns(section: number, columns: readonly StoredColumn[]): LocatedColumn[] {
    const known = this.#rowCounts().slice();
    const located: LocatedColumn[] = [];
    for (const column of columns) {
      const capacity = elementAt(known, column.domain) || this.#rowsMax(section, column.domain);
      const values = this.scratch.reserve(capacity * valueBytes(column));
      located.push({ column, capacity, values });
    }
    return located;
  }

  /** No page has more rows than it has bytes, and all pages of a group have no more rows than the group. */
  #rowsMax(section: number, domain: number): number {
    let sum = 0;
    for (const { group, pages } of this.pages) {
      const pageCount = section < pagedSectionCount ? pages.length : 1;
      const { rawBytesMax } = group.sectionAt(section);
      sum += Math.min(group.totalOf(domain), pageCount * rawBytesMax);
    }
    return sum;
  }

  /** Decodes the pages of one row group behind those of the groups before it. */
  #decodePart(
    part: number,
    section: number,
    { descriptors, columns, codes, dictionary }: SectionDecoding,
  ): void {
    const { kernel } = this;
    const { number, group, pages, firstPosition, transactionCount } = elementAt(this.pages, part);
    const isWhole = section >= pagedSectionCount;
    const counts = isWhole ? this.transactionCount + part : firstPosition;
    const table = this.#readPages(part, section);
    const before: number[] = [];
    for (const column of codes) before.push(readCount(kernel.ints, descriptors, column));
    beginGroup(kernel.ints, descriptors, columns, group.highestBefore);
    const failed = kernel.exports.decodePages(
      descriptors,
      columns.length,
      table,
      isWhole ? 1 : group.pageTransactions,
      this.#counts + counts * COUNTS_BYTES,
      isWhole ? 1 : transactionCount,
      dictionary.window,
      dictionary.length,
      group.sectionAt(section).rawBytesMax,
    );
    if (failed >= 0) {
      const page = isWhole ? 0 : elementAt(pages, failed);
      throw damaged(pageName(number, section, page), 'it does not decode');
    }
    for (const [i, column] of codes.entries())
      this.#moveTextCodes(part, descriptors + column * DESCRIPTOR_BYTES, elementAt(before, i));
  }

  /**
   * The texts of the groups are one list in memory, so the codes of a group begin after the texts of the groups before it. `first` is the
   * first row of the group.
   */
  #moveTextCodes(part: number, descriptor: number, first: number): void {
    let by = 0;
    for (let i = 0; i < part; i++) by += this.#groupOf(i).totalOf(textDomain);
    const { ints, exports } = this.kernel;
    const values = ints[(descriptor + DESCRIPTOR_VALUES) / 4] as number;
    const count = ints[(descriptor + DESCRIPTOR_COUNT) / 4] as number;
    exports.moveCodes(values + first * 4, count - first, by);
  }

  /** Reads the wanted pages of a section in one group. Returns a table with the address and length of each, or zeros. */
  #readPages(part: number, section: number): number {
    const { kernel, scratch, open } = this;
    const { number, group, pages: pagesRead } = elementAt(this.pages, part);
    const isWhole = section >= pagedSectionCount;
    const range = group.sectionAt(section);
    const pages = pagesIn(section, pagesRead);
    const wanted = isWhole ? undefined : this.#wanted[part];
    const table = scratch.reserveZeroed(pages.length * 8);
    if (pages.length === 0) return table;
    const name = `group ${number}.${SECTIONS[section]}`;
    const startsAt = this.#pageStarts(part, section);
    const spans = this.#spansOf(part, section, startsAt);
    for (const { from, to, start, end } of spans) {
      const chunks = open.reader.chunksOf(range.offset + start, end - start);
      const target = scratch.reserve(chunks.length);
      open.reader.read(chunks.start, chunks.length, target, name);
      this.meter.bytesRead += chunks.length;
      const base = target + range.offset - chunks.start;
      const { ints } = kernel;
      for (let i = from; i < to; i++) {
        if (wanted !== undefined && wanted[i] === 0) continue;
        const page = startsAt / 4 + (pages[i] as number);
        ints[table / 4 + i * 2] = base + (ints[page] as number);
        ints[table / 4 + i * 2 + 1] = (ints[page + 1] as number) - (ints[page] as number);
        this.meter.pagesRead++;
      }
    }
    return table;
  }

  /** Returns the wanted pages of a section in one group as spans. The pages of a span are read together. */
  #spansOf(part: number, section: number, startsAt: number): readonly Span[] {
    const { pages } = this.pages[part] as PageSet;
    const wanted = section >= pagedSectionCount ? undefined : this.#wanted[part];
    return spansOf(pagesIn(section, pages), wanted, this.kernel.ints, startsAt / 4);
  }

  /** Returns the address of the start offset of each page of a section, and the end of the last one. */
  #pageStarts(part: number, section: number): number {
    const { number, group } = elementAt(this.pages, part);
    this.#startsAt[part] ??= this.#readPageTable(number, group);
    const pageCount = pageCountOf(group);
    const paged = Math.min(section, pagedSectionCount);
    const skipped = paged * (pageCount + 1) + (section - paged) * 2;
    const lastAt = section < pagedSectionCount ? pageCount : 1;
    const at = this.#startsAt[part] + skipped * 4;
    if (this.kernel.ints[at / 4 + lastAt] !== group.sectionAt(section).storedLength)
      throw damaged(`group ${number}.pages`, 'the lengths of the pages do not add up');
    return at;
  }

  #readPageTable(number: number, group: StoredGroup): number {
    const { kernel, scratch, open } = this;
    const { offset, length } = group.pageTable;
    const name = `group ${number}.pages`;
    const chunks = open.reader.chunksOf(offset, length);
    const target = scratch.reserve(chunks.length);
    open.reader.read(chunks.start, chunks.length, target, name);
    this.meter.bytesRead += chunks.length;
    const pageCount = pageCountOf(group);
    const sectionCount = group.sectionCount;
    const at = scratch.reserve(sectionCount * (pageCount + 2) * 4);
    const isRead = kernel.exports.readPageStarts(
      target + offset - chunks.start,
      length,
      sectionCount,
      pagedSectionCount,
      pageCount,
      at,
    );
    if (isRead === 0) throw damaged(name, 'it does not hold a length for each page');
    return at;
  }
}

interface SectionDecoding {
  readonly descriptors: number;
  readonly columns: readonly StoredColumn[];
  /** Which of the columns hold codes of texts. */
  readonly codes: readonly number[];
  readonly dictionary: { readonly window: number; readonly length: number };
}

const rewardDomain = DOMAINS.indexOf('reward');
const textDomain = DOMAINS.indexOf('text');
const wholePage = new Uint32Array(1);

function pagesIn(section: number, pages: Uint32Array): Uint32Array {
  return section >= pagedSectionCount ? wholePage : pages;
}

/** Returns for each page whether it has a marked transaction: 0 if it has none. Returns undefined if every page has one. */
function markedPages(
  { group, pages, firstPosition, transactionCount }: PageSet,
  bytes: Uint8Array,
  marks: number,
): Uint8Array | undefined {
  const marked = new Uint8Array(pages.length);
  const start = marks + firstPosition;
  for (let page = 0; page < marked.length; page++) {
    const first = start + page * group.pageTransactions;
    const end = Math.min(first + group.pageTransactions, start + transactionCount);
    for (let at = first; at < end; at++)
      marked[page] = (marked[page] as number) | (bytes[at] as number);
  }
  return marked.includes(0) ? marked : undefined;
}

function textCodesOf(columns: readonly StoredColumn[]): number[] {
  const codes: number[] = [];
  for (const [i, column] of columns.entries()) if (isTextCode(column)) codes.push(i);
  return codes;
}

function isTextCode({ id }: StoredColumn): boolean {
  const name = columnNamed(id);
  return name !== undefined && shapeOf(name).isTextCode === true;
}

/** Reads the count of a column's values from its descriptor. */
function readCount(ints: Uint32Array, descriptors: number, column: number): number {
  return elementAt(ints, (descriptors + column * DESCRIPTOR_BYTES + DESCRIPTOR_COUNT) / 4);
}

/** Pages that are read together: their indexes in the list, and their byte range in the section. */
interface Span {
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
}

/** `ints` has the start of each page from `starts` on. */
function spansOf(
  pages: Uint32Array,
  wanted: Uint8Array | undefined,
  ints: Uint32Array,
  starts: number,
): readonly Span[] {
  const spans: Span[] = [];
  let open: { from: number; to: number; start: number; end: number } | undefined;
  for (let i = 0; i < pages.length; i++) {
    if (wanted !== undefined && wanted[i] === 0) continue;
    const page = pages[i] as number;
    const start = ints[starts + page] as number;
    const end = ints[starts + page + 1] as number;
    if (open !== undefined && start - open.end <= gapBytesMax) {
      open.to = i + 1;
      open.end = end;
    } else {
      open = { from: i, to: i + 1, start, end };
      spans.push(open);
    }
  }
  return spans;
}

/** The rows of one block among those in memory. */
export interface BlockRows {
  /** The number of the block in the segment. */
  readonly block: number;
  readonly firstTransaction: number;
  readonly transactionEnd: number;
  readonly firstReward: number;
  readonly rewardEnd: number;
}

/** Returns the rows of each block before `endBlock` whose row group was read. Other blocks have no rows. */
export function rowsOfBlocks({ open, pages }: GroupColumns, endBlock: number): BlockRows[] {
  const { segment, transactionStarts } = open;
  const rows: BlockRows[] = [];
  let firstReward = 0;
  for (const set of pages) {
    const { group } = set;
    const end = Math.min(group.firstBlock + group.blockCount, endBlock);
    for (let block = group.firstBlock; block < end; block++) {
      const rewardEnd = firstReward + segment.counts.rewards.at(block);
      const first = (transactionStarts[block] as number) - group.firstTransaction;
      const last = (transactionStarts[block + 1] as number) - group.firstTransaction;
      const firstTransaction = set.positionOf(first);
      const transactionEnd = set.positionOf(last);
      rows.push({ block, firstTransaction, transactionEnd, firstReward, rewardEnd });
      firstReward = rewardEnd;
    }
  }
  return rows;
}
