/**
 * The columns of some pages of a row group in the kernel's memory. A section is read and decoded when one of its columns is
 * first asked for; other columns are made from stored ones: starts from lengths, values from differences, texts.
 */
import {
  type ColumnName,
  DOMAINS,
  pagedSectionCount,
  SECTIONS,
  shapeOf,
} from '../segment/columns.ts';
import { pageName } from '../segment/decode-group.ts';
import type { GroupEntry, StoredSection } from '../segment/directory.ts';
import {
  columnNamed,
  countsBytes,
  descriptorBytes,
  valueBytes,
  writeDescriptors,
} from '../segment/section-layout.ts';
import { damaged } from '../segment/unit.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { EngineSegment } from './engine-segment.ts';
import { type MadeColumn, makeColumn } from './make-column.ts';
import type { PageSet } from './page-set.ts';
import type { LoadMeter } from './plain-reader.ts';
import type { Scratch } from './scratch.ts';

/** A column as the kernels use it. */
export interface LoadedColumn {
  readonly at: number;
  /** Bytes a value. */
  readonly width: number;
  readonly count: number;
}

/** Pages closer than this are read at once: asking for bytes costs about as much as reading so many. */
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
  /** By transaction in memory and domain the number of rows; one entry more for what belongs to the whole group. */
  readonly #counts: number;
  /** Which of the pages are read from now on; undefined for all. */
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

  /** From now on only pages with a marked transaction are read; the rows of the others are zeros. */
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

  /** A column that the segment does not have is 0 in every row. */
  #missing(name: ColumnName): LoadedColumn {
    const shape = shapeOf(name);
    const count = this.#rowCount(DOMAINS.indexOf(shape.domain));
    const width = shape.type === 'long' ? 8 : shape.type === 'int' ? 4 : (shape.unit ?? 1);
    const column = { at: this.scratch.reserveZeroed(count * width), width, count };
    this.#stored.set(name, column);
    return column;
  }

  #prepareCounts(): number {
    const at = this.scratch.reserveZeroed((this.transactionCount + 1) * countsBytes);
    const stride = countsBytes / 4;
    const { ints } = this.kernel;
    const whole = at / 4 + this.transactionCount * stride;
    for (let own = at / 4; own < whole; own += stride) ints[own] = 1;
    for (const domain of ['reward', 'text'] as const) {
      const number = DOMAINS.indexOf(domain);
      ints[whole + number] = this.group.totals[number] as number;
    }
    return at;
  }

  #rowCount(domain: number): number {
    const { ints } = this.kernel;
    const stride = countsBytes / 4;
    const end = this.#counts / 4 + (this.transactionCount + 1) * stride;
    let sum = 0;
    for (let at = this.#counts / 4 + domain; at < end; at += stride) sum += ints[at] as number;
    return sum;
  }

  #loadSection(section: number): void {
    // Every section but the first needs what the first counts.
    if (section > 0 && section < pagedSectionCount) this.stored('txIndex');
    const { kernel, scratch, group } = this;
    const { isPacked, columns } = this.open.segment.directory.sections[section] as StoredSection;
    const place = group.sections[section] as GroupEntry['sections'][number];
    const isWhole = section >= pagedSectionCount;
    const pageCount = isWhole ? 1 : this.pages.pages.length;
    const placed = columns.map((column) => {
      const capacity = this.#capacity(column.domain, pageCount * place.rawBytesMax);
      return { column, capacity, values: scratch.reserve(capacity * valueBytes(column)) };
    });
    const descriptors = scratch.reserve(columns.length * descriptorBytes);
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
      this.#counts + (isWhole ? this.transactionCount * countsBytes : 0),
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
      const count = kernel.ints[descriptors / 4 + i * (descriptorBytes / 4) + 4] as number;
      if (name !== undefined)
        this.#stored.set(name, { at: values, width: valueBytes(column), count });
    });
  }

  /** No page has more rows than it has bytes, and all pages no more than the group. */
  #capacity(domain: number, rawBytes: number): number {
    const known = this.#rowCount(domain);
    if (known > 0) return known;
    return Math.min(this.group.totals[domain] as number, rawBytes);
  }

  /** Reads the pages of a section that are wanted. Returns a table of where each is: address and length, 0 if it is not. */
  #readPages(section: number, isWhole: boolean): number {
    const { kernel, scratch, group, open } = this;
    const place = group.sections[section] as GroupEntry['sections'][number];
    const starts = open.pageStarts(this.#number, section);
    const pages = isWhole ? wholePage : this.pages.pages;
    const table = scratch.reserveZeroed(pages.length * 8);
    const name = `group ${this.#number}.${SECTIONS[section]}`;
    const wanted = isWhole ? undefined : this.#wanted;
    for (let from = 0; from < pages.length; ) {
      if (wanted !== undefined && wanted[from] === 0) {
        from++;
        continue;
      }
      const start = starts[pages[from] as number] as number;
      let end = starts[(pages[from] as number) + 1] as number;
      let to = from + 1;
      for (let next = to; next < pages.length; next++) {
        if (wanted !== undefined && wanted[next] === 0) continue;
        const page = pages[next] as number;
        if ((starts[page] as number) - end > gapBytesMax) break;
        end = starts[page + 1] as number;
        to = next + 1;
      }
      const chunks = open.reader.chunksOf(place.offset + start, end - start);
      const target = scratch.reserve(chunks.length);
      open.reader.read(chunks.start, chunks.length, target, name);
      this.meter.bytesRead += chunks.length;
      const base = target + place.offset - chunks.start;
      const { ints } = kernel;
      for (let i = from; i < to; i++) {
        if (wanted !== undefined && wanted[i] === 0) continue;
        const page = pages[i] as number;
        ints[table / 4 + i * 2] = base + (starts[page] as number);
        ints[table / 4 + i * 2 + 1] = (starts[page + 1] as number) - (starts[page] as number);
        this.meter.pagesRead++;
      }
      from = to;
    }
    return table;
  }
}

const wholePage = new Uint32Array(1);
