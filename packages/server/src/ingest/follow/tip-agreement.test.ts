import { expect, test } from 'vitest';
import { systemClock } from '../../base/clock.ts';
import type { BlockRef } from '../../ledger/block.ts';
import type { BlockHash, Slot } from '../../ledger/primitives.ts';
import type { FollowedSource } from './followed-source.ts';
import { TipAgreement } from './tip-agreement.ts';

const block: BlockRef = { number: 60 as Slot, hash: 'shown' as BlockHash };

function makeSource(finalizedSlot: number, hash: string): FollowedSource {
  const remote = { header: async () => ({ kind: 'ok', value: { hash } }) };
  const health = { isHealthy: true, isReady: true };
  return { finalizedSlot, health, remote } as unknown as FollowedSource;
}

test.each([
  ['a second source has the block', [20, 20, 20], ['shown', 'shown', 'other'], 'reached'],
  [
    'two sources have another block in the slot',
    [20, 20, 20],
    ['shown', 'other', 'other'],
    'contradicted',
  ],
  ['the slot is final for most sources', [60, 60, 20], ['shown', 'other', 'other'], 'reached'],
  [
    'the slot is final only for the source of the block',
    [99, 20, 20],
    ['shown', 'other', 'other'],
    'contradicted',
  ],
])(
  'behavior: F-13 the outcome of an agreement of two is right if %s',
  async (_name, finalized, hashes, outcome) => {
    const sources = finalized.map((slot, i) => makeSource(slot, hashes[i] as string));
    const agreement = new TipAgreement(2, { clock: systemClock, sources: () => sources });
    const { signal } = new AbortController();
    expect(await agreement.reach(block, sources[0] as FollowedSource, signal)).toBe(outcome);
  },
);
