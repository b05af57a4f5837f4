/**
 * How a segment is laid out. docs/segment-format.md draws it.
 *
 *   header 16    magic u64 · version u32 · checksum u32
 *   units        columns of row group 0, 1, …; dictionary pages; postings pages; filter and ids; block table
 *   directory    one unit: counts, then an entry per unit
 *   footer 40    where the directory is, and the file's length, guarded
 */
import { crc32 } from 'node:zlib';
import { CodedError } from '../base/errors.ts';
import { BLOCK_COLUMN_NAMES } from './block-columns.ts';
import { COLUMN_NAMES } from './columns.ts';
import {
  checkEntry,
  damaged,
  decodeUnit,
  type EncodedUnit,
  type UnitEntry,
  unitEntryBytes,
} from './unit.ts';

export const formatVersion = 1;
export const headerBytes = 16;
export const footerBytes = 40;
/** "SLUICESG" */
const magic = Uint8Array.from([0x53, 0x4c, 0x55, 0x49, 0x43, 0x45, 0x53, 0x47]);

export interface GroupEntry {
  readonly firstBlock: number;
  readonly blockCount: number;
  readonly firstTransaction: number;
  readonly transactionCount: number;
  /** The highest dictionary id that earlier groups named; -1 in the first. */
  readonly highestBefore: number;
  /** By column number. */
  readonly units: readonly UnitEntry[];
}

export interface Directory {
  readonly blockCount: number;
  readonly transactionCount: number;
  readonly addressCount: number;
  readonly blockUnits: readonly UnitEntry[];
  readonly bucketCounts: UnitEntry;
  readonly fingerprints: UnitEntry;
  readonly ids: UnitEntry;
  readonly dictionaryPages: readonly UnitEntry[];
  readonly postingsPages: readonly UnitEntry[];
  readonly groups: readonly GroupEntry[];
}

export function encodeHeader(): Uint8Array {
  const bytes = new Uint8Array(headerBytes);
  const view = new DataView(bytes.buffer);
  bytes.set(magic);
  view.setUint32(8, formatVersion, true);
  view.setUint32(12, crc32(bytes.subarray(0, 12)), true);
  return bytes;
}

export function checkHeader(bytes: Uint8Array): void {
  if (bytes.length < headerBytes || !magic.every((byte, i) => bytes[i] === byte)) {
    throw new CodedError('segment-not-one', {});
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, headerBytes);
  if (view.getUint32(12, true) !== crc32(bytes.subarray(0, 12)))
    throw damaged('header', 'its checksum does not match');
  const version = view.getUint32(8, true);
  if (version !== formatVersion) {
    throw new CodedError('segment-version-unknown', { version, known: formatVersion });
  }
}

export function encodeFooter(directory: EncodedUnit, fileLength: number): Uint8Array {
  const bytes = new Uint8Array(footerBytes);
  const view = new DataView(bytes.buffer);
  writeEntry(view, 0, directory);
  view.setBigUint64(unitEntryBytes, BigInt(fileLength), true);
  view.setUint32(unitEntryBytes + 8, crc32(bytes.subarray(0, unitEntryBytes + 8)), true);
  return bytes;
}

export function decodeFooter(bytes: Uint8Array, fileLength: number): UnitEntry {
  if (bytes.length !== footerBytes) throw damaged('footer', 'it is cut short');
  const view = new DataView(bytes.buffer, bytes.byteOffset, footerBytes);
  if (view.getUint32(unitEntryBytes + 8, true) !== crc32(bytes.subarray(0, unitEntryBytes + 8))) {
    throw damaged('footer', 'its checksum does not match');
  }
  if (view.getBigUint64(unitEntryBytes, true) !== BigInt(fileLength)) {
    throw damaged('footer', 'it names another length than the file has');
  }
  return checkEntry(readEntry(view, 0), fileLength, 'directory');
}

export function encodeDirectory(directory: Directory): Uint8Array {
  const unitCount =
    directory.blockUnits.length +
    3 +
    directory.dictionaryPages.length +
    directory.postingsPages.length +
    directory.groups.length * COLUMN_NAMES.length;
  const bytes = new Uint8Array(24 + directory.groups.length * 20 + unitCount * unitEntryBytes);
  const writer = new EntryWriter(bytes);
  writer.ints(directory.blockCount, directory.transactionCount, directory.addressCount);
  writer.ints(
    directory.dictionaryPages.length,
    directory.postingsPages.length,
    directory.groups.length,
  );
  writer.entries(directory.blockUnits);
  writer.entries([directory.bucketCounts, directory.fingerprints, directory.ids]);
  writer.entries(directory.dictionaryPages);
  writer.entries(directory.postingsPages);
  for (const group of directory.groups) {
    writer.ints(group.firstBlock, group.blockCount, group.firstTransaction);
    writer.ints(group.transactionCount, group.highestBefore);
    writer.entries(group.units);
  }
  return bytes;
}

export function decodeDirectory(
  stored: Uint8Array,
  entry: UnitEntry,
  fileLength: number,
): Directory {
  const bytes = decodeUnit(stored, entry, 'directory');
  const reader = new EntryReader(bytes, fileLength);
  const [blockCount, transactionCount, addressCount] = [reader.int(), reader.int(), reader.int()];
  const [dictionaryPageCount, postingsPageCount, groupCount] = [
    reader.int(),
    reader.int(),
    reader.int(),
  ];
  const blockUnits = BLOCK_COLUMN_NAMES.map((name) => reader.entry(`blocks.${name}`));
  const bucketCounts = reader.entry('filter.buckets');
  const fingerprints = reader.entry('filter.fingerprints');
  const ids = reader.entry('index.ids');
  const dictionaryPages = reader.entries(dictionaryPageCount, 'dictionary');
  const postingsPages = reader.entries(postingsPageCount, 'postings');
  const groups = Array.from({ length: groupCount }, (_, number) => readGroup(reader, number));
  const index = { bucketCounts, fingerprints, ids, dictionaryPages, postingsPages };
  return { blockCount, transactionCount, addressCount, blockUnits, ...index, groups };
}

function readGroup(reader: EntryReader, number: number): GroupEntry {
  return {
    firstBlock: reader.int(),
    blockCount: reader.int(),
    firstTransaction: reader.int(),
    transactionCount: reader.int(),
    highestBefore: reader.int(),
    units: COLUMN_NAMES.map((name) => reader.entry(`group ${number}.${name}`)),
  };
}

class EntryWriter {
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#view = new DataView(bytes.buffer);
  }

  ints(...values: number[]): void {
    for (const value of values) {
      this.#view.setInt32(this.#at, value, true);
      this.#at += 4;
    }
  }

  entries(entries: readonly UnitEntry[]): void {
    for (const entry of entries) {
      writeEntry(this.#view, this.#at, entry);
      this.#at += unitEntryBytes;
    }
  }
}

class EntryReader {
  readonly #view: DataView;
  readonly #fileLength: number;
  #at = 0;

  constructor(bytes: Uint8Array, fileLength: number) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    this.#fileLength = fileLength;
  }

  int(): number {
    if (this.#at + 4 > this.#view.byteLength) throw damaged('directory', 'it ends too early');
    this.#at += 4;
    return this.#view.getInt32(this.#at - 4, true);
  }

  entry(name: string): UnitEntry {
    if (this.#at + unitEntryBytes > this.#view.byteLength)
      throw damaged('directory', 'it ends too early');
    this.#at += unitEntryBytes;
    return checkEntry(readEntry(this.#view, this.#at - unitEntryBytes), this.#fileLength, name);
  }

  entries(count: number, name: string): UnitEntry[] {
    return Array.from({ length: count }, (_, number) => this.entry(`${name} page ${number}`));
  }
}

function writeEntry(view: DataView, at: number, entry: UnitEntry): void {
  view.setBigUint64(at, BigInt(entry.offset), true);
  view.setUint32(at + 8, entry.storedLength, true);
  view.setUint32(at + 12, entry.rawLength, true);
  view.setUint32(at + 16, entry.count, true);
  view.setUint32(at + 20, entry.checksum, true);
  view.setUint8(at + 24, entry.codec);
  view.setUint8(at + 25, entry.planes);
}

function readEntry(view: DataView, at: number): UnitEntry {
  return {
    offset: Number(view.getBigUint64(at, true)),
    storedLength: view.getUint32(at + 8, true),
    rawLength: view.getUint32(at + 12, true),
    count: view.getUint32(at + 16, true),
    checksum: view.getUint32(at + 20, true),
    codec: view.getUint8(at + 24),
    planes: view.getUint8(at + 25),
  };
}
