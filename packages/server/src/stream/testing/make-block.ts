import { createHash } from 'node:crypto';
import { base58 } from '@scure/base';
import type { Block, BlockHeader } from '@sluice/ledger/block';
import type { Address, BlockHash, Slot } from '@sluice/ledger/primitives';

/** The account that matching blocks reward. */
export const MATCH = base58.encode(createHash('sha256').update('match').digest()) as Address;

export function makeHash(branch: string, slot: number): BlockHash {
  const digest = createHash('sha256').update(`${branch}${slot}`).digest();
  return base58.encode(digest) as BlockHash;
}

export interface MakeBlockOptions {
  readonly branch?: string;
  readonly hasMatch?: boolean;
  /** The number of rewards, which determines the size of the block. */
  readonly rewardCount?: number;
}

/** Returns a block with a reward that matches or does not. */
export function makeBlock(
  slot: number,
  parent: BlockHeader | null,
  { branch = 'a', hasMatch = false, rewardCount = 1 }: MakeBlockOptions = {},
): Block {
  const header: BlockHeader = {
    number: slot as Slot,
    hash: makeHash(branch, slot),
    parentSlot: parent?.number ?? (0 as Slot),
    parentHash: parent?.hash ?? null,
    height: heightAbove(parent, slot),
    timestamp: BigInt(1_738_368_000 + slot),
  };
  const other = base58.encode(createHash('sha256').update('other').digest()) as Address;
  return {
    header,
    transactions: [],
    instructions: [],
    logs: [],
    balances: [],
    tokenBalances: [],
    rewards: Array.from({ length: rewardCount }, (_, i) => ({
      pubKey: hasMatch ? MATCH : other,
      lamports: 2n ** 53n + 1n + BigInt(i),
      postBalance: 2n ** 64n - 1n,
      rewardType: 'Fee',
      commission: null,
    })),
  };
}

/** Heights are known if the ledger starts at slot 0. */
function heightAbove(parent: BlockHeader | null, slot: number): number | null {
  if (parent === null) return slot === 0 ? 0 : null;
  return parent.height === null ? null : parent.height + 1;
}
