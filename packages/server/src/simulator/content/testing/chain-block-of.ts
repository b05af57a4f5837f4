import { toBlockHash, toSlot } from '../../../ledger/primitives.ts';
import type { ChainBlock } from '../../chain/chain-block.ts';

/** Returns a block of a chain without skipped slots. A branch has its own blocks from slot 0 on. */
export function chainBlockOf(slot: number, branch = 0): ChainBlock {
  return {
    slot: toSlot(slot),
    branch,
    parentSlot: toSlot(Math.max(0, slot - 1)),
    blockhash: toBlockHash('9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin'),
    previousBlockhash: toBlockHash('SysvarC1ock11111111111111111111111111111111'),
    height: slot,
    blockTime: 1_740_000_000 + Math.floor(slot * 0.4),
    parent: () => (slot === 0 ? undefined : chainBlockOf(slot - 1, branch)),
    nextSlot: () => slot + 1,
  };
}
