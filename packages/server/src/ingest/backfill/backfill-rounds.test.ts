/** The rounds of a backfill, with sources and a dataset in memory. */

import { CodedError, isCodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import { toSlot } from '@sluice/ledger/primitives';
import { newCounts } from '@sluice/source/normalize/normalize-counts';
import type { Source } from '@sluice/source/source';
import { expect, test } from 'vitest';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import { hash } from '../../chain/testing/chain-fixtures.ts';
import { AlarmBoard } from '../../dataset/alarm-board.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import { ManualClock, settle } from '../../stream/testing/manual-clock.ts';
import { BlockLoader } from '../follow/block-loader.ts';
import { makeFakeSource, makeHeaders, makeSnapshot, ok, refuse } from '../testing/fake-source.ts';
import { Backfill } from './backfill.ts';
import { type BackfillProgress, BackfillTask } from './backfill-task.ts';

const headers = makeHeaders('a', [0, 1, 2, 4, 5, 6, 7, 9, 10, 11]);
const stored = headers.slice(-3);

interface Setting {
  readonly snapshot?: ChainSnapshot;
  readonly remotes?: readonly Partial<Source>[];
  readonly damaged?: number;
  readonly sealBlockCount?: number;
  readonly patienceMs?: number;
  readonly storesOnStop?: boolean;
}

function start(setting: Setting = {}) {
  const clock = new ManualClock();
  const alarms = new AlarmBoard(clock);
  const segments: number[][] = [];
  const state = { snapshot: setting.snapshot ?? makeSnapshot(stored, stored[1]) };
  const dataset = {
    alarms,
    snapshot: () => state.snapshot,
    readHeaders: async () => expect.unreachable(),
    prependSealed: async (payloads: readonly Uint8Array[], all: readonly BlockHeader[]) => {
      expect(payloads).toHaveLength(all.length);
      segments.push(all.map(({ number }) => number));
    },
  } as unknown as Dataset;
  const asked: string[] = [];
  const sources = (setting.remotes ?? [{}]).map((remote, i) => {
    const block: Source['block'] = async (slot) => {
      asked.push(`${i}:${slot}`);
      return headers.some(({ number }) => number === slot)
        ? ok(new Uint8Array(4))
        : refuse('skipped-hint');
    };
    return makeFakeSource({ clock, name: `s${i}`, headers, remote: { block, ...remote } });
  });
  const faulty = { damaged: setting.damaged };
  const loader = new BlockLoader(async (slot, bytes) => {
    if (slot === faulty.damaged) throw new CodedError('block-not-json', { slot: 5 });
    const header = headers.find(({ number }) => number === slot) as BlockHeader;
    return { header, bytes, counts: newCounts() };
  }, 1);
  const linked: string[] = [];
  const dependencies = {
    dataset,
    loader,
    clock,
    sources: () => sources,
    onBlock: (slot: number, byteLength: number) => linked.push(`${slot}/${byteLength}`),
  };
  const run = (to: number, signal = new AbortController().signal) => {
    const options = {
      to: toSlot(to),
      storesOnStop: setting.storesOnStop ?? true,
      limits: { sealBlockCount: setting.sealBlockCount ?? 100, sealBytes: 1_000 },
      ...(setting.patienceMs === undefined ? {} : { patienceMs: setting.patienceMs }),
    };
    return Backfill.run(options, dependencies, signal).then(
      () => 'done',
      (error: unknown) => (isCodedError(error) ? error : Promise.reject(error)),
    );
  };
  /** Runs while time passes. */
  const finish = async (to: number) => {
    const running = run(to);
    await clock.advance(120_000);
    return running;
  };
  return {
    clock,
    alarms,
    segments,
    sources,
    asked,
    linked,
    dependencies,
    run,
    finish,
    state,
    faulty,
  };
}

test('default: history is linked down to the slot and stored as one segment', async () => {
  const { finish, segments, linked } = start();
  expect(await finish(4)).toBe('done');
  expect(segments).toEqual([[4, 5, 6, 7, 9]]);
  expect(linked).toEqual(['9/4', '7/4', '6/4', '5/4', '4/4']);
});

test('behavior: a slot without a block is reached by the block above it', async () => {
  const { finish, segments } = start();
  expect(await finish(3)).toBe('done');
  expect(segments).toEqual([[4, 5, 6, 7, 9]]);
  const whole = start();
  expect(await whole.finish(0)).toBe('done');
  expect(whole.segments).toEqual([[0, 1, 2, 4, 5, 6, 7, 9]]);
});

test('behavior: a source that refuses a range below its first block is asked for the rest, and its first block is stored', async () => {
  const ranges: number[][] = [];
  const portal: Partial<Source> = {
    firstAvailable: async () => ok(toSlot(5)),
    listSlots: async ({ first, last }) => {
      ranges.push([first, last]);
      if (first < 5) return refuse('pruned');
      return ok(headers.map(({ number }) => number).filter((one) => one >= first && one <= last));
    },
    block: async (slot) => (slot < 5 ? refuse('pruned') : ok(new Uint8Array(4))),
  };
  const crossing = start({ remotes: [portal] });
  expect(await crossing.finish(2)).toMatchObject({
    code: 'backfill-pruned',
    detail: { slot: 4, firstAvailable: 5 },
  });
  expect(crossing.segments).toEqual([[5, 6, 7, 9]]);
  expect(ranges.slice(0, 2)).toEqual([
    [2, 9],
    [5, 9],
  ]);
});

test('behavior: the blocks of a source that sends several at once are requested in runs', async () => {
  const ranges: number[][] = [];
  const byRuns: Partial<Source> = {
    block: async () => expect.unreachable(),
    readBlocks: async ({ first, last }) => {
      ranges.push([first, last]);
      const slots = headers
        .map(({ number }) => number)
        .filter((one) => one >= first && one <= last);
      // The response ends early after three blocks.
      const sent = slots.slice(0, 3).map((slot) => ({ slot, bytes: new Uint8Array(4) }));
      const blocks = (async function* () {
        yield* sent;
      })();
      return ok(
        Object.assign(blocks, { finalized: null, fault: undefined, close: async () => {} }),
      );
    },
  };
  const { finish, segments, linked } = start({ remotes: [byRuns] });
  expect(await finish(2)).toBe('done');
  expect(segments).toEqual([[2, 4, 5, 6, 7, 9]]);
  expect(linked).toEqual(['9/4', '7/4', '6/4', '5/4', '4/4', '2/4']);
  expect(ranges).toEqual([
    [2, 9],
    [6, 9],
  ]);
});

test('behavior: full segments are stored early, each without its lowest block', async () => {
  const { finish, segments } = start({ sealBlockCount: 2 });
  expect(await finish(1)).toBe('done');
  expect(segments).toEqual([[7, 9], [5, 6], [2, 4], [1]]);
});

test('behavior: nothing is loaded if the slot is reached already', async () => {
  const { finish, segments, asked } = start();
  expect(await finish(10)).toBe('done');
  expect([segments, asked]).toEqual([[], []]);
});

test('error: backfill-too-early without a final block, backfill-anchor-unknown without its hash', async () => {
  const early = start({ snapshot: makeSnapshot(stored) });
  expect(await early.finish(4)).toMatchObject({ code: 'backfill-too-early' });
  const none = start({ snapshot: makeSnapshot(stored.slice(0, 1)) });
  expect(await none.finish(4)).toMatchObject({ code: 'backfill-too-early' });
  const known = makeSnapshot(stored, stored[1]);
  const anchor = { number: toSlot(9), hash: null };
  const unknown = start({ snapshot: { ...known, anchor } });
  expect(await unknown.finish(4)).toMatchObject({
    code: 'backfill-anchor-unknown',
    detail: { slot: 10 },
  });
  expect(await start({ snapshot: { ...known, anchor } }).finish(10)).toBe('done');
});

test('error: backfill-interrupted by a stop, which stores the linked blocks only if it may', async () => {
  for (const storesOnStop of [true, false]) {
    const stop = new AbortController();
    const setting = start({ storesOnStop });
    Object.assign(setting.dependencies, {
      onBlock: (slot: number) => {
        if (slot === 6) stop.abort();
      },
    });
    expect(await setting.run(1, stop.signal)).toMatchObject({
      code: 'backfill-interrupted',
      detail: { slot: 6 },
    });
    expect(setting.segments).toEqual(storesOnStop ? [[7, 9]] : []);
  }
});

test('error: backfill-pruned if no source has older blocks, and the lowest block is stored', async () => {
  const pruned = (first: number): Partial<Source> => ({
    block: async (slot) => (slot < first ? refuse('pruned') : ok(new Uint8Array(4))),
    firstAvailable: async () => ok(toSlot(first)),
  });
  const { finish, segments } = start({ remotes: [pruned(6), pruned(5)] });
  expect(await finish(1)).toMatchObject({
    code: 'backfill-pruned',
    detail: { slot: 4, firstAvailable: 5 },
  });
  expect(segments).toEqual([[5, 6, 7, 9]]);
});

test('error: backfill-stuck names the last fault after the patience', async () => {
  const denying = start({
    patienceMs: 5_000,
    remotes: [{ block: async (s) => (s === 6 ? refuse('not-available') : ok(new Uint8Array(4))) }],
  });
  expect(await denying.finish(1)).toMatchObject({
    code: 'backfill-stuck',
    detail: {
      slot: 6,
      fault: 's0: it reports no block at slot 6, which a block names as its parent',
    },
  });
  expect(denying.segments).toEqual([[9]]);
  const failing = start({ remotes: [{ listSlots: () => refuse('outage', 'HTTP 503') }] });
  const begun = failing.run(1);
  await failing.clock.advance(29_000);
  expect(await Promise.race([begun, settle().then(() => 'running')])).toBe('running');
  await failing.clock.advance(20_000);
  expect(await begun).toMatchObject({
    code: 'backfill-stuck',
    detail: { slot: 9, fault: 's0: HTTP 503' },
  });
  const nobody = start({ remotes: [], patienceMs: 1_000 });
  expect(await nobody.finish(1)).toMatchObject({
    detail: { fault: 'no source answers' },
  });
});

test('behavior: a damaged block is a strike, and the next source is asked', async () => {
  const setting = start({ remotes: [{}, {}], damaged: 5 });
  const running = setting.run(4);
  await settle();
  setting.faulty.damaged = undefined;
  await setting.clock.advance(10_000);
  expect(await running).toBe('done');
  expect(setting.sources.map(({ health }) => health.status.failures)).toEqual([1, 0]);
  expect(setting.asked.filter((one) => one.startsWith('1:'))).toEqual(['1:5', '1:4']);
  expect(setting.linked).toEqual(['9/4', '7/4', '6/4', '5/4', '4/4']);
});

test('behavior: an omitted parent is requested in the next round, without a fault', async () => {
  const listSlots: Source['listSlots'] = async ({ first, last }) =>
    ok(headers.map(({ number }) => number).filter((n) => n !== 6 && n >= first && n <= last));
  const { finish, segments, sources } = start({ remotes: [{ listSlots }] });
  expect(await finish(4)).toBe('done');
  expect(segments).toEqual([[4, 5, 6, 7, 9]]);
  expect(sources[0]?.health.status.failures).toBe(0);
});

test('behavior: lists have at most 2,000 slots and end at the slot', async () => {
  const ranges: unknown[] = [];
  const listSlots: Source['listSlots'] = async (range, commitment) => {
    ranges.push([range, commitment]);
    return ok([]);
  };
  const setting = start({ remotes: [{ listSlots }], patienceMs: 0 });
  await setting.finish(2);
  expect(ranges[0]).toEqual([{ first: 2, last: 9 }, 'finalized']);
  const [anchor, first] = makeHeaders('b', [5_000, 5_001]) as [BlockHeader, BlockHeader];
  const high = start({
    snapshot: makeSnapshot([anchor, first], first),
    remotes: [{ listSlots }],
    patienceMs: 0,
  });
  await high.finish(2);
  expect(ranges.at(-1)).toEqual([{ first: 3_001, last: 5_000 }, 'finalized']);
});

test('behavior: the parent hash of the last block is checked before it is stored', async () => {
  const header: Source['header'] = async (slot) =>
    ok({ ...(headers.find(({ number }) => number === slot) as BlockHeader), hash: hash('x') });
  const lying = start({ remotes: [{ header }], patienceMs: 1_000 });
  expect(await lying.finish(5)).toMatchObject({
    code: 'backfill-stuck',
    detail: { fault: 's0: its block at slot 4 is not the parent that slot 5 names' },
  });
  const unknown = start({ remotes: [{ header: () => refuse('pruned') }] });
  expect([await unknown.finish(5), unknown.segments]).toEqual(['done', [[5, 6, 7, 9]]]);
});

function startTask(setting: Setting, to = 4) {
  const started = start(setting);
  const done: BackfillProgress[] = [];
  const { onBlock: _, ...dependencies } = started.dependencies;
  const task = new BackfillTask(toSlot(to), { ...dependencies, onDone: (one) => done.push(one) });
  return { ...started, task, done };
}

test('default: a task reports its progress, and none after its end', async () => {
  const { task, done, clock } = startTask({});
  expect(task.progress).toEqual({
    to: 4,
    slot: null,
    blocks: 0,
    blocks_per_second: 0,
    seconds_left: null,
  });
  const running = task.run(new AbortController().signal);
  await clock.advance(1_000);
  await running;
  expect(task.progress).toBe(null);
  expect(done).toMatchObject([{ to: 4, slot: 4, blocks: 5, seconds_left: 0 }]);
});

test('behavior: the speed and the time left follow from the blocks so far', async () => {
  const waiting: (() => void)[] = [];
  const block: Source['block'] = async () => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return ok(new Uint8Array(4));
  };
  const { task, clock } = startTask({ remotes: [{ block }] }, 1);
  const stop = new AbortController();
  const running = task.run(stop.signal);
  for (let i = 0; i < 3; i++) {
    await settle();
    waiting.shift()?.();
    await settle();
    if (i < 2) await clock.advance(500);
  }
  // Three blocks and three slots in one second, and five slots are left.
  expect(task.progress).toEqual({
    to: 1,
    slot: 6,
    blocks: 3,
    blocks_per_second: 3,
    seconds_left: 2,
  });
  stop.abort();
  waiting.shift()?.();
  await running;
});

test('error: backfill-stalled is raised after a failure, and cleared by the next block', async () => {
  const listSlots = { refused: true };
  const remote: Partial<Source> = {
    listSlots: async ({ first, last }) =>
      listSlots.refused
        ? refuse('outage', 'HTTP 503')
        : ok(headers.map(({ number }) => number).filter((n) => n >= first && n <= last)),
  };
  const { task, alarms, clock, done } = startTask({ remotes: [remote] });
  const running = task.run(new AbortController().signal);
  await clock.advance(45_000);
  expect(alarms.list()).toMatchObject([{ code: 'backfill-stalled' }]);
  listSlots.refused = false;
  await clock.advance(80_000);
  await running;
  expect([alarms.list(), done.length]).toEqual([[], 1]);
});

test('behavior: a new dataset is asked again each second, without an alarm', async () => {
  const { task, alarms, clock, state, done } = startTask({ snapshot: makeSnapshot(stored) });
  const running = task.run(new AbortController().signal);
  await clock.advance(999);
  expect([alarms.list(), done]).toEqual([[], []]);
  state.snapshot = makeSnapshot(stored, stored[1]);
  await clock.advance(1);
  await clock.advance(100);
  await running;
  expect(done).toHaveLength(1);
});

test('behavior: a task that has nothing to load, or is stopped, reports nothing', async () => {
  const reached = startTask({}, 10);
  await reached.task.run(new AbortController().signal);
  expect([reached.done, reached.task.progress]).toEqual([[], null]);
  const stop = new AbortController();
  stop.abort();
  const stopped = startTask({});
  await stopped.task.run(stop.signal);
  expect([stopped.done, stopped.asked, stopped.alarms.list()]).toEqual([[], [], []]);
});
