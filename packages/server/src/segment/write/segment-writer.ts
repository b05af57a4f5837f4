import { assert } from '@sluice/base/assert';
import { decodeBase58 } from '@sluice/base/base58';
import type { TransactionKernel } from '@sluice/kernels/transaction-kernel';
import type { Block, BlockHeader } from '@sluice/ledger/block';
import { entriesOf } from '@sluice/protocol/typed-keys';
import { ChunkChecksums, chunkBytes } from '../encoding/chunk-checksums.ts';
import { IntColumn, LongColumn } from '../encoding/growable.ts';
import {
  type EncodedUnit,
  packedUnits,
  plainEntry,
  plainUnits,
  type UnitEntry,
} from '../encoding/unit.ts';
import { IndexBuilder } from '../indexes/index-builder.ts';
import { BLOCK_COLUMN_NAMES, BLOCK_COLUMNS } from '../layout/block-columns.ts';
import { addCounts, type BlockCounts, countRecords } from '../layout/block-counts.ts';
import { DictionaryBuilder, keyBytes } from '../layout/dictionary.ts';
import {
  encodeDirectory,
  encodeFooter,
  encodeHeader,
  footerBytes,
  PART,
  type Part,
} from '../layout/directory.ts';
import type { GroupEntry } from '../layout/group-entry.ts';
import { GROUP_LIMITS, pageTransactions, SEGMENT_LIMITS } from '../layout/limits.ts';
import { emptyBlockRows, emptyGroupRows, type GroupRows } from '../layout/row-buffer.ts';
import { SECTION_LAYOUT } from '../layout/section-layout.ts';
import { TextTable } from '../layout/text-table.ts';
import { BlockAppender } from './append-block.ts';
import { encodeGroup, noDictionaries, type SectionDictionaries } from './encode-group.ts';
import { TakenTransactions } from './taken-transactions.ts';

/**
 * Writes a segment from start to end. A row group is written as soon as it is full, so memory is limited to one group, the dictionary of
 * addresses and the indexes. Blocks are given as objects, or as rows of segments that are merged.
 */
export class SegmentWriter {
  readonly #write: (bytes: Uint8Array) => void;
  readonly #onStep: () => void;
  readonly #dictionary = new DictionaryBuilder();
  readonly #appender = new BlockAppender(this.#dictionary);
  readonly #index = new IndexBuilder();
  readonly #checksums = new ChunkChecksums();
  readonly #blocks = emptyBlockRows();
  readonly #groups: GroupEntry[] = [];
  readonly #parts: Part[] = [];
  /** Built from the first row group, if more follow. */
  #dictionaries: SectionDictionaries = noDictionaries;
  /** The rows of the open group. Their memory is used again for the next group. */
  #rows: GroupRows = emptyGroupRows();
  #texts = new TextTable(this.#rows);
  #groupFirstBlock = 0;
  #groupFirstTransaction = 0;
  #highestBefore = -1;
  #transactionCount = 0;
  #lastNumber = -1;
  #lastHash = '';
  #offset = 0;

  /** `onStep` is called after each row group and each other part, between which little time passes. */
  constructor(
    write: (bytes: Uint8Array) => void,
    { onStep = () => undefined }: { readonly onStep?: () => void } = {},
  ) {
    this.#write = write;
    this.#onStep = onStep;
    this.#emitPlain(encodeHeader());
  }

  get blockCount(): number {
    return this.#blocks.number.length;
  }

  get byteLength(): number {
    return this.#offset;
  }

  get dictionary(): DictionaryBuilder {
    return this.#dictionary;
  }

  /** Whether the segment has reached one of its limits. It can still be finished, but should get no more blocks. */
  get isFull(): boolean {
    return (
      this.blockCount >= SEGMENT_LIMITS.blockCountMax ||
      this.#dictionary.count >= SEGMENT_LIMITS.addressCountMax ||
      this.#transactionCount >= SEGMENT_LIMITS.transactionCountMax
    );
  }

  append(block: Block): void {
    this.appendRows(block.header, countRecords(block), (rows, texts) =>
      this.#appender.append(block, rows, texts),
    );
  }

  /** Like `append`, for a block with some transactions that only the kernel has. */
  appendWithTaken(block: Block, kernel: TransactionKernel): void {
    const taken = TakenTransactions.ofKernel(kernel, this.#dictionary);
    const counts = addCounts(countRecords(block), taken.counts);
    this.appendRows(block.header, counts, (rows, texts) =>
      this.#appender.append(block, rows, texts, taken),
    );
  }

  /** Adds one block. `fill` appends its rows to the open row group. */
  appendRows(
    header: BlockHeader,
    counts: BlockCounts,
    fill: (rows: GroupRows, texts: TextTable) => void,
  ): void {
    if (this.#groupIsFull()) this.#closeGroup({ isLast: false });
    fill(this.#rows, this.#texts);
    this.#transactionCount += counts.transactions;
    this.#appendHeader(header);
    for (const [kind, count] of entriesOf(counts)) this.#blocks[kind].push(count);
  }

  finish(): void {
    this.#closeGroup({ isLast: true });
    // Keys are read in chunks, so they start at a chunk boundary.
    this.#emitPlain(new Uint8Array(-this.#offset & (chunkBytes - 1)));
    this.#plainPart(PART.keys, 0, this.#dictionary.keys);
    this.#writeIndexes();
    const plainBytes = this.#offset;
    const checksums = this.#checksums.finish();
    this.#dictionaries.forEach((dictionary, section) => {
      if (dictionary.length > 0)
        this.#unitPart(PART.sectionDictionary, section, packedUnits.bytes(dictionary));
    });
    this.#writeTables();
    for (const name of BLOCK_COLUMN_NAMES)
      this.#unitPart(
        PART.blockColumn,
        BLOCK_COLUMNS[name].id,
        this.#encodeColumn(this.#blocks[name]),
      );
    const sums = new Uint8Array(checksums.buffer, 0, checksums.byteLength);
    this.#unitPart(PART.checksums, 0, plainUnits.bytes(sums));
    const directory = encodeDirectory({
      blockCount: this.blockCount,
      transactionCount: this.#transactionCount,
      addressCount: this.#dictionary.count,
      signatureCount: this.#index.signatureCount,
      plainBytes,
      sections: SECTION_LAYOUT,
      groups: this.#groups,
      parts: this.#parts,
    });
    const encoded = packedUnits.bytes(directory);
    const entry = this.#unit(encoded);
    this.#emit(encodeFooter({ ...encoded, ...entry }, this.#offset + footerBytes));
  }

  #writeIndexes(): void {
    const { addresses, signatures } = this.#index.buildHashIndexes(this.#dictionary);
    for (const [kind, index] of [
      [PART.addressIndex, addresses],
      [PART.signatureIndex, signatures],
    ] as const) {
      this.#plainPart(kind, 0, index.blocks);
      this.#plainPart(kind, 1, index.fingerprints);
      this.#plainPart(kind, 2, index.values);
    }
  }

  #writeTables(): void {
    const { postings, classes, mints, accounts } = this.#index.buildTables(this.#dictionary.count);
    const write = (kind: number, columns: readonly (Uint32Array | Uint8Array)[]) =>
      columns.forEach((column, number) => {
        const isBytes = column instanceof Uint8Array;
        const unit = isBytes ? packedUnits.bytes(column) : packedUnits.ints(column);
        this.#unitPart(kind, number, unit);
      });
    write(PART.postings, postings);
    write(PART.classes, classes);
    write(PART.mints, mints);
    write(PART.accounts, accounts);
  }

  #groupIsFull(): boolean {
    return (
      this.#rows.txIndex.length >= GROUP_LIMITS.transactionCountMax ||
      this.#rows.insDepth.length >= GROUP_LIMITS.instructionCountMax ||
      this.blockCount - this.#groupFirstBlock >= GROUP_LIMITS.blockCountMax
    );
  }

  #closeGroup({ isLast }: { isLast: boolean }): void {
    const blockCount = this.blockCount - this.#groupFirstBlock;
    if (blockCount === 0) return;
    const rows = this.#rows;
    this.#index.addGroup(rows, this.#groupFirstTransaction);
    // A segment of one group is small, so a dictionary would take more space than it saves.
    const isTrained = this.#groups.length > 0 || !isLast;
    const encoded = encodeGroup(rows, {
      layout: SECTION_LAYOUT,
      highestBefore: this.#highestBefore,
      pageTransactions: isTrained ? pageTransactions.small : pageTransactions.large,
      dictionaries: isTrained && this.#groups.length === 0 ? 'train' : this.#dictionaries,
    });
    this.#dictionaries = encoded.dictionaries;
    const pageTable = { offset: this.#offset, length: encoded.pageTable.length };
    this.#emitPlain(encoded.pageTable);
    const sections = encoded.sections.map(({ stored, rawBytesMax }) => {
      const offset = this.#offset;
      this.#emitPlain(stored);
      return { offset, storedLength: stored.length, rawBytesMax };
    });
    this.#groups.push({
      firstBlock: this.#groupFirstBlock,
      blockCount,
      firstTransaction: this.#groupFirstTransaction,
      transactionCount: rows.txIndex.length,
      highestBefore: this.#highestBefore,
      pageTransactions: isTrained ? pageTransactions.small : pageTransactions.large,
      totals: encoded.totals,
      pageTable,
      sections,
    });
    this.#highestBefore = highestOf(rows.txKeys.values, this.#highestBefore);
    this.#groupFirstBlock = this.blockCount;
    this.#groupFirstTransaction += rows.txIndex.length;
    // The indexes need memory after the last group, so the memory of its rows is released.
    if (isLast) this.#rows = emptyGroupRows();
    else for (const column of Object.values(rows)) column.clear();
    this.#texts = new TextTable(this.#rows);
    this.#onStep();
  }

  #appendHeader(header: BlockHeader): void {
    const rows = this.#blocks;
    assert(header.number > this.#lastNumber, 'the blocks of a segment ascend by slot');
    rows.number.push(BigInt(header.number - Math.max(0, this.#lastNumber)));
    rows.parentDistance.push(BigInt(header.number - header.parentSlot));
    rows.hash.append(decodeHash(header.hash));
    const { parentHash } = header;
    const kind = parentHash === null ? 0 : parentHash === this.#lastHash ? 1 : 2;
    rows.parentHashKind.push(kind);
    if (parentHash !== null && kind === 2) rows.parentHash.append(decodeHash(parentHash));
    rows.height.push(BigInt(header.height ?? 0));
    rows.heightNull.push(header.height === null ? 1 : 0);
    rows.timestamp.push(BigInt.asUintN(64, header.timestamp ?? 0n));
    rows.timestampNull.push(header.timestamp === null ? 1 : 0);
    this.#lastNumber = header.number;
    this.#lastHash = header.hash;
  }

  #encodeColumn(column: GroupRows[keyof GroupRows]): EncodedUnit {
    if (column instanceof IntColumn || column instanceof LongColumn)
      return packedUnits.ints(column.values);
    return packedUnits.bytes(column.values);
  }

  #plainPart(kind: number, number: number, bytes: Uint8Array): void {
    const entry = plainEntry(this.#offset, bytes.length);
    this.#emitPlain(bytes);
    this.#parts.push({ kind, number, entry });
    this.#onStep();
  }

  #unitPart(kind: number, number: number, unit: EncodedUnit): void {
    this.#parts.push({ kind, number, entry: this.#unit(unit) });
    this.#onStep();
  }

  #unit(encoded: EncodedUnit): UnitEntry {
    const { storedLength, rawLength, count, checksum, codec, planes } = encoded;
    const offset = this.#offset;
    this.#emit(encoded.stored);
    return { offset, storedLength, rawLength, count, checksum, codec, planes };
  }

  #emitPlain(bytes: Uint8Array): void {
    this.#checksums.add(bytes);
    this.#emit(bytes);
  }

  #emit(bytes: Uint8Array): void {
    this.#offset += bytes.length;
    if (bytes.length > 0) this.#write(bytes);
  }
}

/** Returns the highest of the values, or `least` if none is higher. */
function highestOf(values: Uint32Array, least: number): number {
  let highest = least;
  for (const value of values) if (value > highest) highest = value;
  return highest;
}

function decodeHash(text: string): Uint8Array {
  const bytes = decodeBase58(text);
  assert(bytes !== undefined && bytes.length === keyBytes, 'block hashes are base58 of 32 bytes');
  return bytes;
}
