import { encodeBase58 } from '../base/base58.ts';
import { discard } from '../base/discard.ts';
import type { BlockHeader } from '../ledger/block.ts';
import type { BlockHash, Slot } from '../ledger/primitives.ts';
import { BLOCK_COLUMN_NAMES, BLOCK_COLUMNS, type BlockColumnName } from './block-columns.ts';
import type { BlockCounts } from './block-counts.ts';
import { COLUMN_NAMES, COLUMNS } from './columns.ts';
import { keyBytes } from './dictionary.ts';
import {
  checkHeader,
  type Directory,
  decodeDirectory,
  decodeFooter,
  footerBytes,
  headerBytes,
} from './directory.ts';
import { ByteColumn, IntColumn, LongColumn } from './growable.ts';
import { decodeKeys } from './key-codes.ts';
import type { GroupRows } from './row-buffer.ts';
import { damaged, decodeUnit, joinIntUnit, joinLongUnit, type UnitEntry } from './unit.ts';

/** Where a segment's bytes come from: memory, or a file read by range. Synchronous, for use in worker threads. */
export interface SegmentBytes {
  readonly length: number;
  read(offset: number, length: number): Uint8Array;
  /** Fills the target, or as much of it as there is; answers how much. */
  readInto(offset: number, target: Uint8Array): number;
}

export function bytesInMemory(bytes: Uint8Array): SegmentBytes {
  const read = (offset: number, length: number) => bytes.subarray(offset, offset + length);
  const readInto = (offset: number, target: Uint8Array) => {
    const found = read(offset, target.length);
    target.set(found);
    return found.length;
  };
  return { length: bytes.length, read, readInto };
}

/** Opens a segment with three range reads: header, footer, directory. The block table is a fourth, when first asked for. */
export function openSegment(bytes: Uint8Array | SegmentBytes): Segment {
  const source = bytes instanceof Uint8Array ? bytesInMemory(bytes) : bytes;
  checkHeader(source.read(0, headerBytes));
  if (source.length < headerBytes + footerBytes) throw damaged('footer', 'it is cut short');
  const footer = decodeFooter(source.read(source.length - footerBytes, footerBytes), source.length);
  const stored = source.read(footer.offset, footer.storedLength);
  return new Segment(source, decodeDirectory(stored, footer, source.length));
}

/** A segment's bytes where reading takes its time: a file, an object in a store. */
export interface RemoteBytes {
  readonly length: number;
  read(offset: number, length: number): Promise<Uint8Array>;
}

/** The headers of a segment's blocks by four range reads: its beginning and end, its directory, its block table. */
export async function readSegmentHeaders(remote: RemoteBytes): Promise<readonly BlockHeader[]> {
  const { length } = remote;
  checkHeader(await remote.read(0, headerBytes));
  if (length < headerBytes + footerBytes) throw damaged('footer', 'it is cut short');
  const footer = decodeFooter(await remote.read(length - footerBytes, footerBytes), length);
  const stored = await remote.read(footer.offset, footer.storedLength);
  const directory = decodeDirectory(stored, footer, length);
  const { start, end } = blockTablePlace(directory);
  const table = await remote.read(start, end - start);
  return new Segment(partInMemory(table, start, length), directory).headers;
}

/** The units of the block table stand together. */
function blockTablePlace({ blockUnits }: Directory): { start: number; end: number } {
  const start = Math.min(...blockUnits.map(({ offset }) => offset));
  return { start, end: Math.max(...blockUnits.map((unit) => unit.offset + unit.storedLength)) };
}

/** A segment of which only one stretch is at hand. */
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
  readonly directory: Directory;
  #headers: readonly BlockHeader[] | undefined;
  #counts: readonly BlockCounts[] | undefined;

  constructor(bytes: SegmentBytes, directory: Directory) {
    this.bytes = bytes;
    this.directory = directory;
  }

  get blockCount(): number {
    return this.directory.blockCount;
  }

  get headers(): readonly BlockHeader[] {
    this.#headers ??= readHeaders(this.#withBlockTable());
    return this.#headers;
  }

  get counts(): readonly BlockCounts[] {
    this.#counts ??= readCounts(this.#withBlockTable());
    return this.#counts;
  }

  /** The same with the whole block table in memory: its fifteen units are read at once. */
  #withBlockTable(): Segment {
    const { start, end } = blockTablePlace(this.directory);
    const table = this.bytes.read(start, end - start);
    return new Segment(partInMemory(table, start, this.bytes.length), this.directory);
  }

  /** All rows of a group as they were appended. What is stored as it is, is not copied. */
  readGroup(number: number): GroupRows {
    const group = this.directory.groups[number];
    if (group === undefined) throw damaged(`group ${number}`, 'the directory does not list it');
    const columns = COLUMN_NAMES.map((name, column) => {
      const entry = group.units[column] as UnitEntry;
      const label = `group ${number}.${name}`;
      const type = COLUMNS[name];
      if (type === 'bytes') return [name, ByteColumn.of(this.#decode(entry, label))];
      if (type === 'long') return [name, LongColumn.of(this.#decodeLongs(entry, label))];
      const values = this.#decodeInts(entry, label);
      const isKeys = name === 'txKeys';
      return [name, IntColumn.of(isKeys ? decodeKeys(values, group.highestBefore) : values)];
    });
    return Object.fromEntries(columns) as GroupRows;
  }

  /** The dictionary page, 32 bytes a key. */
  readDictionaryPage(page: number): Uint8Array {
    return this.#page(this.directory.dictionaryPages[page], `dictionary page ${page}`);
  }

  readPostingsPage(page: number): Uint8Array {
    return this.#page(this.directory.postingsPages[page], `postings page ${page}`);
  }

  readFilter(): { bucketCounts: Uint8Array; fingerprints: Uint8Array } {
    return {
      bucketCounts: this.#page(this.directory.bucketCounts, 'filter.buckets'),
      fingerprints: this.#page(this.directory.fingerprints, 'filter.fingerprints'),
    };
  }

  readIndexIds(): Uint32Array {
    return this.#decodeInts(this.directory.ids, 'index.ids');
  }

  readBlockColumn(name: BlockColumnName): Uint32Array | BigUint64Array | Uint8Array {
    const entry = this.directory.blockUnits[BLOCK_COLUMN_NAMES.indexOf(name)] as UnitEntry;
    const label = `blocks.${name}`;
    const type = BLOCK_COLUMNS[name];
    if (type === 'int') return this.#decodeInts(entry, label);
    if (type === 'long') return this.#decodeLongs(entry, label);
    return this.#decode(entry, label);
  }

  #page(entry: UnitEntry | undefined, name: string): Uint8Array {
    if (entry === undefined) throw damaged(name, 'the directory does not list it');
    return this.#decode(entry, name);
  }

  #decode(entry: UnitEntry, name: string): Uint8Array {
    const stored = this.bytes.read(entry.offset, entry.storedLength);
    const decoded = decodeUnit(stored, entry, name);
    // What a file gave is read; what is a part of memory stays.
    if (decoded !== stored) discard(stored);
    return decoded;
  }

  #decodeInts(entry: UnitEntry, name: string): Uint32Array {
    return joinIntUnit(this.#decode(entry, name), entry);
  }

  #decodeLongs(entry: UnitEntry, name: string): BigUint64Array {
    return joinLongUnit(this.#decode(entry, name), entry);
  }
}

function readHeaders(segment: Segment): BlockHeader[] {
  const longs = (name: BlockColumnName) => segment.readBlockColumn(name) as BigUint64Array;
  const ints = (name: BlockColumnName) => segment.readBlockColumn(name) as Uint32Array;
  const [numbers, distances] = [longs('number'), longs('parentDistance')];
  const [heights, heightNull] = [longs('height'), ints('heightNull')];
  const [times, timeNull] = [longs('timestamp'), ints('timestampNull')];
  const hashes = segment.readBlockColumn('hash') as Uint8Array;
  const parentKinds = ints('parentHashKind');
  const parents = segment.readBlockColumn('parentHash') as Uint8Array;
  let number = 0;
  let parentAt = 0;
  let before = '';
  const text = (bytes: Uint8Array, row: number) =>
    encodeBase58(bytes.subarray(row * keyBytes, (row + 1) * keyBytes));
  return Array.from({ length: segment.blockCount }, (_, row) => {
    number += Number(numbers[row]);
    const hash = text(hashes, row);
    const kind = parentKinds[row];
    const parentHash = kind === 0 ? null : kind === 1 ? before : text(parents, parentAt++);
    before = hash;
    return {
      number: number as Slot,
      hash: hash as BlockHash,
      parentSlot: (number - Number(distances[row])) as Slot,
      parentHash: parentHash as BlockHash | null,
      height: heightNull[row] === 1 ? null : Number(heights[row]),
      timestamp: timeNull[row] === 1 ? null : BigInt.asIntN(64, times[row] as bigint),
    };
  });
}

function readCounts(segment: Segment): BlockCounts[] {
  const ints = (name: BlockColumnName) => segment.readBlockColumn(name) as Uint32Array;
  const columns = {
    transactions: ints('transactions'),
    instructions: ints('instructions'),
    logs: ints('logs'),
    balances: ints('balances'),
    tokenBalances: ints('tokenBalances'),
    rewards: ints('rewards'),
  };
  return Array.from({ length: segment.blockCount }, (_, row) => ({
    transactions: columns.transactions[row] as number,
    instructions: columns.instructions[row] as number,
    logs: columns.logs[row] as number,
    balances: columns.balances[row] as number,
    tokenBalances: columns.tokenBalances[row] as number,
    rewards: columns.rewards[row] as number,
  }));
}
