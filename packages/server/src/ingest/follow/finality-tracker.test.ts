import { toSlot } from '@sluice/ledger/primitives';
import { expect, test } from 'vitest';
import { ref } from '../../chain/testing/chain-fixtures.ts';
import { AlarmBoard } from '../../dataset/alarm-board.ts';
import { ManualClock, settle } from '../../stream/testing/manual-clock.ts';
import { makeFakeSource, makeHeaders, makeSnapshot, ok, refuse } from '../testing/fake-source.ts';
import type { ChainFeeder } from './chain-feeder.ts';
import { FinalityTracker } from './finality-tracker.ts';
import type { FollowedSource } from './followed-source.ts';

const headers = makeHeaders('a', [10, 11, 12, 13]);

function start(sources: (clock: ManualClock) => FollowedSource[], isCommitted = true) {
  const clock = new ManualClock();
  const alarms = new AlarmBoard(clock);
  const commits: unknown[] = [];
  const state = { pending: makeSnapshot(headers) };
  const feeder = {
    get pending() {
      return state.pending;
    },
    commit: async (changes: unknown) => {
      commits.push(changes);
      return { kind: isCommitted ? 'committed' : 'refused' };
    },
  };
  const all = sources(clock);
  const tracker = new FinalityTracker({
    feeder: feeder as unknown as ChainFeeder,
    alarms,
    clock,
    sources: () => all,
  });
  return { clock, alarms, commits, tracker, state, sources: all };
}

const { signal } = new AbortController();
const slotAt = (finalized: number, confirmed: number) => ({
  slot: async (commitment: string) => {
    expect(['finalized', 'confirmed']).toContain(commitment);
    return ok(toSlot(commitment === 'finalized' ? finalized : confirmed));
  },
});

test('default: the newest block up to the finalized slot becomes final', async () => {
  const { tracker, commits, sources } = start((clock) => [
    makeFakeSource({ clock, headers, remote: slotAt(12, 13) }),
  ]);
  await tracker.step(signal);
  expect(commits).toEqual([[{ kind: 'finalize', block: ref('a12') }]]);
  expect([sources[0]?.finalizedSlot, sources[0]?.confirmedSlot]).toEqual([12, 13]);
});

test('behavior: nothing becomes final if the source has another block there', async () => {
  const other = makeHeaders('b', [10, 11, 12, 13]);
  const { tracker, commits } = start((clock) => [
    makeFakeSource({ clock, headers: other, remote: slotAt(12, 13) }),
  ]);
  await tracker.step(signal);
  expect(commits).toEqual([]);
});

test('behavior: a source that is not ready or did not answer is not asked again', async () => {
  let requestCount = 0;
  const silent = {
    slot: () => {
      requestCount++;
      return new Promise<never>(() => undefined);
    },
  };
  const { tracker, clock, commits, sources } = start((time) => [
    makeFakeSource({ clock: time, headers, remote: silent }),
    makeFakeSource({ clock: time, headers, remote: slotAt(11, 13) }),
  ]);
  const step = async () => {
    const stepped = tracker.step(signal);
    await clock.advance(700);
    await stepped;
  };
  await step();
  await step();
  expect(requestCount).toBe(2);
  (sources[1] as FollowedSource).health.fail({ kind: 'refused', reason: 'outage', cause: '' });
  (sources[1] as FollowedSource).remote.slot = async () => expect.unreachable();
  await tracker.step(signal);
  expect(commits).toEqual([]);
});

test('behavior: a refused slot counts against the source and keeps the last one', async () => {
  const { tracker, sources } = start((clock) => [
    makeFakeSource({ clock, headers, remote: { slot: () => refuse('outage') } }),
  ]);
  await tracker.step(signal);
  expect([sources[0]?.finalizedSlot, sources[0]?.confirmedSlot]).toEqual([-1, -1]);
  expect(sources[0]?.health.status.failures).toBe(1);
});

test('error: finality-stalled after a minute without a final block, until one is final', async () => {
  const { tracker, alarms, clock, sources, state } = start((time) => [
    makeFakeSource({ clock: time, headers, remote: slotAt(5, 13) }),
  ]);
  await clock.advance(59_999);
  await tracker.step(signal);
  expect(alarms.list()).toEqual([]);
  await clock.advance(1_501);
  await tracker.step(signal);
  expect(alarms.list()).toMatchObject([
    { code: 'finality-stalled', message: 'no block became final for 61 s' },
  ]);
  Object.assign(sources[0]?.remote ?? {}, slotAt(11, 13));
  await tracker.step(signal);
  expect(alarms.list()).toEqual([]);
  state.pending = makeSnapshot(headers, headers[1]);
  await clock.advance(59_999);
  await tracker.step(signal);
  expect(alarms.list()).toEqual([]);
});

test('behavior: a block that a fork replaced meanwhile is not progress', async () => {
  const { tracker, alarms, clock, sources } = start(
    (time) => [makeFakeSource({ clock: time, headers, remote: slotAt(12, 13) })],
    false,
  );
  await clock.advance(60_000);
  await tracker.step(signal);
  Object.assign(sources[0]?.remote ?? {}, slotAt(5, 13));
  await tracker.step(signal);
  expect(alarms.has('finality-stalled')).toBe(true);
});

test('behavior: a round starts every 800 ms until the stop', async () => {
  let requestCount = 0;
  const { tracker, clock } = start((time) => [
    makeFakeSource({
      clock: time,
      headers,
      remote: {
        slot: async () => {
          requestCount++;
          return ok(toSlot(5));
        },
      },
    }),
  ]);
  const stop = new AbortController();
  const running = tracker.run(stop.signal);
  await settle();
  expect(requestCount).toBe(2);
  await clock.advance(799);
  expect(requestCount).toBe(2);
  await clock.advance(1);
  expect(requestCount).toBe(4);
  stop.abort();
  await running;
  expect(requestCount).toBe(4);
});
