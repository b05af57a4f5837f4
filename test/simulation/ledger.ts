/** The ledger of a simulation: every block that was ever produced, as a tree, and the branch that the ledger has now. */
import { encodeBase58 } from '@sluice/base/base58';
import type { Random } from '@sluice/base/random';
import type { Block, BlockHeader } from '../../packages/ledger/src/block.ts';
import {
  type Address,
  toAddress,
  toBlockHash,
  toSignature,
  toSlot,
} from '../../packages/ledger/src/primitives.ts';
import { neutralRecord } from '../../packages/ledger/src/testing/stored-fields.ts';
import { buildSegment } from '../../packages/server/src/segment/write/build-segment.ts';
import { startUnixMs } from './scheduler.ts';

export class LedgerBlock {
  readonly block: Block;
  readonly parent: LedgerBlock | null;
  /** The number of blocks below it. */
  readonly depth: number;
  #bytes: Uint8Array | undefined;

  constructor(block: Block, parent: LedgerBlock | null) {
    this.block = block;
    this.parent = parent;
    this.depth = parent === null ? 0 : parent.depth + 1;
  }

  get header(): BlockHeader {
    return this.block.header;
  }

  get slot(): number {
    return this.block.header.number;
  }

  get hash(): string {
    return this.block.header.hash;
  }

  /** Returns a segment of this block alone, in a buffer of its own. */
  segmentBytes(): Uint8Array {
    this.#bytes ??= buildSegment([this.block]);
    return this.#bytes.slice();
  }
}

const accountCount = 24;
const genesisUnix = BigInt(startUnixMs / 1000);

export class Ledger {
  readonly genesisHash: string;
  readonly accounts: readonly Address[];
  readonly #random: Random;
  readonly #byHash = new Map<string, LedgerBlock>();
  /** The current branch, from the first block. */
  readonly chain: LedgerBlock[] = [];
  finalDepth = -1;

  constructor(random: Random) {
    this.#random = random;
    this.genesisHash = this.#randomText(32);
    this.accounts = Array.from({ length: accountCount }, () => toAddress(this.#randomBytes(32)));
  }

  get head(): LedgerBlock {
    return this.chain.at(-1) as LedgerBlock;
  }

  get finalized(): LedgerBlock | undefined {
    return this.chain[this.finalDepth];
  }

  find(hash: string): LedgerBlock | undefined {
    return this.#byHash.get(hash);
  }

  /** Adds a block to the current branch, after this many skipped slots. */
  produce(skipped: number): void {
    this.chain.push(this.#add(this.chain.at(-1) ?? null, skipped));
  }

  /** Returns another history above a block, which is longer than the current branch and not part of it. */
  rewrite(depth: number): LedgerBlock[] {
    const other = this.chain.slice(0, depth + 1);
    while (other.length <= this.chain.length + 2) this.grow(other);
    return other;
  }

  /** Adds a block to a branch that is not the current one. */
  grow(branch: LedgerBlock[]): void {
    branch.push(this.#add(branch.at(-1) ?? null, 0));
  }

  #add(parent: LedgerBlock | null, skipped: number): LedgerBlock {
    const slot = parent === null ? 0 : parent.slot + 1 + skipped;
    const made = new LedgerBlock(this.#makeBlock(slot, parent), parent);
    this.#byHash.set(made.hash, made);
    return made;
  }

  /** Abandons the newest blocks of the current branch, but no finalized one. */
  abandon(count: number): void {
    const kept = Math.max(this.finalDepth + 1, this.chain.length - count, 1);
    this.chain.length = Math.min(this.chain.length, kept);
  }

  /** Finalizes all but the newest blocks. */
  finalize(unfinalizedCount: number): void {
    this.finalDepth = Math.max(this.finalDepth, this.chain.length - 1 - unfinalizedCount);
  }

  /** Returns whether a block is on the branch that ends with another one. */
  isOn(block: LedgerBlock, tip: LedgerBlock): boolean {
    let at: LedgerBlock | null = tip;
    while (at !== null && at.depth > block.depth) {
      if (this.chain[at.depth] === at) return this.chain[block.depth] === block;
      at = at.parent;
    }
    return at === block;
  }

  /** Returns a block with another parent, by slot or by hash, for sources that lie. */
  distort({ block, parent }: LedgerBlock): LedgerBlock {
    const { number, parentSlot } = block.header;
    const header =
      number % 2 === 0 && parentSlot > 0
        ? { ...block.header, parentSlot: toSlot(parentSlot - 1) }
        : { ...block.header, parentHash: toBlockHash(this.#randomText(32)) };
    return new LedgerBlock({ ...block, header }, parent);
  }

  #makeBlock(slot: number, parent: LedgerBlock | null): Block {
    const random = this.#random;
    const header: BlockHeader = {
      number: toSlot(slot),
      hash: toBlockHash(this.#randomText(32)),
      parentSlot: toSlot(parent?.slot ?? 0),
      parentHash: parent === null ? null : parent.header.hash,
      height: parent === null ? 0 : (parent.header.height ?? 0) + 1,
      timestamp: genesisUnix + BigInt(slot),
    };
    const payers = Array.from({ length: random.pick([0, 0, 1, 1, 2]) }, () =>
      random.pick(this.accounts),
    );
    const transactions = payers.map((payer, transactionIndex) => ({
      ...neutralRecord('transaction'),
      transactionIndex,
      accountKeys: [payer, random.pick(this.accounts.filter((account) => account !== payer))],
      numRequiredSignatures: 1,
      signatures: [toSignature(this.#randomBytes(64))],
      fee: 2n ** 63n + BigInt(slot),
    }));
    const instructions = transactions.map(({ transactionIndex, accountKeys }) => ({
      ...neutralRecord('instruction'),
      transactionIndex,
      instructionAddress: [0],
      programId: accountKeys[1] as Address,
      accounts: [accountKeys[0] as Address],
      data: encodeBase58(Uint8Array.of(random.below(4), slot & 0xff)),
      isCommitted: true,
    }));
    const rewards = random.chance(0.3)
      ? [{ ...neutralRecord('reward'), pubKey: random.pick(this.accounts), lamports: -5n }]
      : [];
    const empty = { logs: [], balances: [], tokenBalances: [] };
    return { header, transactions, instructions, ...empty, rewards };
  }

  #randomText(byteCount: number): string {
    return encodeBase58(this.#randomBytes(byteCount));
  }

  #randomBytes(byteCount: number): Uint8Array {
    const bytes = new Uint8Array(byteCount);
    for (let i = 0; i < byteCount; i++) bytes[i] = this.#random.below(256);
    return bytes;
  }
}
