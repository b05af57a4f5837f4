import type { Reward } from '@sluice/ledger/block';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { address, normalize, rawBlock } from '../testing/raw-block.ts';

/** The order of rewards in a block (`ledger/block.ts`). */
function compare(a: Reward, b: Reward): number {
  const key = (r: Reward) => [r.pubKey, r.rewardType ?? ''] as const;
  const [left, right] = [key(a), key(b)];
  for (const i of [0, 1] as const) {
    if (left[i] !== right[i]) return left[i] < right[i] ? -1 : 1;
  }
  if (a.lamports !== b.lamports) return a.lamports < b.lamports ? -1 : 1;
  return a.postBalance < b.postBalance ? -1 : a.postBalance > b.postBalance ? 1 : 0;
}

const keys = Array.from({ length: 200 }, (_, i) => address(i));

function expectSorted(list: readonly (readonly [number, string | null, number, number])[]): void {
  const rewards = list.map(([key, rewardType, lamports, postBalance]) => ({
    pubkey: keys[key],
    rewardType,
    lamports,
    postBalance,
  }));
  const { block } = normalize(rawBlock([], { rewards }));
  expect(block.rewards).toHaveLength(list.length);
  expect([...block.rewards].sort(compare)).toEqual(block.rewards);
  const sum = (values: readonly bigint[]) => values.reduce((total, value) => total + value, 0n);
  expect(sum(block.rewards.map((r) => r.lamports))).toBe(
    sum(list.map(([, , lamports]) => BigInt(lamports))),
  );
}

test('property: any number of rewards is sorted, and none is lost', () => {
  const reward = fc.tuple(
    fc.nat(keys.length - 1),
    fc.constantFrom('Staking', 'Voting', null),
    fc.integer({ min: -3, max: 3 }),
    fc.nat(3),
  );
  fc.assert(
    fc.property(fc.array(reward, { maxLength: 200, size: 'max' }), (list) => {
      expectSorted(list);
    }),
    { numRuns: 100 },
  );
});

test('limit: a hundred thousand rewards of one account in the worst order are sorted quickly', () => {
  expectSorted(Array.from({ length: 100_000 }, (_, i) => [1, null, 100_000 - i, 0] as const));
});
