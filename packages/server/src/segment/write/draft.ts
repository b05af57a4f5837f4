/**
 * A draft passes the rows of one block from the thread that made them to the thread that builds segments. It is written
 * once and read once in one process, so it is not compressed and has no checksum. Its columns are copied as they are in memory.
 *
 *   lengths of all sections, in bytes · sections, each at a multiple of 8 bytes
 *   sections of a part: its columns in the order of `COLUMN_NAMES`, then its keys, 32 bytes each
 *
 * A draft has two parts, each with its own tables of keys and texts: the transactions that the kernel has read, and the other transactions
 * with the rewards. `appendDraft` puts the transactions of both in the order of the block.
 */
import { elementAt } from '@sluice/base/element-at';
import { copyBytes } from '@sluice/base/memory/copy-bytes';
import type { TransactionKernel } from '@sluice/kernels/transaction-kernel';
import type { Block, BlockHeader } from '@sluice/ledger/block';
import { addCounts, type BlockCounts } from '../layout/block-counts.ts';
import { COLUMN_NAMES, COLUMNS, type ColumnName } from '../layout/columns.ts';
import { DictionaryBuilder } from '../layout/dictionary.ts';
import { emptyGroupRows } from '../layout/row-buffer.ts';
import type { FilledColumns } from '../layout/row-source.ts';
import { TextTable } from '../layout/text-table.ts';
import { BlockAppender } from './append-block.ts';
import type { SegmentWriter } from './segment-writer.ts';
import { columnsOfKernel, type RowTables, TakenTransactions } from './taken-transactions.ts';

/** Returns memory of at least this many bytes, aligned to 8 and not zeroed. */
export type AllocateDraft = (byteLength: number) => Uint8Array;

type Section = Uint32Array | BigUint64Array | Uint8Array;

const partCount = 2;
const sectionsOfPart = COLUMN_NAMES.length + 1;
const sectionCount = partCount * sectionsOfPart;
const align = (length: number) => (length + 7) & ~7;
const firstSectionAt = align(sectionCount * 4);

/** Encodes a block. The kernel may have some of its transactions. */
export function encodeDraft(
  block: Block,
  kernel: TransactionKernel | undefined,
  allocate: AllocateDraft,
): Uint8Array {
  const sections = [...sectionsOfKernel(kernel), ...sectionsOfRecords(block)];
  const lengths = sections.map(({ byteLength }) => byteLength);
  const byteLength = lengths.reduce((sum, length) => sum + align(length), firstSectionAt);
  const bytes = allocate(byteLength).subarray(0, byteLength);
  new Uint32Array(bytes.buffer, bytes.byteOffset, sectionCount).set(lengths);
  let at = firstSectionAt;
  for (const { buffer, byteOffset, byteLength: length } of sections) {
    copyBytes(bytes, at, new Uint8Array(buffer, byteOffset, length));
    at += align(length);
  }
  return bytes;
}

/** Appends the block of a draft with a header. The bytes are no longer needed afterwards. */
export function appendDraft(writer: SegmentWriter, bytes: Uint8Array, header: BlockHeader): void {
  const [first, second] = [readPart(bytes, 0), readPart(bytes, 1)];
  const taken = new TakenTransactions(first, writer.dictionary);
  const others = new TakenTransactions(second, writer.dictionary);
  const counts: BlockCounts = {
    ...addCounts(taken.counts, others.counts),
    rewards: second.columns.rewKey.values.length,
  };
  writer.appendRows(header, counts, (rows, texts) => {
    for (const other of second.columns.txIndex.values) {
      taken.copyBelow(other, rows, texts);
      others.copyBelow(other + 1, rows, texts);
    }
    taken.copyBelow(Number.POSITIVE_INFINITY, rows, texts);
    others.copyRewards({ rows, texts });
  });
}

const noSections: readonly Section[] = Array.from(
  { length: sectionsOfPart },
  () => new Uint8Array(0),
);

function sectionsOfKernel(kernel: TransactionKernel | undefined): readonly Section[] {
  if (kernel === undefined || kernel.takenCount === 0) return noSections;
  const { lengths, bytes } = kernel.usedTexts();
  const texts = { textLength: { values: lengths }, textBytes: { values: bytes } };
  return sectionsOf({ ...columnsOfKernel(kernel), ...texts }, kernel.keys);
}

function sectionsOfRecords(block: Block): readonly Section[] {
  if (block.transactions.length === 0 && block.rewards.length === 0) return noSections;
  const rows = emptyGroupRows();
  const dictionary = new DictionaryBuilder();
  new BlockAppender(dictionary).append(block, rows, new TextTable(rows));
  return sectionsOf(rows, dictionary.keys);
}

function sectionsOf(columns: FilledColumns, keys: Section): readonly Section[] {
  return [...COLUMN_NAMES.map((name) => columns[name].values), keys];
}

function readPart(bytes: Uint8Array, part: number): RowTables {
  const lengths = new Uint32Array(bytes.buffer, bytes.byteOffset, sectionCount);
  const first = part * sectionsOfPart;
  let at = firstSectionAt;
  for (const length of lengths.subarray(0, first)) at += align(length);
  const entries = COLUMN_NAMES.map((name, i) => {
    const length = elementAt(lengths, first + i);
    const values = viewOf(name, bytes, at, length);
    at += align(length);
    return [name, { values }];
  });
  const columns = Object.fromEntries(entries) as FilledColumns;
  const keyLength = elementAt(lengths, first + COLUMN_NAMES.length);
  const keys = new Uint32Array(bytes.buffer, bytes.byteOffset + at, keyLength / 4);
  return { columns, keys, texts: readTexts(columns) };
}

function viewOf(name: ColumnName, bytes: Uint8Array, at: number, length: number): Section {
  const start = bytes.byteOffset + at;
  const { type } = COLUMNS[name];
  if (type === 'int') return new Uint32Array(bytes.buffer, start, length / 4);
  if (type === 'long') return new BigUint64Array(bytes.buffer, start, length / 8);
  return new Uint8Array(bytes.buffer, start, length);
}

function readTexts({ textLength, textBytes }: FilledColumns): readonly string[] {
  const { buffer, byteOffset, byteLength } = textBytes.values;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  const texts: string[] = [];
  let at = 0;
  for (const length of textLength.values) {
    texts.push(length === 0 ? '' : bytes.toString('utf8', at, at + length));
    at += length;
  }
  return texts;
}
