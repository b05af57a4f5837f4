import type { ChainSnapshot, HotBlock } from '../chain/chain-snapshot.ts';
import type { DatasetLimits } from './dataset-limits.ts';

/** Returns the lowest finalized hot blocks that fill one segment, or none if there are too few. */
export function chooseBlocksToSeal(
  { hot, finalized }: ChainSnapshot,
  { sealBlockCount, sealBytes }: Pick<DatasetLimits, 'sealBlockCount' | 'sealBytes'>,
  lengthOf: (block: HotBlock) => number,
): readonly HotBlock[] {
  if (finalized === null) return [];
  let bytes = 0;
  for (const [i, block] of hot.entries()) {
    if (block.header.number > finalized.number) return [];
    bytes += lengthOf(block);
    if (i + 1 >= sealBlockCount || bytes >= sealBytes) return hot.slice(0, i + 1);
  }
  return [];
}
