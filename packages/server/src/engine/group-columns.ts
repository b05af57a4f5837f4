/**
 * The columns of selected pages of a row group in the kernel's memory. A section is read and decoded when one of its columns is first
 * requested. Some columns are derived from stored ones: starts from lengths, values from differences, and texts.
 */
import { COUNTS_BYTES, DESCRIPTOR_BYTES, DESCRIPTOR_COUNT } from '../kernels/layout/columns.ts';
import {
  type ColumnName,
  DOMAINS,
  pagedSectionCount,
  SECTIONS,
  shapeOf,
} from '../segment/columns.ts';
import { pageName } from '../segment/decode-group.ts';
import { type GroupEntry, pageCountOf, type StoredSection } from '../segment/directory.ts';
import { columnNamed, valueBytes, writeDescriptors } from '../segment/section-layout.ts';
import { damaged } from '../segment/unit.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { EngineSegment } from './engine-segment.ts';
import { type LoadedColumn, type MadeColumn, makeColumn } from './make-column.ts';
import type { PageSet } from './page-set.ts';
import type { LoadMeter } from './plain-reader.ts';
import type { Scratch } from './scratch.ts';

/** Pages with a smaller gap between them are read together, because a separate read costs about as much as reading this many bytes. */
const gapBytesMax = 4_096;

export class GroupColumns {
  readonly kernel: EngineKernel;
  readonly group: GroupEntry;
  readonly open: EngineSegment;
  readonly pages: PageSet;
  readonly scratch: Scratch;
  readonly #number: number;
  readonly meter: LoadMeter;
  readonly #stored = new Map<ColumnName, LoadedColumn>();
  readonly #loaded = new Set<number>();
  readonly #made = new Map<MadeColumn, LoadedColumn>();
  /** The number of rows by transaction in memory and domain, plus one entry for rows that belong to the whole group. */
  readonly #counts: number;
  /** The address of the page starts, once the table of the group was read. */
  #startsAt = 0;
  /** The pages that are read from now on, as flags. Undefined for all. */
  #wanted: Uint8Array | undefined;

  constructor(
    open: EngineSegment,
    number: number,
    pages: PageSet,
    { kernel, scratch, meter }: { kernel: EngineKernel; scratch: Scratch; meter: LoadMeter },
  ) {
    this.open = open;
    this.kernel = kernel;
    this.group = open.segment.directory.groups[number] as GroupEntry;
    this.pages = pages;
    this.scratch = scratch;
    this.#number = number;
    this.meter = meter;
    this.#counts = this.#prepareCounts();
  }

  get transactionCount(): number {
    return this.pages.transactionCount;
  }

  /** Restricts later reads to pages with a marked transaction. The rows of other pages are zeros. */
  narrow(marks: number): void {
    const { pageTransactions } = this.group;
    const { bytes } = this.kernel;
    const wanted = new Uint8Array(this.pages.pages.length);
    for (let page = 0; page < wanted.length; page++) {
      const first = marks + page * pageTransactions;
      const end = Math.min(first + pageTransactions, marks + this.transactionCount);
      for (let at = first; at < end; at++)
        wanted[page] = (wanted[page] as number) | (bytes[at] as number);
    }
    this.#wanted = wanted.every((mark) => mark !== 0) ? undefined : wanted;
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
    const count = this.#rowCounts()[DOMAINS.indexOf(shape.domain)] as number;
    const width = shape.type === 'long' ? 8 : shape.type === 'int' ? 4 : (shape.unit ?? 1);
    const column = { at: this.scratch.reserveZeroed(count * width), width, count };
    this.#stored.set(name, column);
    return column;
  }

  #prepareCounts(): number {
    const at = this.scratch.reserveZeroed((this.transactionCount + 1) * COUNTS_BYTES);
    const stride = COUNTS_BYTES / 4;
    const { ints } = this.kernel;
    const whole = at / 4 + this.transactionCount * stride;
    for (let own = at / 4; own < whole; own += stride) ints[own] = 1;
    for (const domain of ['reward', 'text'] as const) {
      const number = DOMAINS.indexOf(domain);
      ints[whole + number] = this.group.totals[number] as number;
    }
    return at;
  }

  /** Returns the number of rows of the pages in memory by domain, as far as it is known. */
  #rowCounts(): Uint32Array {
    const { kernel, scratch } = this;
    const at = scratch.reserve(COUNTS_BYTES);
    kernel.exports.sumCounts(this.#counts, this.transactionCount + 1, at);
    return kernel.ints.subarray(at / 4, (at + COUNTS_BYTES) / 4);
  }

  #loadSection(section: number): void {
    // The first section has the row counts that all other sections need.
    if (section > 0 && section < pagedSectionCount) this.stored('txIndex');
    const { kernel, scratch, group } = this;
    const { isPacked, columns } = this.open.segment.directory.sections[section] as StoredSection;
    const place = group.sections[section] as GroupEntry['sections'][number];
    const isWhole = section >= pagedSectionCount;
    const pageCount = isWhole ? 1 : this.pages.pages.length;
    const known = this.#rowCounts().slice();
    const placed = columns.map((column) => {
      // A page has at most as many rows as bytes, and all pages together have at most as many rows as the group.
      const most = Math.min(group.totals[column.domain] as number, pageCount * place.rawBytesMax);
      const capacity = (known[column.domain] as number) || most;
      return { column, capacity, values: scratch.reserve(capacity * valueBytes(column)) };
    });
    const descriptors = scratch.reserve(columns.length * DESCRIPTOR_BYTES);
    writeDescriptors(kernel.ints, descriptors, placed, group.highestBefore);
    const table = this.#readPages(section, isWhole);
    const dictionary = isPacked
      ? this.open.sectionWindow(section, place.rawBytesMax)
      : { window: 0, length: 0 };
    const failed = kernel.exports.decodePages(
      descriptors,
      columns.length,
      table,
      isWhole ? 1 : group.pageTransactions,
      this.#counts + (isWhole ? this.transactionCount * COUNTS_BYTES : 0),
      isWhole ? 1 : this.transactionCount,
      dictionary.window,
      dictionary.length,
      place.rawBytesMax,
    );
    if (failed >= 0) {
      const page = isWhole ? 0 : (this.pages.pages[failed] as number);
      throw damaged(pageName(this.#number, section, page), 'it does not decode');
    }
    this.#loaded.add(section);
    this.meter.bytesInflated += kernel.exports.takeDecodedBytes();
    placed.forEach(({ column, values }, i) => {
      const name = columnNamed(column.id);
      const count = kernel.ints[
        (descriptors + i * DESCRIPTOR_BYTES + DESCRIPTOR_COUNT) / 4
      ] as number;
      if (name !== undefined)
        this.#stored.set(name, { at: values, width: valueBytes(column), count });
    });
  }

  /** Reads the wanted pages of a section. Returns a table with the address and length of each page, or 0 for a page that was not read. */
  #readPages(section: number, isWhole: boolean): number {
    const { kernel, scratch, group, open } = this;
    const place = group.sections[section] as GroupEntry['sections'][number];
    const pages = isWhole ? wholePage : this.pages.pages;
    const wanted = isWhole ? undefined : this.#wanted;
    const table = scratch.reserveZeroed(pages.length * 8);
    const name = `group ${this.#number}.${SECTIONS[section]}`;
    const { starts, at: startsAt } = this.#pageStarts(section);
    const spans = spansOf(pages, wanted, starts);
    this.#expect(place, spans);
    for (const { from, to, start, end } of spans) {
      const chunks = open.reader.chunksOf(place.offset + start, end - start);
      const target = scratch.reserve(chunks.length);
      open.reader.read(chunks.start, chunks.length, target, name);
      this.meter.bytesRead += chunks.length;
      const base = target + place.offset - chunks.start;
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

  /** Allows the bytes of a remote segment to be fetched together. */
  #expect({ offset, storedLength }: GroupEntry['sections'][number], spans: readonly Span[]): void {
    const { bytes } = this.open.segment;
    if (bytes.expect === undefined) return;
    const section = { start: offset, end: offset + storedLength };
    const parts = spans.map(({ start, end }) =>
      this.open.reader.chunksOf(offset + start, end - start),
    );
    bytes.expect(
      section,
      parts.map(({ start, length }) => ({ start, end: start + length })),
    );
  }

  /** Returns where the pages of a section start and the last one ends, as an array and as an address in the kernel's memory. */
  #pageStarts(section: number): { starts: Uint32Array; at: number } {
    if (this.#startsAt === 0) this.#startsAt = this.#readPageTable();
    const pageCount = pageCountOf(this.group);
    const paged = Math.min(section, pagedSectionCount);
    const skipped = paged * (pageCount + 1) + (section - paged) * 2;
    const count = section < pagedSectionCount ? pageCount + 1 : 2;
    const at = this.#startsAt + skipped * 4;
    const starts = this.kernel.ints.slice(at / 4, at / 4 + count);
    if (starts.at(-1) !== this.group.sections[section]?.storedLength)
      throw damaged(`group ${this.#number}.pages`, 'the lengths of the pages do not add up');
    return { starts, at };
  }

  #readPageTable(): number {
    const { kernel, scratch, open, group } = this;
    const { offset, length } = group.pageTable;
    const name = `group ${this.#number}.pages`;
    const chunks = open.reader.chunksOf(offset, length);
    const target = scratch.reserve(chunks.length);
    open.reader.read(chunks.start, chunks.length, target, name);
    this.meter.bytesRead += chunks.length;
    const pageCount = pageCountOf(group);
    const sectionCount = group.sections.length;
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

const wholePage = new Uint32Array(1);

/** Pages that are read together: their indexes in the list, and their byte range in the section. */
interface Span {
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
}

function spansOf(
  pages: Uint32Array,
  wanted: Uint8Array | undefined,
  starts: Uint32Array,
): readonly Span[] {
  const spans: Span[] = [];
  let open: { from: number; to: number; start: number; end: number } | undefined;
  for (let i = 0; i < pages.length; i++) {
    if (wanted !== undefined && wanted[i] === 0) continue;
    const page = pages[i] as number;
    const start = starts[page] as number;
    const end = starts[page + 1] as number;
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
