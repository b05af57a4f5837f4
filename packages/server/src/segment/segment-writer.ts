import { assert } from '../base/assert.ts';
import { decodeBase58 } from '../base/base58.ts';
import type { TransactionKernel } from '../kernels/transaction-kernel.ts';
import type { Block, BlockHeader } from '../ledger/block.ts';
import { buildAddressIndex, PostingsBuilder } from './address-index.ts';
import { BlockAppender } from './append-block.ts';
import { BLOCK_COLUMN_NAMES } from './block-columns.ts';
import { addCounts, type BlockCounts, countRecords } from './block-counts.ts';
import { COLUMN_NAMES } from './columns.ts';
import { DictionaryBuilder, keyBytes } from './dictionary.ts';
import {
  type Directory,
  encodeDirectory,
  encodeFooter,
  encodeHeader,
  footerBytes,
  type GroupEntry,
} from './directory.ts';
import { IntColumn, LongColumn } from './growable.ts';
import { encodeKeys } from './key-codes.ts';
import { GROUP_LIMITS, pageKeyCount, SEGMENT_LIMITS } from './limits.ts';
import { emptyBlockRows, emptyGroupRows, type GroupRows } from './row-buffer.ts';
import { TakenTransactions } from './taken-transactions.ts';
import { TextTable } from './text-table.ts';
import {
  type EncodedUnit,
  emptyUnit,
  packedUnits,
  plainUnits,
  type UnitEncoder,
  type UnitEntry,
} from './unit.ts';

export interface SegmentWriterOptions {
  /** A draft is only ever merged, soon: it is not compressed, and nothing is looked up in it. */
  readonly isDraft: boolean;
}

/**
 * Writes a segment front to back: a row group goes out as soon as it is full, so memory is bounded by one group, the
 * dictionary and the index. Blocks come as objects, or as rows from segments that are merged.
 */
export class SegmentWriter {
  readonly #write: (bytes: Uint8Array) => void;
  readonly #isDraft: boolean;
  readonly #encode: UnitEncoder;
  readonly #dictionary = new DictionaryBuilder();
  readonly #appender = new BlockAppender(this.#dictionary);
  readonly #postings = new PostingsBuilder();
  readonly #blocks = emptyBlockRows();
  readonly #groups: GroupEntry[] = [];
  #rows: GroupRows = emptyGroupRows();
  #texts = new TextTable(this.#rows);
  #groupFirstBlock = 0;
  #groupFirstTransaction = 0;
  #highestBefore = -1;
  #transactionCount = 0;
  #lastNumber = -1;
  #lastHash = '';
  #offset = 0;

  constructor(
    write: (bytes: Uint8Array) => void,
    { isDraft }: SegmentWriterOptions = { isDraft: false },
  ) {
    this.#write = write;
    this.#isDraft = isDraft;
    this.#encode = isDraft ? plainUnits : packedUnits;
    this.#emit(encodeHeader());
  }

  get blockCount(): number {
    return this.#blocks.number.length;
  }

  /** How much was written so far. */
  get byteLength(): number {
    return this.#offset;
  }

  get dictionary(): DictionaryBuilder {
    return this.#dictionary;
  }

  /** Whether the segment has reached one of its bounds; it can still be finished, but should take no more. */
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

  /** As `append`, of a block some of whose transactions are in the kernel instead of among its records. */
  appendWithTaken(block: Block, kernel: TransactionKernel): void {
    const taken = TakenTransactions.ofKernel(kernel, this.#dictionary);
    const counts = addCounts(countRecords(block), taken.counts);
    this.appendRows(block.header, counts, (rows, texts) =>
      this.#appender.append(block, rows, texts, taken),
    );
  }

  /** Takes one block whose rows `fill` appends to the open row group. */
  appendRows(
    header: BlockHeader,
    counts: BlockCounts,
    fill: (rows: GroupRows, texts: TextTable) => void,
  ): void {
    if (this.#groupIsFull()) this.#closeGroup();
    fill(this.#rows, this.#texts);
    this.#transactionCount += counts.transactions;
    this.#appendHeader(header);
    for (const [kind, count] of Object.entries(counts))
      this.#blocks[kind as keyof BlockCounts].push(count);
  }

  finish(): void {
    this.#closeGroup();
    const { keys, count: addressCount } = this.#dictionary;
    const dictionaryPages = pagesOf(keys).map((page) => this.#unit(this.#encode.bytes(page)));
    const directory = {
      blockCount: this.blockCount,
      transactionCount: this.#transactionCount,
      addressCount,
      ...(this.#isDraft ? noIndex : this.#writeIndex(keys, addressCount)),
      blockUnits: BLOCK_COLUMN_NAMES.map((name) =>
        this.#unit(this.#encodeColumn(this.#blocks[name])),
      ),
      dictionaryPages,
      groups: this.#groups,
    };
    const encoded = this.#encode.bytes(encodeDirectory(directory));
    const entry = this.#unit(encoded);
    this.#emit(encodeFooter({ ...encoded, ...entry }, this.#offset + footerBytes));
  }

  #writeIndex(
    keys: Uint8Array,
    addressCount: number,
  ): Pick<Directory, 'postingsPages' | 'bucketCounts' | 'fingerprints' | 'ids'> {
    const postingsPages = this.#postings
      .pages(addressCount)
      .map((page) => this.#unit(this.#encode.bytes(page)));
    const index = buildAddressIndex(keys, addressCount);
    return {
      postingsPages,
      bucketCounts: this.#unit(this.#encode.bytes(index.bucketCounts)),
      fingerprints: this.#unit(this.#encode.bytes(index.fingerprints)),
      ids: this.#unit(this.#encode.ints(index.ids)),
    };
  }

  #groupIsFull(): boolean {
    return (
      this.#rows.txIndex.length >= GROUP_LIMITS.transactionCountMax ||
      this.#rows.insDepth.length >= GROUP_LIMITS.instructionCountMax ||
      this.blockCount - this.#groupFirstBlock >= GROUP_LIMITS.blockCountMax
    );
  }

  #closeGroup(): void {
    const blockCount = this.blockCount - this.#groupFirstBlock;
    if (blockCount === 0) return;
    const rows = this.#rows;
    const ids = rows.txKeys.values;
    if (!this.#isDraft) this.#indexTransactions(rows, ids);
    const keyCodes = encodeKeys(ids, this.#highestBefore);
    const units = COLUMN_NAMES.map((name) =>
      this.#unit(name === 'txKeys' ? this.#encode.ints(keyCodes) : this.#encodeColumn(rows[name])),
    );
    this.#groups.push({
      firstBlock: this.#groupFirstBlock,
      blockCount,
      firstTransaction: this.#groupFirstTransaction,
      transactionCount: rows.txIndex.length,
      highestBefore: this.#highestBefore,
      units,
    });
    for (const id of ids) if (id > this.#highestBefore) this.#highestBefore = id;
    this.#groupFirstBlock = this.blockCount;
    this.#groupFirstTransaction += rows.txIndex.length;
    this.#rows = emptyGroupRows();
    this.#texts = new TextTable(this.#rows);
  }

  #indexTransactions(rows: GroupRows, ids: Uint32Array): void {
    let at = 0;
    for (let row = 0; row < rows.txIndex.length; row++) {
      const count =
        (rows.txStaticCount.values[row] as number) +
        (rows.txWritableCount.values[row] as number) +
        (rows.txReadonlyCount.values[row] as number) +
        (rows.txOtherCount.values[row] as number);
      this.#postings.add(this.#groupFirstTransaction + row, ids.subarray(at, at + count));
      at += count;
    }
  }

  #appendHeader(header: BlockHeader): void {
    const rows = this.#blocks;
    assert(header.number > this.#lastNumber, 'the blocks of a segment ascend by slot');
    rows.number.push(BigInt(header.number - Math.max(0, this.#lastNumber)));
    rows.parentDistance.push(BigInt(header.number - header.parentSlot));
    rows.hash.append(decodeHash(header.hash));
    const kind = header.parentHash === null ? 0 : header.parentHash === this.#lastHash ? 1 : 2;
    rows.parentHashKind.push(kind);
    if (kind === 2) rows.parentHash.append(decodeHash(header.parentHash as string));
    rows.height.push(BigInt(header.height ?? 0));
    rows.heightNull.push(header.height === null ? 1 : 0);
    rows.timestamp.push(BigInt.asUintN(64, header.timestamp ?? 0n));
    rows.timestampNull.push(header.timestamp === null ? 1 : 0);
    this.#lastNumber = header.number;
    this.#lastHash = header.hash;
  }

  #encodeColumn(column: GroupRows[keyof GroupRows]): EncodedUnit {
    if (column instanceof IntColumn || column instanceof LongColumn)
      return this.#encode.ints(column.values);
    return this.#encode.bytes(column.values);
  }

  #unit(encoded: EncodedUnit): UnitEntry {
    const { storedLength, rawLength, count, checksum, codec, planes } = encoded;
    const placed = {
      offset: this.#offset,
      storedLength,
      rawLength,
      count,
      checksum,
      codec,
      planes,
    };
    this.#emit(encoded.stored);
    return placed;
  }

  #emit(bytes: Uint8Array): void {
    this.#offset += bytes.length;
    if (bytes.length > 0) this.#write(bytes);
  }
}

const noIndex = {
  postingsPages: [],
  bucketCounts: emptyUnit,
  fingerprints: emptyUnit,
  ids: emptyUnit,
} as const;

function pagesOf(keys: Uint8Array): Uint8Array[] {
  const bytes = pageKeyCount * keyBytes;
  return Array.from({ length: Math.ceil(keys.length / bytes) }, (_, page) =>
    keys.subarray(page * bytes, (page + 1) * bytes),
  );
}

function decodeHash(text: string): Uint8Array {
  const bytes = decodeBase58(text);
  assert(bytes !== undefined && bytes.length === keyBytes, 'block hashes are base58 of 32 bytes');
  return bytes;
}
