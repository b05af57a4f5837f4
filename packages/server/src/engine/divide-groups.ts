import type { StoredGroup } from '../segment/layout/stored-group.ts';

/**
 * Divides the row groups of a segment into parts. A part ends with the group with which it has at least `blocksMin` blocks; the last part may have
 * fewer. Returns for each group the number of its part.
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
