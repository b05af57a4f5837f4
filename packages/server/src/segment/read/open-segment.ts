import { elementAt } from '@sluice/base/element-at';
import { type CodedError, isCodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import type { ByteRange } from '../../object-store/object-store.ts';
import { chunkBytes, findDamagedChunk } from '../encoding/chunk-checksums.ts';
import {
  damaged,
  decodeInts,
  decodeUnit,
  decodeUnitInto,
  isCompressed,
  joinIntUnit,
  type UnitEntry,
} from '../encoding/unit.ts';
import { readVarints } from '../encoding/varint.ts';
import { BLOCK_COLUMNS } from '../layout/block-columns.ts';
import type { BlockCounts } from '../layout/block-counts.ts';
import { pagedSectionCount } from '../layout/columns.ts';
import { keyBytes } from '../layout/dictionary.ts';
import {
  checkHeader,
  decodeDirectory,
  decodeFooter,
  footerBytes,
  headerBytes,
  PART,
  type Part,
  type StoredDirectory,
} from '../layout/directory.ts';
import { pageCountOf } from '../layout/group-entry.ts';
import type { GroupRows } from '../layout/row-buffer.ts';
import {
  type BlockColumns,
  BlockHeaders,
  type ByteBlockColumn,
  type CountColumns,
  countsAt,
  type IntBlockColumn,
  readCounts,
} from './block-table.ts';
import { decodeGroup, sectionName } from './decode-group.ts';

/** The memory of a block's slot in the headers. */
const slotBytes = 8;

/** The source of a segment's bytes: memory, or a file read by range. Synchronous, for use in worker threads. */
export interface SegmentBytes {
  readonly length: number;
  read(offset: number, length: number): Uint8Array;
  /** Fills the target as far as bytes are available. Returns their number. */
  readInto(offset: number, target: Uint8Array): number;
  /** Announces reads, so that the bytes of a remote segment are fetched together. Absent if the bytes are local. */
  expect?(ranges: readonly ByteRange[]): void;
}

function bytesInMemory(bytes: Uint8Array): SegmentBytes {
  const read = (offset: number, length: number) => bytes.subarray(offset, offset + length);
  const readInto = (offset: number, target: Uint8Array) => {
    const part = read(offset, target.length);
    target.set(part);
    return part.length;
  };
  return { length: bytes.length, read, readInto };
}

/** Opens a segment with three range reads: header, footer, directory. The block table is read when first used. */
export function openSegment(bytes: Uint8Array | SegmentBytes): Segment {
  const source = bytes instanceof Uint8Array ? bytesInMemory(bytes) : bytes;
  checkHeader(source.read(0, headerBytes));
  if (source.length < headerBytes + footerBytes) throw damaged('footer', 'it is truncated');
  const footer = decodeFooter(source.read(source.length - footerBytes, footerBytes), source.length);
  const stored = source.read(footer.offset, footer.storedLength);
  return new Segment(source, decodeDirectory(stored, footer, source.length));
}

/** A segment's bytes that are read asynchronously: a file, or an object in a store. */
export interface RemoteBytes {
  readonly length: number;
  read(offset: number, length: number): Promise<Uint8Array>;
}

/** Returns the headers of a segment's blocks with four range reads: its start, its end, its directory, its block table. */
export async function readSegmentHeaders(remote: RemoteBytes): Promise<readonly BlockHeader[]> {
  const { length } = remote;
  checkHeader(await remote.read(0, headerBytes));
  if (length < headerBytes + footerBytes) throw damaged('footer', 'it is truncated');
  const footer = decodeFooter(await remote.read(length - footerBytes, footerBytes), length);
  const stored = await remote.read(footer.offset, footer.storedLength);
  const directory = decodeDirectory(stored, footer, length);
  const { start, end } = blockTableRange(directory);
  const table = await remote.read(start, end - start);
  return new Segment(partInMemory(table, start, length), directory).headers.toArray();
}

/** The units of the block table are adjacent. */
function blockTableRange({ parts }: StoredDirectory): { start: number; end: number } {
  let [start, end] = [Number.POSITIVE_INFINITY, 0];
  for (const { kind, entry } of parts) {
    if (kind !== PART.blockColumn) continue;
    start = Math.min(start, entry.offset);
    end = Math.max(end, entry.offset + entry.storedLength);
  }
  if (end === 0) throw damaged('directory', 'it lists no block table');
  return { start, end };
}

/** A segment with one byte range in memory. */
function partInMemory(part: Uint8Array, start: number, length: number): SegmentBytes {
  const bytes = bytesInMemory(part);
  return {
    length,
    read: (offset, count) => bytes.read(offset - start, count),
    readInto: (offset, target) => bytes.readInto(offset - start, target),
  };
}

export class Segment {
  readonly bytes: SegmentBytes;
  readonly directory: StoredDirectory;
  /** By kind, then by number. */
  readonly #parts: ReadonlyMap<number, ReadonlyMap<number, UnitEntry>>;
  #headers: BlockHeaders | undefined;
  #counts: CountColumns | undefined;
  #checksums: Uint8Array | undefined;
  #tableBytes = 0;

  constructor(bytes: SegmentBytes, directory: StoredDirectory) {
    this.bytes = bytes;
    this.directory = directory;
    this.#parts = partsByKind(directory.parts);
  }

  get blockCount(): number {
    return this.directory.blockCount;
  }

  get addressCount(): number {
    return this.directory.addressCount;
  }

  get groups(): StoredDirectory['groups'] {
    return this.directory.groups;
  }

  get headers(): BlockHeaders {
    return this.#headers ?? this.#readBlockTable().headers;
  }

  get counts(): CountColumns {
    return this.#counts ?? this.#readBlockTable().counts;
  }

  countsAt(block: number): BlockCounts {
    return countsAt(this.counts, block);
  }

  /** The checksums of the chunks of the plain part, 4 bytes each. */
  get checksums(): Uint8Array {
    if (this.#checksums === undefined) {
      this.#checksums = this.readUnit(PART.checksums, 0);
      const expected = Math.ceil(this.directory.plainBytes / chunkBytes) * 4;
      if (this.#checksums.length !== expected)
        throw damaged('checksums', 'they do not cover the file');
    }
    return this.#checksums;
  }

  /** The memory of the block table, after it was read. */
  get blockTableBytes(): number {
    return this.#tableBytes + (this.#headers?.textBytes ?? 0);
  }

  /** Reads the whole block table at once, and keeps its integers. Hashes, which are most of it, are read again when their texts are needed. */
  #readBlockTable() {
    const { start, end } = blockTableRange(this.directory);
    const table = this.#readScratch(start, end - start);
    const readBlockInts = (name: IntBlockColumn) => {
      const { id } = BLOCK_COLUMNS[name];
      const entry = this.partEntry(PART.blockColumn, id);
      const at = entry.offset - start;
      const stored = table.subarray(at, at + entry.storedLength);
      const kept = isCompressed(entry) ? stored : stored.slice();
      this.#tableBytes += isCompressed(entry) ? entry.rawLength : kept.length;
      return decodeInts(kept, entry, partName(PART.blockColumn, id));
    };
    const columns: BlockColumns = {
      blockCount: this.blockCount,
      readBlockInts,
      blockBytesOf: (name) => this.partEntry(PART.blockColumn, BLOCK_COLUMNS[name].id).rawLength,
      readBlockBytes: (name) => this.#readBlockBytes(name),
    };
    this.#tableBytes = this.blockCount * slotBytes;
    const headers = new BlockHeaders(columns);
    const counts = readCounts(columns);
    this.#headers = headers;
    this.#counts = counts;
    return { headers, counts };
  }

  /** The result is valid until the thread reads anything else of a segment. */
  #readBlockBytes(name: ByteBlockColumn): Uint8Array {
    const { id } = BLOCK_COLUMNS[name];
    const entry = this.partEntry(PART.blockColumn, id);
    const stored = this.#readScratch(entry.offset, entry.storedLength);
    return decodeUnit(stored, entry, partName(PART.blockColumn, id));
  }

  /** Returns all rows of a group as they were appended. */
  readGroup(number: number): GroupRows {
    const entry = this.directory.groups[number];
    if (entry === undefined) throw damaged(`group ${number}`, 'the directory does not list it');
    const lengths = this.readPageTable(number);
    const sections = entry.sections.map((range, section) => ({
      bytes: this.readPlain(range.offset, range.storedLength, sectionName(number, section)),
      lengths: elementAt(lengths, section),
      dictionary: this.readSectionDictionary(section),
    }));
    return decodeGroup({ number, entry, layout: this.directory.sections, sections });
  }

  /** Returns the stored lengths of a group's pages, by section. */
  readPageTable(number: number): Uint32Array[] {
    const group = elementAt(this.directory.groups, number);
    const { offset, length } = group.pageTable;
    const name = `group ${number}.pages`;
    const pageCount = pageCountOf(group);
    const counts = group.sections.map((_, section) =>
      section < pagedSectionCount ? pageCount : 1,
    );
    const total = counts.reduce((sum, count) => sum + count, 0);
    const all = readVarints(this.readPlain(offset, length, name), total, name);
    let at = 0;
    return counts.map((count, section) => {
      const lengths = all.subarray(at, at + count);
      at += count;
      let sum = 0;
      for (const pageLength of lengths) sum += pageLength;
      if (sum !== group.sections[section]?.storedLength)
        throw damaged(name, 'the lengths of the pages do not add up');
      return lengths;
    });
  }

  /** Returns the compression dictionary of a section's pages; empty for a section that is compressed without one. */
  readSectionDictionary(section: number): Uint8Array {
    if (this.#findPart(PART.sectionDictionary, section) === undefined) return new Uint8Array(0);
    return this.readUnit(PART.sectionDictionary, section);
  }

  /** The length of a section's compression dictionary; 0 for a section that is compressed without one. */
  sectionDictionaryBytes(section: number): number {
    return this.#findPart(PART.sectionDictionary, section)?.rawLength ?? 0;
  }

  /** Reads the dictionary of a section to `target`, which has its length. */
  readSectionDictionaryInto(section: number, target: Uint8Array): void {
    const entry = this.#findPart(PART.sectionDictionary, section);
    if (entry === undefined) return;
    const stored = this.#readScratch(entry.offset, entry.storedLength);
    decodeUnitInto(stored, entry, partName(PART.sectionDictionary, section), target);
  }

  /** Returns keys of the dictionary, 32 bytes each. */
  readKeys(first: number, count: number): Uint8Array {
    return this.readPart(PART.keys, 0, first * keyBytes, count * keyBytes);
  }

  /** Returns a byte range of a part that is read in pieces. */
  readPart(kind: number, number: number, offset: number, length: number): Uint8Array {
    const entry = this.partEntry(kind, number);
    const name = partName(kind, number);
    if (offset + length > entry.storedLength) throw damaged(name, 'it is too short');
    return this.readPlain(entry.offset + offset, length, name);
  }

  readUnit(kind: number, number: number): Uint8Array {
    return this.#decode(this.partEntry(kind, number), partName(kind, number));
  }

  readIntUnit(kind: number, number: number): Uint32Array {
    const entry = this.partEntry(kind, number);
    return joinIntUnit(this.#decode(entry, partName(kind, number)), entry);
  }

  #findPart(kind: number, number: number): UnitEntry | undefined {
    return this.#parts.get(kind)?.get(number);
  }

  partEntry(kind: number, number: number): UnitEntry {
    const entry = this.#findPart(kind, number);
    if (entry === undefined)
      throw damaged(partName(kind, number), 'the directory does not list it');
    return entry;
  }

  /** Announces that all parts of a kind will be read, so that those of a remote segment are fetched together. */
  expectParts(kind: number): void {
    this.bytes.expect?.(
      this.directory.parts.filter((part) => part.kind === kind).map(({ entry }) => rangeOf(entry)),
    );
  }

  /** Returns where the compression dictionaries of some sections are. */
  dictionaryRanges(sections: Iterable<number>): ByteRange[] {
    const entries = [...sections].map((section) => this.#findPart(PART.sectionDictionary, section));
    return entries.filter((entry) => entry !== undefined).map(rangeOf);
  }

  partCount(kind: number): number {
    return this.#parts.get(kind)?.size ?? 0;
  }

  /** Returns bytes of the plain part, after verifying the chunks that contain them. Errors use `name` for them. */
  readPlain(offset: number, length: number, name: string): Uint8Array {
    if (length === 0) return new Uint8Array(0);
    const first = Math.floor(offset / chunkBytes);
    const end = Math.min(
      Math.ceil((offset + length) / chunkBytes) * chunkBytes,
      this.directory.plainBytes,
    );
    const start = first * chunkBytes;
    const read = this.bytes.read(start, end - start);
    if (read.length !== end - start) throw damaged(name, 'it is truncated');
    const chunk = this.#findDamage(read, first);
    if (chunk >= 0)
      throw damaged(
        name,
        `the checksum of the bytes from ${(first + chunk) * chunkBytes} on does not match`,
      );
    return read.subarray(offset - start, offset - start + length);
  }

  #findDamage(read: Uint8Array, firstChunk: number): number {
    const count = Math.ceil(read.length / chunkBytes);
    const expected = this.checksums.subarray(firstChunk * 4, (firstChunk + count) * 4);
    return findDamagedChunk(read, expected);
  }

  #decode(entry: UnitEntry, name: string): Uint8Array {
    const { offset, storedLength } = entry;
    const stored = isCompressed(entry)
      ? this.#readScratch(offset, storedLength)
      : this.bytes.read(offset, storedLength);
    return decodeUnit(stored, entry, name);
  }

  /** Returns bytes that the caller decodes before it reads anything else: the next call overwrites them. */
  #readScratch(offset: number, length: number): Uint8Array {
    const target = scratchOf(length);
    return target.subarray(0, this.bytes.readInto(offset, target));
  }
}

/** Longer bytes get memory of their own. */
const scratchBytesMax = 1 << 20;
let scratch = new Uint8Array(1 << 14);

/** Opening a segment reads a dozen units. In new memory each time, they would make V8 collect garbage much more often. */
function scratchOf(length: number): Uint8Array {
  if (length > scratchBytesMax) return new Uint8Array(length);
  if (length > scratch.length) scratch = new Uint8Array(2 ** Math.ceil(Math.log2(length)));
  return scratch.subarray(0, length);
}

function rangeOf({ offset, storedLength }: UnitEntry): ByteRange {
  return { start: offset, end: offset + storedLength };
}

function partsByKind(parts: readonly Part[]): Map<number, Map<number, UnitEntry>> {
  const byKind = new Map<number, Map<number, UnitEntry>>();
  for (const { kind, number, entry } of parts) {
    let entries = byKind.get(kind);
    if (entries === undefined) {
      entries = new Map();
      byKind.set(kind, entries);
    }
    entries.set(number, entry);
  }
  return byKind;
}

const PART_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(PART).map(([name, kind]) => [kind, name]),
);

const BLOCK_COLUMN_LABELS: ReadonlyMap<number, string> = new Map(
  Object.entries(BLOCK_COLUMNS).map(([name, { id }]) => [id, name]),
);

/** Returns the name of a part in errors and tools. */
export function partName(kind: number, number: number): string {
  const name = PART_NAMES.get(kind) ?? `part ${kind}`;
  if (kind !== PART.blockColumn) return `${name} ${number}`;
  return `blocks.${BLOCK_COLUMN_LABELS.get(number) ?? number}`;
}

/** Parts without a checksum of their own. The checksums of their chunks protect them. */
const PLAIN_PARTS: ReadonlySet<number> = new Set([
  PART.keys,
  PART.addressIndex,
  PART.signatureIndex,
]);

/** Reads and decodes all of a segment. Returns one error for each damaged part and row group. */
export function verifySegment(segment: Segment): CodedError[] {
  const faults: CodedError[] = [];
  const attempt = (read: () => unknown) => {
    try {
      read();
    } catch (error) {
      if (!isCodedError(error)) throw error;
      faults.push(error);
    }
  };
  const { groups, parts } = segment.directory;
  groups.forEach((_, number) => {
    attempt(() => segment.readGroup(number));
  });
  for (const { kind, number, entry } of parts) {
    attempt(() =>
      PLAIN_PARTS.has(kind)
        ? segment.readPlain(entry.offset, entry.storedLength, partName(kind, number))
        : segment.readUnit(kind, number),
    );
  }
  return faults;
}
