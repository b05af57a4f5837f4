/** Encodes the rows of a row group as pages and compresses them with the dictionaries of the segment. */
import { elementAt } from '@sluice/base/element-at';
import { ensureMemory } from '@sluice/base/wasm-kernel';
import { COUNTS_BYTES, DESCRIPTOR_BYTES } from '@sluice/kernels/layout/columns';
import { FREE_MEMORY_START } from '@sluice/kernels/layout/memory';
import { type CodecExports, codec } from '../encoding/codec.ts';
import { VarintWriter } from '../encoding/varint.ts';
import { CODING, DOMAINS, pagedSectionCount, SECTIONS } from '../layout/columns.ts';
import type { StoredColumn, StoredSection } from '../layout/directory.ts';
import type { GroupRows } from '../layout/row-buffer.ts';
import {
  beginGroup,
  type LocatedColumn,
  SECTION_COLUMNS,
  valueBytes,
  writeDescriptors,
} from '../layout/section-layout.ts';

/** One per section; empty for a section without a dictionary. */
export type SectionDictionaries = readonly Uint8Array[];

export interface EncodedGroup {
  readonly totals: readonly number[];
  readonly pageTable: Uint8Array;
  readonly sections: readonly { readonly stored: Uint8Array; readonly rawBytesMax: number }[];
  readonly dictionaries: SectionDictionaries;
}

export interface GroupOptions {
  readonly layout: readonly StoredSection[];
  readonly highestBefore: number;
  readonly pageTransactions: number;
  /** `train` builds dictionaries from the group itself. */
  readonly dictionaries: SectionDictionaries | 'train';
}

/** LZ4 distances reach 64 KiB, so pages of up to 8 KiB can refer to the whole dictionary. */
const dictionaryBytesMax = 56 << 10;
/** The maximum size of a dictionary relative to the first row group, because the segment stores the dictionary too. */
const dictionaryShare = 1 / 2;
const slackBytes = 64;
const varintBytesMax = { int: 5, long: 10 } as const;

export const noDictionaries: SectionDictionaries = SECTIONS.map(() => new Uint8Array(0));

export function encodeGroup(rows: GroupRows, options: GroupOptions): EncodedGroup {
  return new GroupEncoder(rows, options).encode();
}

/** A section while its group is encoded: its columns in the kernel's memory, and its pages before compression. */
interface OpenSection {
  readonly number: number;
  readonly descriptors: number;
  readonly columnCount: number;
  readonly raw: number;
  readonly lengths: number[];
  end: number;
}

class GroupEncoder {
  readonly #rows: GroupRows;
  readonly #options: GroupOptions;
  readonly #kernel = codec();
  readonly #exports: CodecExports = this.#kernel.exports;
  readonly #pageTable = FREE_MEMORY_START;
  readonly #dictionaryTable = this.#pageTable + this.#exports.LZ_PAGE_TABLE_BYTES.value;
  #next = this.#dictionaryTable + this.#exports.LZ_DICTIONARY_TABLE_BYTES.value;
  /** The counts of the transactions of one page, by domain. */
  #counts = 0;

  constructor(rows: GroupRows, options: GroupOptions) {
    this.#rows = rows;
    this.#options = options;
  }

  encode(): EncodedGroup {
    const transactionCount = this.#rows.txIndex.length;
    const { pageTransactions } = this.#options;
    this.#counts = this.#reserve(pageTransactions * COUNTS_BYTES);
    const sections = SECTIONS.map((_, number) => this.#openSection(number));
    const paged = sections.slice(0, pagedSectionCount);
    for (let first = 0; first < transactionCount; first += pageTransactions) {
      const count = Math.min(pageTransactions, transactionCount - first);
      this.#clearCounts(count);
      for (const section of paged) this.#encodePage(section, count);
    }
    this.#clearCounts(1);
    this.#ints[this.#counts / 4 + DOMAINS.indexOf('reward')] = this.#rows.rewKey.length;
    this.#ints[this.#counts / 4 + DOMAINS.indexOf('text')] = this.#rows.textLength.length;
    for (const section of sections.slice(pagedSectionCount)) this.#encodePage(section, 1);
    const table = new VarintWriter();
    const stored = sections.map((section) => this.#finish(section, table));
    return {
      totals: this.#totals(),
      pageTable: table.bytes,
      sections: stored,
      dictionaries: stored.map(({ dictionary }) => dictionary),
    };
  }

  get #ints(): Uint32Array {
    return new Uint32Array(this.#kernel.memory.buffer);
  }

  /** Each transaction is one row of the first domain. All other rows are counted during encoding. */
  #clearCounts(count: number): void {
    const { buffer } = this.#kernel.memory;
    const counts = new Uint32Array(buffer, this.#counts, (count * COUNTS_BYTES) / 4);
    counts.fill(0);
    for (let i = 0; i < counts.length; i += COUNTS_BYTES / 4) counts[i] = 1;
  }

  #reserve(byteCount: number): number {
    const at = this.#next;
    this.#next = Math.ceil((at + byteCount + slackBytes) / 16) * 16;
    ensureMemory(this.#kernel.memory, this.#next);
    return at;
  }

  #openSection(number: number): OpenSection {
    const { columns } = elementAt(this.#options.layout, number);
    let rawBytes = slackBytes;
    const placed = columns.map((column, i): LocatedColumn => {
      const values = this.#valuesOf(number, i);
      const at = this.#reserve(values.byteLength);
      const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
      new Uint8Array(this.#kernel.memory.buffer, at, bytes.length).set(bytes);
      const count = values.byteLength / valueBytes(column);
      rawBytes += codedBytesMax(column, count);
      return { column, values: at, capacity: count };
    });
    // A page of keys starts with a number, and a skipped id takes another number.
    rawBytes += this.#rows.txIndex.length * 2 * varintBytesMax.int;
    const descriptors = this.#reserve(columns.length * DESCRIPTOR_BYTES);
    writeDescriptors(this.#ints, descriptors, placed);
    beginGroup(this.#ints, descriptors, columns, this.#options.highestBefore);
    const raw = this.#reserve(rawBytes);
    return { number, descriptors, columnCount: columns.length, raw, lengths: [], end: raw };
  }

  #encodePage(section: OpenSection, count: number): void {
    const { descriptors, columnCount, end } = section;
    section.end = this.#exports.encodePage(descriptors, columnCount, this.#counts, count, end);
    section.lengths.push(section.end - end);
  }

  /** Compresses a section and writes the lengths of its pages to the table. */
  #finish(section: OpenSection, table: VarintWriter) {
    const { number, raw, end, lengths } = section;
    const rawBytesMax = lengths.reduce((most, length) => Math.max(most, length), 0);
    const rawBytes = () => new Uint8Array(this.#kernel.memory.buffer, raw, end - raw);
    const { isPacked } = elementAt(this.#options.layout, number);
    if (!isPacked) {
      for (const length of lengths) table.write(length);
      return { stored: rawBytes().slice(), rawBytesMax, dictionary: new Uint8Array(0) };
    }
    const { dictionaries } = this.#options;
    const dictionary =
      dictionaries !== 'train'
        ? elementAt(dictionaries, number)
        : number < pagedSectionCount
          ? trainDictionary(rawBytes(), lengths)
          : new Uint8Array(0);
    const stored = this.#compress(section, dictionary, rawBytesMax, table);
    return { stored, rawBytesMax, dictionary };
  }

  #compress(
    { raw, end, lengths }: OpenSection,
    dictionary: Uint8Array,
    rawBytesMax: number,
    table: VarintWriter,
  ): Uint8Array {
    const next = this.#next;
    const window = this.#reserve(dictionary.length + rawBytesMax);
    const lengthsAt = this.#reserve(lengths.length * 4);
    const packedBytes = end - raw + Math.ceil((end - raw) / 255) + lengths.length * 16;
    const out = this.#reserve(packedBytes);
    new Uint8Array(this.#kernel.memory.buffer, window).set(dictionary);
    this.#exports.lzBuildTable(window, dictionary.length, this.#dictionaryTable);
    this.#ints.set(lengths, lengthsAt / 4);
    const outEnd = this.#exports.compressPages(
      raw,
      lengthsAt,
      lengths.length,
      window,
      dictionary.length,
      this.#dictionaryTable,
      this.#pageTable,
      out,
    );
    const packed = this.#ints.subarray(lengthsAt / 4, lengthsAt / 4 + lengths.length);
    for (const length of packed) table.write(length);
    this.#next = next;
    return new Uint8Array(this.#kernel.memory.buffer, out, outEnd - out).slice();
  }

  #valuesOf(section: number, column: number): Uint32Array | BigUint64Array | Uint8Array {
    return this.#rows[elementAt(elementAt(SECTION_COLUMNS, section), column)].values;
  }

  #totals(): number[] {
    const totals = DOMAINS.map(() => 0);
    this.#options.layout.forEach(({ columns }, section) => {
      columns.forEach((column, i) => {
        totals[column.domain] = this.#valuesOf(section, i).byteLength / valueBytes(column);
      });
    });
    return totals;
  }
}

function codedBytesMax(column: StoredColumn, count: number): number {
  if (column.coding === CODING.bytes) return count * column.unit;
  return count * (column.coding === CODING.long ? varintBytesMax.long : varintBytesMax.int);
}

/** Selects pages evenly distributed over the section, up to a share of it. */
function trainDictionary(raw: Uint8Array, lengths: readonly number[]): Uint8Array {
  const goal = Math.min(dictionaryBytesMax, Math.floor(raw.length * dictionaryShare));
  const dictionary = new Uint8Array(goal);
  let [at, used] = [0, 0];
  for (const length of lengths) {
    // Selects a page if the dictionary is below its share of the bytes so far.
    const isDue = used * raw.length <= at * goal;
    if (isDue && used + length <= goal) {
      dictionary.set(raw.subarray(at, at + length), used);
      used += length;
    }
    at += length;
  }
  return dictionary.subarray(0, used);
}
