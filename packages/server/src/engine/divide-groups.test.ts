import { expect, test } from 'vitest';
import { divideGroups } from './divide-groups.ts';

const groups = [5, 6, 4, 12, 5, 3].map((blockCount) => ({ blockCount }));

test.each([
  ['a group', 1, [0, 1, 2, 3, 4, 5]],
  ['groups until they have enough blocks', 11, [0, 0, 1, 1, 2, 2]],
  ['all groups', Infinity, [0, 0, 0, 0, 0, 0]],
] as const)('behavior: a part is %s', (_what, blocksMin, parts) => {
  expect(divideGroups(groups, blocksMin)).toEqual(parts);
});
