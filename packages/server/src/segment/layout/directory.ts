/**
 * The layout of a segment. docs/segment-format.md has a drawing.
 *
 *   header 16    magic u64 · version u32 · checksum u32
 *   plain part   row groups, keys, indexes: read in pieces, each chunk has a checksum
 *   units        section dictionaries, postings, tables, the chunks' checksums: read whole, each with its own checksum
 *   directory    one unit: counts, the columns of every section, row groups, and the positions of the parts above
 *   footer 40    the position of the directory and the length of the file, with a checksum
 *
 * A reader skips columns, sections and parts with an unknown number. The version changes only if that is not enough.
 */
import { crc32 } from 'node:zlib';
import { CodedError } from '@sluice/base/errors';
import { ByteReader, ByteWriter } from '../encoding/byte-stream.ts';
import {
  checkEntry,
  damaged,
  decodeUnit,
  type EncodedUnit,
  impossibleEntry,
  isPossibleEntry,
  readEntry,
  type UnitEntry,
  unitEntryBytes,
  writeEntry,
} from '../encoding/unit.ts';
import { DOMAINS } from './columns.ts';
import type { GroupEntry } from './group-entry.ts';
import { StoredGroup } from './stored-group.ts';

export const formatVersion = 2;
export const headerBytes = 16;
export const footerBytes = 40;
/** "SLUICESG" */
const magic = Uint8Array.from([0x53, 0x4c, 0x55, 0x49, 0x43, 0x45, 0x53, 0x47]);

/** The parts of a segment besides its row groups. A number is never reused for another part. */
export const PART = {
  /** One per block column, by the column's id. */
  blockColumn: 0,
  /** One per section with a dictionary, by the section's number. */
  sectionDictionary: 1,
  /** All keys, 32 bytes each, by id. */
  keys: 2,
  /** The three arrays of a hash index: blocks, fingerprints, values. */
  addressIndex: 3,
  signatureIndex: 4,
  /** Pages of 4,096 ids. */
  postings: 5,
  /** Columns of the class table, and the lists of its classes. */
  classes: 6,
  /** Columns of the table of mints. */
  mints: 7,
  /** A 32-bit checksum per chunk of the plain part. */
  checksums: 8,
  /** Columns of the table of the busiest accounts. */
  accounts: 9,
} as const;

export interface StoredColumn {
  readonly id: number;
  readonly coding: number;
  readonly domain: number;
  /** The number of the domain whose rows the column counts, plus one; 0 if the column counts no rows. */
  readonly adds: number;
  readonly unit: number;
}

export interface StoredSection {
  readonly isPacked: boolean;
  readonly columns: readonly StoredColumn[];
}

export interface Part {
  readonly kind: number;
  readonly number: number;
  readonly entry: UnitEntry;
}

export interface Directory {
  readonly blockCount: number;
  readonly transactionCount: number;
  readonly addressCount: number;
  readonly signatureCount: number;
  /** The end of the plain part, which the chunks' checksums cover. */
  readonly plainBytes: number;
  readonly sections: readonly StoredSection[];
  readonly groups: readonly GroupEntry[];
  readonly parts: readonly Part[];
}

/** A directory as it is read from a segment. */
export interface StoredDirectory extends Directory {
  readonly groups: readonly StoredGroup[];
}

export function encodeHeader(version = formatVersion): Uint8Array {
  const bytes = new Uint8Array(headerBytes);
  const view = new DataView(bytes.buffer);
  bytes.set(magic);
  view.setUint32(8, version, true);
  view.setUint32(12, crc32(bytes.subarray(0, 12)), true);
  return bytes;
}

function isMagic(bytes: Uint8Array): boolean {
  for (let i = 0; i < magic.length; i++) if (bytes[i] !== magic[i]) return false;
  return true;
}

/** Returns the format version of a segment. Refuses bytes that are not the start of a segment. */
export function readVersion(bytes: Uint8Array): number {
  if (bytes.length < headerBytes || !isMagic(bytes)) {
    throw new CodedError('segment-not-one', {});
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, headerBytes);
  if (view.getUint32(12, true) !== crc32(bytes.subarray(0, 12)))
    throw damaged('header', 'its checksum does not match');
  return view.getUint32(8, true);
}

export function checkHeader(bytes: Uint8Array): void {
  const version = readVersion(bytes);
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
  if (bytes.length !== footerBytes) throw damaged('footer', 'it is truncated');
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
  const writer = new ByteWriter();
  writer.ints(directory.blockCount, directory.transactionCount, directory.addressCount);
  writer.ints(directory.signatureCount);
  writer.long(directory.plainBytes);
  writer.ints(directory.sections.length, directory.groups.length, directory.parts.length);
  for (const { isPacked, columns } of directory.sections) {
    writer.ints(isPacked ? 1 : 0, columns.length);
    for (const { id, coding, domain, adds, unit } of columns)
      writer.ints(id, coding, domain, adds, unit);
  }
  for (const group of directory.groups) writeGroup(writer, group);
  for (const { kind, number, entry } of directory.parts) {
    writer.ints(kind, number);
    writer.entry(entry);
  }
  return writer.bytes;
}

function writeGroup(writer: ByteWriter, group: GroupEntry): void {
  writer.ints(group.firstBlock, group.blockCount, group.firstTransaction);
  writer.ints(group.transactionCount, group.highestBefore, group.pageTransactions);
  writer.ints(...group.totals);
  writer.long(group.pageTable.offset);
  writer.ints(group.pageTable.length);
  for (const { storedLength, rawBytesMax } of group.sections)
    writer.ints(storedLength, rawBytesMax);
}

export function decodeDirectory(
  stored: Uint8Array,
  entry: UnitEntry,
  fileLength: number,
): StoredDirectory {
  const reader = new ByteReader(decodeUnit(stored, entry, 'directory'), 'directory');
  const [blockCount, transactionCount, addressCount] = [reader.int(), reader.int(), reader.int()];
  const signatureCount = reader.int();
  const plainBytes = reader.long();
  const [sectionCount, groupCount, partCount] = [reader.int(), reader.int(), reader.int()];
  const sections = reader.many(sectionCount, readSection);
  const groups = StoredGroup.readAll(reader, groupCount, sectionCount);
  const parts = reader.many(partCount, readPart);
  for (const { kind, number, entry: partEntry } of parts) {
    if (!isPossibleEntry(partEntry, fileLength)) throw impossibleEntry(`part ${kind}.${number}`);
  }
  if (highestEnd(groups) > plainBytes || plainBytes > fileLength)
    throw damaged('directory', 'a row group is outside of the plain part or of the file');
  const counts = { blockCount, transactionCount, addressCount, signatureCount, plainBytes };
  return { ...counts, sections, groups, parts };
}

// These are functions of the module and not closures: docs/decisions/0021-no-closures-per-call-in-hot-code.md explains why.

function highestEnd(groups: readonly StoredGroup[]): number {
  let highest = 0;
  for (const { end } of groups) highest = Math.max(highest, end);
  return highest;
}

function readSection(reader: ByteReader): StoredSection {
  const isPacked = reader.int() === 1;
  return { isPacked, columns: reader.many(reader.int(), readColumn) };
}

function readColumn(reader: ByteReader): StoredColumn {
  const [id, coding, domain] = [reader.int(), reader.int(), reader.int()];
  const [adds, unit] = [reader.int(), reader.int()];
  if (domain >= DOMAINS.length || adds > DOMAINS.length)
    throw damaged('directory', 'a column has rows of an unknown kind');
  return { id, coding, domain, adds, unit };
}

function readPart(reader: ByteReader): Part {
  const [kind, number] = [reader.int(), reader.int()];
  return { kind, number, entry: reader.entry() };
}
