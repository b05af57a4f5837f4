import type { BlockHeader } from './block.ts';

/** What a node reports as the parent hash of slot 0, which has no parent: 32 zero bytes in base58. */
const genesisParentHash = '1'.repeat(32);

/**
 * The parent hash of a block as a client reads it. Slot 0 gets the value that a node reports, because clients of this
 * protocol family require a text there. Elsewhere an unknown hash is null.
 */
export function parentHashOnWire({
  number,
  parentHash,
}: Pick<BlockHeader, 'number' | 'parentHash'>): string | null {
  return number === 0 ? genesisParentHash : parentHash;
}
