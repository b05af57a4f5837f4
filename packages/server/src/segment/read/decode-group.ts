/** Decodes all rows of a row group with the codec kernel, for merging, tools and tests. Queries decode single pages themselves. */
import { elementAt } from '@sluice/base/element-at';
import { ensureMemory } from '@sluice/base/wasm-kernel';
import { COUNTS_BYTES, DESCRIPTOR_BYTES } from '@sluice/kernels/layout/columns';
import { FREE_MEMORY_START } from '@sluice/kernels/layout/memory';
import { codec } from '../encoding/codec.ts';
import { ByteColumn, IntColumn, LongColumn } from '../encoding/growable.ts';
import { damaged } from '../encoding/unit.ts';
import { COLUMN_NAMES, COLUMNS, DOMAINS, pagedSectionCount, SECTIONS } from '../layout/columns.ts';
import type { StoredSection } from '../layout/directory.ts';
import type { GroupEntry } from '../layout/group-entry.ts';
import type { GroupRows } from '../layout/row-buffer.ts';
import {
  beginGroup,
  columnNamed,
  type LocatedColumn,
  valueBytes,
  writeDescriptors,
} from '../layout/section-layout.ts';

export interface StoredGroup {
  readonly number: number;
  readonly entry: GroupEntry;
  readonly layout: readonly StoredSection[];
  /** For each section its stored bytes, the lengths of its pages, and its dictionary. */
  readonly sections: readonly StoredPages[];
}

export interface StoredPages {
  readonly bytes: Uint8Array;
  readonly lengths: Uint32Array;
  readonly dictionary: Uint8Array;
}

const slackBytes = 64;

export function decodeGroup(group: StoredGroup): GroupRows {
  return new GroupDecoder(group).decode();
}

class GroupDecoder {
  readonly #group: StoredGroup;
  readonly #kernel = codec();
  readonly #counts = FREE_MEMORY_START;
  readonly #values = new Map<string, Uint8Array>();
  #next: number;

  constructor(group: StoredGroup) {
    this.#group = group;
    this.#next = this.#counts + (group.entry.transactionCount + 1) * COUNTS_BYTES;
  }

  decode(): GroupRows {
    this.#prepareCounts();
    // Sections that a later version added come after these.
    SECTIONS.forEach((_, section) => {
      if (section < this.#group.layout.length) this.#decodeSection(section);
    });
    const columns = COLUMN_NAMES.map((name) => {
      const bytes = this.#values.get(name) ?? this.#missing(name);
      const { type } = COLUMNS[name];
      if (type === 'bytes') return [name, ByteColumn.of(bytes)];
      if (type === 'long') return [name, LongColumn.of(new BigUint64Array(bytes.buffer))];
      return [name, IntColumn.of(new Uint32Array(bytes.buffer))];
    });
    return Object.fromEntries(columns) as GroupRows;
  }

  /** Returns a column of zeros for a column that the segment does not have. */
  #missing(name: keyof typeof COLUMNS): Uint8Array {
    const { type, domain } = COLUMNS[name];
    const rows = elementAt(this.#group.entry.totals, DOMAINS.indexOf(domain));
    return new Uint8Array(rows * (type === 'bytes' ? 0 : type === 'long' ? 8 : 4));
  }

  get #ints(): Uint32Array {
    return new Uint32Array(this.#kernel.memory.buffer);
  }

  /** One entry for each transaction, and one for rows that belong to the whole group. */
  #prepareCounts(): void {
    const { totals } = this.#group.entry;
    ensureMemory(this.#kernel.memory, this.#next);
    const ints = this.#ints.subarray(this.#counts / 4, this.#next / 4);
    ints.fill(0);
    const stride = COUNTS_BYTES / 4;
    for (let at = 0; at < ints.length - stride; at += stride) ints[at] = 1;
    for (const domain of ['reward', 'text'] as const) {
      const number = DOMAINS.indexOf(domain);
      ints[ints.length - stride + number] = elementAt(totals, number);
    }
  }

  #decodeSection(section: number): void {
    const { entry, layout, sections, number } = this.#group;
    const { isPacked, columns } = elementAt(layout, section);
    const { bytes, lengths, dictionary } = elementAt(sections, section);
    const start = this.#next;
    const placed = columns.map((column): LocatedColumn => {
      const capacity = elementAt(entry.totals, column.domain);
      return { column, values: this.#reserve(capacity * valueBytes(column)), capacity };
    });
    const descriptors = this.#reserve(columns.length * DESCRIPTOR_BYTES);
    const pages = this.#reserve(lengths.length * 8);
    const stored = this.#reserve(bytes.length);
    const rawBytesMax = elementAt(entry.sections, section).rawBytesMax;
    const window = isPacked ? this.#reserve(dictionary.length + rawBytesMax) : 0;
    writeDescriptors(this.#ints, descriptors, placed);
    beginGroup(this.#ints, descriptors, columns, entry.highestBefore);
    const memory = new Uint8Array(this.#kernel.memory.buffer);
    memory.set(bytes, stored);
    if (isPacked) memory.set(dictionary, window);
    this.#locatePages(pages, stored, lengths);
    const isWhole = section >= pagedSectionCount;
    const failed = this.#kernel.exports.decodePages(
      descriptors,
      columns.length,
      pages,
      isWhole ? 1 : entry.pageTransactions,
      this.#counts + (isWhole ? entry.transactionCount * COUNTS_BYTES : 0),
      isWhole ? 1 : entry.transactionCount,
      window,
      dictionary.length,
      rawBytesMax,
    );
    if (failed >= 0) throw damaged(pageName(number, section, failed), 'it does not decode');
    this.#keep(placed);
    this.#next = start;
  }

  #locatePages(pages: number, stored: number, lengths: Uint32Array): void {
    const ints = this.#ints;
    let at = stored;
    lengths.forEach((length, page) => {
      ints[pages / 4 + page * 2] = at;
      ints[pages / 4 + page * 2 + 1] = length;
      at += length;
    });
  }

  #keep(placed: readonly LocatedColumn[]): void {
    for (const { column, values, capacity } of placed) {
      const name = columnNamed(column.id);
      if (name === undefined) continue;
      const bytes = new Uint8Array(
        this.#kernel.memory.buffer,
        values,
        capacity * valueBytes(column),
      );
      this.#values.set(name, bytes.slice());
    }
  }

  #reserve(byteCount: number): number {
    const at = this.#next;
    this.#next = Math.ceil((at + byteCount + slackBytes) / 16) * 16;
    ensureMemory(this.#kernel.memory, this.#next);
    return at;
  }
}

/** The name of a section of a row group in errors. */
export function sectionName(group: number, section: number): string {
  return `group ${group}.${SECTIONS[section] ?? `section ${section}`}`;
}

export function pageName(group: number, section: number, page: number): string {
  return `${sectionName(group, section)} page ${page}`;
}
