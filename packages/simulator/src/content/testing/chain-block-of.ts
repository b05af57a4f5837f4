import type { ChainBlock } from '../../chain/chain-block.ts';

/** Returns a block of a chain in which only the given slots are skipped. A branch has its own blocks from slot 0 on. */
export function chainBlockOf(
  slot: number,
  branch = 0,
  skipped: readonly number[] = [],
): ChainBlock {
  const parentSlot = findBlock(slot - 1, -1, skipped);
  return {
    slot,
    branch,
    parentSlot: Math.max(0, parentSlot),
    blockhash: '9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin',
    previousBlockhash: 'SysvarC1ock11111111111111111111111111111111',
    height: slot,
    blockTime: 1_740_000_000 + Math.floor(slot * 0.4),
    parent: () => (parentSlot < 0 ? undefined : chainBlockOf(parentSlot, branch, skipped)),
    nextSlot: () => findBlock(slot + 1, 1, skipped),
  };
}

function findBlock(start: number, step: number, skipped: readonly number[]): number {
  let slot = start;
  while (skipped.includes(slot)) slot += step;
  return slot;
}
