import { systemClock } from '@sluice/base/clock';
import type { BlockRef } from '@sluice/ledger/block';
import type { BlockHash, Slot } from '@sluice/ledger/primitives';
import type { SourceResult } from '@sluice/source/refusal';
import { expect, test } from 'vitest';
import { ManualClock } from '../../stream/testing/manual-clock.ts';
import { agreedFinalSlot, isConfirmedFinal } from './confirm-finality.ts';
import type { FollowedSource } from './followed-source.ts';

interface Voice {
  readonly finalizedSlot: number;
  /** The hash that it reports as final, or why it reports none. */
  readonly says?: string;
  readonly isHealthy?: boolean;
}

const block: BlockRef = { number: 50 as Slot, hash: 'true' as BlockHash };

function toSource({ finalizedSlot, says = 'true', isHealthy = true }: Voice): FollowedSource {
  const answer: SourceResult<{ hash: string }> = says.startsWith('-')
    ? { kind: 'refused', reason: says === '-skipped' ? 'skipped-hint' : 'outage', cause: says }
    : { kind: 'ok', value: { hash: says } };
  const remote = {
    header: (_slot: number, commitment: string) => {
      expect(commitment).toBe('finalized');
      return says === '-silent' ? new Promise(() => undefined) : Promise.resolve(answer);
    },
  };
  return { finalizedSlot, health: { isHealthy }, remote } as unknown as FollowedSource;
}

test.each<[string, readonly number[], number]>([
  ['that of a single source', [50], 50],
  ['the lower one of two', [60, 50], 50],
  ['the middle one of three, even if one source is far ahead', [1_000_000, 50, 49], 50],
  ['none without sources', [], -1],
])('behavior: the final slot that most sources have reached: %s', (_name, slots, expected) => {
  expect(agreedFinalSlot(slots.map((finalizedSlot) => toSource({ finalizedSlot })))).toBe(expected);
});

test('behavior: a source that is not healthy has no vote on the final slot', () => {
  const voices = [{ finalizedSlot: 50 }, { finalizedSlot: 10, isHealthy: false }];
  expect(agreedFinalSlot(voices.map(toSource))).toBe(50);
});

test.each<[string, readonly Voice[], boolean]>([
  ['the only source has the block', [{ finalizedSlot: 50 }], true],
  [
    'one source has the block, and one has not reached the slot',
    [{ finalizedSlot: 50 }, { finalizedSlot: 49 }],
    true,
  ],
  [
    'one source has the block, and one does not respond',
    [{ finalizedSlot: 50 }, { finalizedSlot: 50, says: '-down' }],
    true,
  ],
  [
    'one source has the block, and one has another block',
    [{ finalizedSlot: 50 }, { finalizedSlot: 50, says: 'false' }],
    false,
  ],
  [
    'one source has the block, and one skipped the slot',
    [{ finalizedSlot: 50 }, { finalizedSlot: 50, says: '-skipped' }],
    false,
  ],
  [
    'two sources have the block, and one has another block',
    [{ finalizedSlot: 50 }, { finalizedSlot: 51 }, { finalizedSlot: 52, says: 'false' }],
    true,
  ],
  ['no source has reached the slot', [{ finalizedSlot: 49 }], false],
])(
  'behavior: F-13 a block is final if most sources that have reached its slot confirm it: %s',
  async (_name, voices, expected) => {
    const { signal } = new AbortController();
    const dependencies = { clock: systemClock, signal };
    expect(await isConfirmedFinal(block, voices.map(toSource), dependencies)).toBe(expected);
  },
);

test('behavior: a source that does not answer within 700 ms has no vote', async () => {
  const clock = new ManualClock();
  const voices = [{ finalizedSlot: 50 }, { finalizedSlot: 50, says: '-silent' }];
  const { signal } = new AbortController();
  let isFinal: boolean | undefined;
  const confirming = isConfirmedFinal(block, voices.map(toSource), { clock, signal }).then(
    (one) => {
      isFinal = one;
    },
  );
  await clock.advance(699);
  expect(isFinal).toBe(undefined);
  await clock.advance(1);
  await confirming;
  expect(isFinal).toBe(true);
});
