import { systemClock } from '@sluice/base/clock';
import type { BlockRef } from '@sluice/ledger/block';
import type { BlockHash, Slot } from '@sluice/ledger/primitives';
import { expect, test } from 'vitest';
import { ManualClock, settle } from '../../stream/testing/manual-clock.ts';
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

const { signal } = new AbortController();

test('default: an agreement of one asks nobody', async () => {
  const reporting = { ...makeSource(20, 'other'), remote: { header: () => expect.unreachable() } };
  const sources = [makeSource(20, 'shown'), reporting as unknown as FollowedSource];
  const agreement = new TipAgreement(1, { clock: systemClock, sources: () => sources });
  expect(await agreement.reach(block, sources[0] as FollowedSource, signal)).toBe('reached');
});

/** Waits for an agreement of two with a source that refuses, and counts how often it is asked. */
function wait(options: { isReady?: boolean; stop?: AbortSignal } = {}) {
  const clock = new ManualClock();
  const state = { askCount: 0, hash: undefined as string | undefined };
  const header = async () => {
    state.askCount++;
    return state.hash === undefined
      ? { kind: 'refused' }
      : { kind: 'ok', value: { hash: state.hash } };
  };
  const health = { isHealthy: true, isReady: options.isReady ?? true };
  const other = { finalizedSlot: 20, health, remote: { header } } as unknown as FollowedSource;
  const sources = [makeSource(20, 'shown'), other];
  const agreement = new TipAgreement(2, { clock, sources: () => sources });
  const reached = agreement.reach(block, sources[0] as FollowedSource, options.stop ?? signal);
  return { clock, state, reached };
}

test('behavior: the others are asked every 50 ms until one has the block', async () => {
  const { clock, state, reached } = wait();
  await settle();
  expect(state.askCount).toBe(1);
  await clock.advance(49);
  expect(state.askCount).toBe(1);
  await clock.advance(1);
  expect(state.askCount).toBe(2);
  state.hash = 'shown';
  await clock.advance(50);
  expect([await reached, state.askCount]).toEqual(['reached', 3]);
});

test('limit: the wait ends after 2 s, and with a stop', async () => {
  const { clock, reached } = wait();
  let outcome: string | undefined;
  void reached.then((one) => {
    outcome = one;
  });
  await clock.advance(1_999);
  expect(outcome).toBe(undefined);
  await clock.advance(1);
  expect(outcome).toBe('missing');
  const stop = new AbortController();
  stop.abort();
  expect(await wait({ stop: stop.signal }).reached).toBe('missing');
});

test('behavior: a source that is not ready is not asked, and one other block is not enough', async () => {
  const unready = wait({ isReady: false });
  await unready.clock.advance(2_000);
  expect([await unready.reached, unready.state.askCount]).toEqual(['missing', 0]);
  const differing = wait();
  differing.state.hash = 'other';
  await differing.clock.advance(2_000);
  expect(await differing.reached).toBe('missing');
});

test.each([
  ['three', 'one has the block and one has another', ['shown', 'other'], 'missing'],
  ['two', 'both others refuse', [undefined, undefined], 'missing'],
  ['three', 'both have the block', ['shown', 'shown'], 'reached'],
  ['three', 'one has the block and one is silent', ['shown', 'silent'], 'missing'],
])(
  'behavior: with an agreement of %s sources, if %s, the result is as expected',
  async (count, _, hashes, outcome) => {
    const clock = new ManualClock();
    const others = hashes.map((hash) => {
      const source = makeSource(20, hash ?? '');
      const refused = { kind: 'refused', reason: 'outage' };
      const header = async () => (hash === 'silent' ? new Promise(() => undefined) : refused);
      if (hash === undefined || hash === 'silent') Object.assign(source.remote, { header });
      return source;
    });
    const sources = [makeSource(20, 'shown'), ...others];
    const agreement = new TipAgreement(count === 'two' ? 2 : 3, { clock, sources: () => sources });
    const reached = agreement.reach(block, sources[0] as FollowedSource, signal);
    await clock.advance(5_000);
    expect(await reached).toBe(outcome);
  },
);
