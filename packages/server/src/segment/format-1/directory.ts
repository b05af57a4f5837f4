/**
 * The directory of format 1: one unit per column and row group, compressed as a whole. Segments of this format are read only to convert
 * them.
 *
 *   units        columns of row group 0, 1, …; dictionary pages; postings pages; filter and ids; block table
 *   directory    one unit: counts, then an entry per unit
 */

import { ByteReader } from '../encoding/byte-stream.ts';
import { checkEntry, decodeUnit, type UnitEntry } from '../encoding/unit.ts';
import { BLOCK_COLUMN_NAMES_1, COLUMN_NAMES_1 } from './columns.ts';

export interface GroupEntry {
  readonly firstBlock: number;
  readonly blockCount: number;
  readonly transactionCount: number;
  /** The highest dictionary id of earlier groups; -1 in the first. */
  readonly highestBefore: number;
  /** By column number. */
  readonly units: readonly UnitEntry[];
}

export interface Directory {
  readonly blockCount: number;
  readonly addressCount: number;
  readonly blockUnits: readonly UnitEntry[];
  readonly dictionaryPages: readonly UnitEntry[];
  readonly groups: readonly GroupEntry[];
}

export function decodeDirectory(
  stored: Uint8Array,
  entry: UnitEntry,
  fileLength: number,
): Directory {
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
