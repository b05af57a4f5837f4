/**
 * Reads segments of format 1, only to convert them. Every column of a row group is one unit, compressed as a whole.
 *
 *   units        columns of row group 0, 1, …; dictionary pages; postings pages; filter and ids; block table
 *   directory    one unit: counts, then an entry per unit
 */
import { elementAt } from '@sluice/base/element-at';
import { CodedError } from '@sluice/base/errors';
import { ByteReader } from '../encoding/byte-stream.ts';
import { ByteColumn, IntColumn, LongColumn } from '../encoding/growable.ts';
import type { PlaneInts } from '../encoding/plane-ints.ts';
import {
  checkEntry,
  damaged,
  decodeInts,
  decodeUnit,
  joinIntUnit,
  joinLongUnit,
  type UnitEntry,
} from '../encoding/unit.ts';
import { BLOCK_COLUMN_NAMES, type BlockColumnName } from '../layout/block-columns.ts';
import type { BlockCounts } from '../layout/block-counts.ts';
import { COLUMN_NAMES, COLUMNS, type ColumnName } from '../layout/columns.ts';
import { keyBytes } from '../layout/dictionary.ts';
import {
  decodeFooter,
  footerBytes,
  formatVersion,
  headerBytes,
  readVersion,
} from '../layout/directory.ts';
import { pageKeyCount } from '../layout/limits.ts';
import type { GroupRows } from '../layout/row-buffer.ts';
import {
  type BlockColumns,
  BlockHeaders,
  type CountColumns,
  countsAt,
  readCounts,
} from '../read/block-table.ts';
import { openSegment } from '../read/open-segment.ts';
import type { RowSegment } from '../write/merge-segments.ts';

/** The caller has checked the version in the header. */
function openSegment1(bytes: Uint8Array): RowSegment {
  if (bytes.length < headerBytes + footerBytes) throw damaged('footer', 'it is truncated');
  const footer = decodeFooter(bytes.subarray(bytes.length - footerBytes), bytes.length);
  const stored = bytes.subarray(footer.offset, footer.offset + footer.storedLength);
  return new Segment1(bytes, decodeDirectory(stored, footer, bytes.length));
}

class Segment1 implements RowSegment, BlockColumns {
  readonly headers: BlockHeaders;
  readonly #counts: CountColumns;
  readonly #bytes: Uint8Array;
  readonly #directory: Directory;

  constructor(bytes: Uint8Array, directory: Directory) {
    this.#bytes = bytes;
    this.#directory = directory;
    this.headers = new BlockHeaders(this);
    this.#counts = readCounts(this);
  }

  countsAt(block: number): BlockCounts {
    return countsAt(this.#counts, block);
  }

  get blockCount(): number {
    return this.#directory.blockCount;
  }

  get addressCount(): number {
    return this.#directory.addressCount;
  }

  get groups(): readonly GroupEntry[] {
    return this.#directory.groups;
  }

  readGroup(number: number): GroupRows {
    const group = elementAt(this.#directory.groups, number);
    const columns = COLUMN_NAMES_1.map((name, i) => {
      const entry = elementAt(group.units, i);
      return [name, this.#readColumn(name, entry, `group ${number}.${name}`, group)];
    });
    const rows = Object.fromEntries(columns) as GroupRows;
    this.#restoreIndexes(rows, group);
    restoreOdd(rows);
    return rows;
  }

  readKeys(first: number, count: number): Uint8Array {
    const keys = new Uint8Array(count * keyBytes);
    for (let id = first; id < first + count; ) {
      const page = Math.floor(id / pageKeyCount);
      const end = Math.min((page + 1) * pageKeyCount, first + count);
      const entry = this.#directory.dictionaryPages[page];
      if (entry === undefined) throw damaged(`dictionary page ${page}`, 'it is not listed');
      const stored = this.#decode(entry, `dictionary page ${page}`);
      const at = (id % pageKeyCount) * keyBytes;
      keys.set(stored.subarray(at, at + (end - id) * keyBytes), (id - first) * keyBytes);
      id = end;
    }
    return keys;
  }

  readBlockInts(name: BlockColumnName): PlaneInts {
    const entry = this.#blockUnit(name);
    const stored = this.#bytes.subarray(entry.offset, entry.offset + entry.storedLength);
    return decodeInts(stored, entry, `blocks.${name}`);
  }

  blockBytesOf(name: BlockColumnName): number {
    return this.#blockUnit(name).rawLength;
  }

  readBlockBytes(name: BlockColumnName): Uint8Array {
    return this.#decode(this.#blockUnit(name), `blocks.${name}`);
  }

  #blockUnit(name: BlockColumnName): UnitEntry {
    return elementAt(this.#directory.blockUnits, BLOCK_COLUMN_NAMES_1.indexOf(name));
  }

  #readColumn(name: ColumnName, entry: UnitEntry, label: string, group: GroupEntry) {
    const bytes = this.#decode(entry, label);
    const { type } = COLUMNS[name];
    if (type === 'bytes') return ByteColumn.of(bytes);
    if (type === 'long') return LongColumn.of(joinLongUnit(bytes, entry));
    const values = joinIntUnit(bytes, entry);
    return IntColumn.of(name === 'txKeys' ? decodeKeys(values, group.highestBefore) : values);
  }

  /** Joining planes discards its input, so it gets a copy of the segment's bytes. */
  #decode(entry: UnitEntry, name: string): Uint8Array {
    const stored = this.#bytes.subarray(entry.offset, entry.offset + entry.storedLength);
    const decoded = decodeUnit(stored, entry, name);
    return decoded === stored ? stored.slice() : decoded;
  }

  /** Format 1 stored indexes of transactions as differences from the previous one in the block. */
  #restoreIndexes({ txIndex }: GroupRows, { firstBlock, blockCount }: GroupEntry): void {
    const { values } = txIndex;
    let row = 0;
    const { transactions } = this.#counts;
    for (let block = firstBlock; block < firstBlock + blockCount; block++) {
      let index = 0;
      for (const end = row + transactions.at(block); row < end; row++) {
        index += values[row] as number;
        values[row] = index;
      }
    }
  }
}

/** Format 1 marked an address that is stored in full with 1 instead of its length. */
function restoreOdd({ insOdd, insDepth }: GroupRows): void {
  const { values } = insOdd;
  const depths = insDepth.values;
  for (let row = 0; row < values.length; row++)
    if (values[row] === 1) values[row] = depths[row] as number;
}

/**
 * Decodes the key lists of format 1. They are relative to the highest dictionary id so far, in this row group or an earlier one: a new
 * address has the even code 2 × (difference - 1), a known one has 2 × id + 1.
 */
function decodeKeys(codes: Uint32Array, highestBefore: number): Uint32Array {
  const ids = new Uint32Array(codes.length);
  let highest = highestBefore;
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] as number;
    if ((code & 1) === 0) {
      highest += code / 2 + 1;
      ids[i] = highest;
    } else {
      ids[i] = code >>> 1;
    }
  }
  return ids;
}

/** Opens a segment of this or an older format, to append its rows to another segment. */
export function openAnySegment(bytes: Uint8Array): RowSegment {
  const version = readVersion(bytes.subarray(0, headerBytes));
  switch (version) {
    case formatVersion:
      return openSegment(bytes);
    case 1:
      return openSegment1(bytes);
    default:
      throw new CodedError('segment-version-unknown', { version, known: formatVersion });
  }
}

/** Returns whether a segment must be converted before queries can read it. */
export function isOlderFormat(header: Uint8Array): boolean {
  return readVersion(header) < formatVersion;
}

/** The columns of format 1 in the order of its directory. Format 2 kept their order and names, and added columns only after them. */
const COLUMN_NAMES_1 = COLUMN_NAMES.slice(0, 68);
const BLOCK_COLUMN_NAMES_1 = BLOCK_COLUMN_NAMES.slice(0, 15);

interface GroupEntry {
  readonly firstBlock: number;
  readonly blockCount: number;
  readonly transactionCount: number;
  /** The highest dictionary id of earlier groups; -1 in the first. */
  readonly highestBefore: number;
  /** By column number. */
  readonly units: readonly UnitEntry[];
}

interface Directory {
  readonly blockCount: number;
  readonly addressCount: number;
  readonly blockUnits: readonly UnitEntry[];
  readonly dictionaryPages: readonly UnitEntry[];
  readonly groups: readonly GroupEntry[];
}

function decodeDirectory(stored: Uint8Array, entry: UnitEntry, fileLength: number): Directory {
  const reader = new ByteReader(decodeUnit(stored, entry, 'directory'), 'directory');
  const readEntry = (name: string) => checkEntry(reader.entry(), fileLength, name);
  const readPages = (count: number, name: string) =>
    reader.many(count, () => readEntry(`${name} page`));
  const blockCount = reader.int();
  reader.int(); // transactions
  const addressCount = reader.int();
  const [dictionaryPageCount, postingsPageCount, groupCount] = [
    reader.int(),
    reader.int(),
    reader.int(),
  ];
  const blockUnits = BLOCK_COLUMN_NAMES_1.map((name) => readEntry(`blocks.${name}`));
  // Indexes are rebuilt: filter buckets, fingerprints and ids.
  readPages(3, 'index');
  const dictionaryPages = readPages(dictionaryPageCount, 'dictionary');
  readPages(postingsPageCount, 'postings');
  const groups = reader.many(groupCount, (): GroupEntry => {
    const [firstBlock, blockCount] = [reader.int(), reader.int()];
    reader.int(); // first transaction
    const [transactionCount, highestBefore] = [reader.int(), reader.int() | 0];
    const units = COLUMN_NAMES_1.map((name) => readEntry(`group.${name}`));
    return { firstBlock, blockCount, transactionCount, highestBefore, units };
  });
  return { blockCount, addressCount, blockUnits, dictionaryPages, groups };
}
