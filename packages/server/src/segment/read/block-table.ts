import { elementAt } from '@sluice/base/element-at';
import type { BlockHeader } from '@sluice/ledger/block';
import { type BlockHash, type Slot, toSlot, trustedBlockHash } from '@sluice/ledger/primitives';
import { KeyTexts } from '../encoding/codec.ts';
import type { PlaneInts } from '../encoding/plane-ints.ts';
import { damaged } from '../encoding/unit.ts';
import type { BlockColumnOf } from '../layout/block-columns.ts';
import type { BlockCounts } from '../layout/block-counts.ts';
import { keyBytes } from '../layout/dictionary.ts';

export type IntBlockColumn = BlockColumnOf<'int'> | BlockColumnOf<'long'>;
export type ByteBlockColumn = BlockColumnOf<'bytes'>;

/** The source of the columns of a block table, in any format. */
export interface BlockColumns {
  readonly blockCount: number;
  readBlockInts(name: IntBlockColumn): PlaneInts;
  /** The length of a column of bytes. */
  blockBytesOf(name: ByteBlockColumn): number;
  /** The result is used before the next call. */
  readBlockBytes(name: ByteBlockColumn): Uint8Array;
}

/** The values of `parentHashKind`. Every other value means that the hash is stored. */
const unknownParent = 0;
const previousBlock = 1;

/**
 * The headers of a segment's blocks, by the number of the block in the segment. They are stored in columns, and an object is created for each
 * request: a service has thousands of open segments with hundreds of blocks each.
 */
export class BlockHeaders {
  readonly length: number;
  readonly #numbers: Float64Array;
  readonly #parentDistances: PlaneInts;
  readonly #hashes: KeyTexts;
  readonly #parentKinds: PlaneInts;
  readonly #storedParents: KeyTexts;
  readonly #heights: PlaneInts;
  readonly #heightNull: PlaneInts;
  readonly #timestamps: PlaneInts;
  readonly #timestampNull: PlaneInts;

  constructor(columns: BlockColumns) {
    const { blockCount } = columns;
    const differences = columns.readBlockInts('number');
    // A wrong count is refused before memory for as many blocks is allocated.
    if (differences.length !== blockCount)
      throw damaged('blocks.number', 'it does not have a value for each block');
    this.length = blockCount;
    this.#numbers = differences.sums().subarray(1);
    this.#parentDistances = columns.readBlockInts('parentDistance');
    this.#heights = columns.readBlockInts('height');
    this.#heightNull = columns.readBlockInts('heightNull');
    this.#timestamps = columns.readBlockInts('timestamp');
    this.#timestampNull = columns.readBlockInts('timestampNull');
    this.#hashes = keyTexts(columns, 'hash');
    if (this.#hashes.length !== blockCount)
      throw damaged('blocks.hash', 'it does not have a value for each block');
    this.#parentKinds = columns.readBlockInts('parentHashKind');
    this.#storedParents = keyTexts(columns, 'parentHash');
  }

  /** The memory of the texts that were made. */
  get textBytes(): number {
    return this.#hashes.textBytes + this.#storedParents.textBytes;
  }

  at(block: number): BlockHeader {
    return {
      number: this.numberAt(block),
      hash: this.hashAt(block),
      parentSlot: this.parentSlotAt(block),
      parentHash: this.parentHashAt(block),
      height: this.heightAt(block),
      timestamp: this.timestampAt(block),
    };
  }

  numberAt(block: number): Slot {
    return toSlot(elementAt(this.#numbers, block));
  }

  hashAt(block: number): BlockHash {
    // A kernel encodes 32 bytes each, so the texts need no further check.
    return trustedBlockHash(this.#hashes.at(block));
  }

  parentSlotAt(block: number): Slot {
    return toSlot(this.numberAt(block) - this.#parentDistances.at(block));
  }

  parentHashAt(block: number): BlockHash | null {
    const kind = this.#parentKinds.at(block);
    if (kind === unknownParent) return null;
    if (kind === previousBlock) return block === 0 ? null : this.hashAt(block - 1);
    let stored = 0;
    for (let before = 0; before < block; before++) {
      const other = this.#parentKinds.at(before);
      if (other !== unknownParent && other !== previousBlock) stored++;
    }
    return trustedBlockHash(this.#storedParents.at(stored));
  }

  heightAt(block: number): number | null {
    return this.#heightNull.at(block) === 1 ? null : this.#heights.at(block);
  }

  timestampAt(block: number): bigint | null {
    if (this.#timestampNull.at(block) === 1) return null;
    return BigInt.asIntN(64, this.#timestamps.bigintAt(block));
  }

  toArray(): BlockHeader[] {
    return Array.from({ length: this.length }, (_, block) => this.at(block));
  }

  /** Returns the number of the first block with that slot or a later one. */
  firstAtOrAfter(slot: number): number {
    let low = 0;
    let high = this.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.numberAt(middle) < slot) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function keyTexts(columns: BlockColumns, name: ByteBlockColumn): KeyTexts {
  return new KeyTexts(columns.blockBytesOf(name) / keyBytes, () => columns.readBlockBytes(name));
}

/** The number of records of each kind, by block. */
export type CountColumns = Readonly<Record<keyof BlockCounts, PlaneInts>>;

export function readCounts(columns: BlockColumns): CountColumns {
  return {
    transactions: columns.readBlockInts('transactions'),
    instructions: columns.readBlockInts('instructions'),
    logs: columns.readBlockInts('logs'),
    balances: columns.readBlockInts('balances'),
    tokenBalances: columns.readBlockInts('tokenBalances'),
    rewards: columns.readBlockInts('rewards'),
  };
}

export function countsAt(columns: CountColumns, block: number): BlockCounts {
  return {
    transactions: columns.transactions.at(block),
    instructions: columns.instructions.at(block),
    logs: columns.logs.at(block),
    balances: columns.balances.at(block),
    tokenBalances: columns.tokenBalances.at(block),
    rewards: columns.rewards.at(block),
  };
}
