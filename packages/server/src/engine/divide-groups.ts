import type { StoredGroup } from '../segment/layout/stored-group.ts';

/**
 * Divides the row groups of a segment into parts: as few consecutive groups as have `blocksMin` blocks, and the rest. Returns the number of the
 * part of each group.
 */
export function divideGroups(
  groups: readonly Pick<StoredGroup, 'blockCount'>[],
  blocksMin: number,
): readonly number[] {
  let part = -1;
  let blockCount = blocksMin;
  return groups.map((group) => {
    if (blockCount >= blocksMin) {
      part++;
      blockCount = 0;
    }
    blockCount += group.blockCount;
    return part;
  });
}
