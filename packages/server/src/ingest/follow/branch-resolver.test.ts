import { CodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import { toSlot } from '@sluice/ledger/primitives';
import { newCounts } from '@sluice/source/normalize/normalize-counts';
import type { Source } from '@sluice/source/source';
import { expect, test } from 'vitest';
import { ref } from '../../chain/testing/chain-fixtures.ts';
import { AlarmBoard } from '../../dataset/alarm-board.ts';
import { ManualClock } from '../../stream/testing/manual-clock.ts';
import { IngestCounters } from '../ingest-counters.ts';
import type { PreparedBlock } from '../prepare/prepared-block.ts';
import { makeFakeSource, makeHeaders, makeSnapshot, ok, refuse } from '../testing/fake-source.ts';
import type { LoadedBlock } from './block-loader.ts';
import { BranchResolver } from './branch-resolver.ts';
import type { ChainFeeder } from './chain-feeder.ts';
import type { FollowedSource } from './followed-source.ts';
import { SourceJudge } from './source-judge.ts';
import type { Agreement, TipAgreement } from './tip-agreement.ts';

const own = makeHeaders('a', [10, 11, 12, 13]);
const [, , twelve, head] = own as [BlockHeader, BlockHeader, BlockHeader, BlockHeader];
const branch = makeHeaders('b', [13, 14], twelve);
const tip = branch.at(-1) as BlockHeader;
const { signal } = new AbortController();

interface Setting {
  readonly headers?: readonly BlockHeader[];
  readonly remote?: Partial<Source>;
  readonly others?: readonly (readonly BlockHeader[])[];
  readonly agreed?: Agreement;
  readonly loaded?: (headers: BlockHeader[]) => LoadedBlock[];
  readonly commitError?: CodedError;
}

function start(setting: Setting = {}) {
  const clock = new ManualClock();
  const headers = setting.headers ?? [...own.slice(0, 3), ...branch];
  const source = makeFakeSource({ clock, name: 'node', headers, remote: setting.remote ?? {} });
  const others = (setting.others ?? []).map((one, i) =>
    makeFakeSource({ clock, name: `other-${i}`, headers: one }),
  );
  const alarms = new AlarmBoard(clock);
  const counters = new IngestCounters();
  const replaced: unknown[] = [];
  const state = { pending: makeSnapshot(own, own[1]), lastGrownMs: 0 };
  const feeder = {
    get pending() {
      return state.pending;
    },
    get lastGrownMs() {
      return state.lastGrownMs;
    },
    replace: async (ancestor: unknown, blocks: readonly PreparedBlock[]) => {
      replaced.push(
        ancestor,
        blocks.map((block) => block.header.number),
      );
      const error = setting.commitError;
      return error === undefined ? { kind: 'committed' } : { kind: 'refused', error };
    },
  } as unknown as ChainFeeder;
  const load = setting.loaded ?? ((all) => all.map(toLoaded));
  const loader = {
    async *loadAll(_source: unknown, slots: number[], commitment: string) {
      expect(commitment).toBe('confirmed');
      yield* load(
        slots.map((slot) => headers.find(({ number }) => number === slot) as BlockHeader),
      );
    },
  };
  const agreement = { reach: async () => setting.agreed ?? 'reached' } as unknown as TipAgreement;
  const judge = new SourceJudge({ source, feeder, alarms, counters, clock, agreement });
  let grownCount = 0;
  const resolver = new BranchResolver({
    source,
    feeder,
    loader: loader as never,
    counters,
    clock,
    judge,
    sources: () => [source, ...others],
    onGrown: () => {
      grownCount++;
    },
  });
  return {
    clock,
    source,
    others,
    alarms,
    counters,
    replaced,
    state,
    resolver,
    grown: () => grownCount,
    raised: () => alarms.list().map(({ code, message }) => `${code}: ${message}`),
  };
}

function toLoaded(header: BlockHeader): LoadedBlock {
  return { kind: 'loaded', prepared: { header, counts: newCounts() } as PreparedBlock };
}

test('default: a single source decides alone, and the branch replaces our blocks', async () => {
  const { resolver, replaced, counters, grown, source } = start();
  expect(await resolver.resolve(tip, signal)).toBe(true);
  expect(replaced).toEqual([ref('a12'), [13, 14]]);
  expect([counters.toJSON()['blocks'], grown(), source.health.status.state]).toEqual([
    2,
    1,
    'live',
  ]);
});

test('behavior: a gap above our head is filled in steps of 32 blocks, without a vote', async () => {
  const above = makeHeaders(
    'a',
    Array.from({ length: 40 }, (_, i) => 14 + i),
    head,
  );
  const { resolver, replaced } = start({ headers: [...own, ...above], others: [own, own] });
  expect(await resolver.resolve(above.at(-1) as BlockHeader, signal)).toBe(true);
  expect(replaced[0]).toEqual(ref('a13'));
  expect(replaced[1]).toHaveLength(32);
});

test('error: source-disagrees if most sources have our block', async () => {
  const { resolver, replaced, raised } = start({ others: [own, own] });
  expect(await resolver.resolve(tip, signal)).toBe(false);
  expect([replaced, raised()]).toEqual([
    [],
    ['source-disagrees: node: it alone shows another branch from slot 13 on'],
  ]);
});

test('behavior: a branch of most sources is taken', async () => {
  const theirs = [...own.slice(0, 3), ...branch];
  const { resolver, replaced, raised } = start({ others: [theirs, own] });
  expect(await resolver.resolve(tip, signal)).toBe(true);
  expect([replaced.length, raised()]).toEqual([2, []]);
});

test('behavior: on a tie the branch is taken when ours has not grown for 2 s', async () => {
  const { resolver, clock, state, replaced, others } = start({ others: [own] });
  expect(await resolver.resolve(tip, signal)).toBe(false);
  await clock.advance(1_999);
  expect(await resolver.resolve(tip, signal)).toBe(false);
  state.lastGrownMs = 5;
  await clock.advance(1);
  expect(await resolver.resolve(tip, signal)).toBe(false);
  state.lastGrownMs = 0;
  others[0]?.health.responded();
  expect(await resolver.resolve(tip, signal)).toBe(true);
  expect(replaced).toHaveLength(2);
});

test('behavior: without other votes, the branch is taken when it is shown again with a higher tip', async () => {
  const longer = [...branch, ...makeHeaders('b', [15], tip)];
  const { resolver, replaced } = start({
    headers: [...own.slice(0, 3), ...longer],
    others: [own.slice(0, 3)],
  });
  expect(await resolver.resolve(tip, signal)).toBe(false);
  // The same tip again is no progress.
  expect(await resolver.resolve(tip, signal)).toBe(false);
  resolver.reset();
  expect(await resolver.resolve(longer.at(-1) as BlockHeader, signal)).toBe(false);
  resolver.reset();
  expect(await resolver.resolve(tip, signal)).toBe(false);
  expect(await resolver.resolve(longer.at(-1) as BlockHeader, signal)).toBe(true);
  expect(replaced[1]).toEqual([13, 14, 15]);
});

test('behavior: another branch with a higher tip is not the same branch again', async () => {
  const other = makeHeaders('c', [13, 14, 15], twelve);
  const setting = start({ others: [own.slice(0, 3)], loaded: () => other.map(toLoaded) });
  expect(await setting.resolver.resolve(tip, signal)).toBe(false);
  const headers = [...own.slice(0, 3), ...other];
  setting.source.remote.header = makeFakeSource({ clock: setting.clock, headers }).remote.header;
  expect(await setting.resolver.resolve(other.at(-1) as BlockHeader, signal)).toBe(false);
  expect([setting.replaced, setting.raised()]).toEqual([[], []]);
});

test('behavior: a branch with a block that sources call final is taken against the vote', async () => {
  const theirs = [...own.slice(0, 3), ...branch];
  const { resolver, source, others, replaced, raised } = start({ others: [theirs, own, own] });
  for (const one of [source, ...others]) one.finalizedSlot = 13;
  // Two sources have each block, so nothing is confirmed.
  expect(await resolver.resolve(tip, signal)).toBe(false);
  (others[2] as FollowedSource).finalizedSlot = 12;
  expect(await resolver.resolve(tip, signal)).toBe(true);
  expect([replaced.length, raised()]).toEqual([2, []]);
});

test('behavior: nothing is stored while the sources do not agree on the tip', async () => {
  const { resolver, replaced } = start({ agreed: 'missing' });
  expect(await resolver.resolve(tip, signal)).toBe(false);
  expect(replaced).toEqual([]);
});

test('error: a block that cannot be loaded or is not the traced one stops the branch', async () => {
  const damaged = start({
    loaded: ([first]) => [
      toLoaded(first as BlockHeader),
      { kind: 'damaged', slot: undefined, error: new CodedError('block-not-json', { slot: 5 }) },
    ],
  });
  expect(await damaged.resolver.resolve(tip, signal)).toBe(false);
  expect([damaged.replaced, damaged.counters.toJSON()]).toEqual([
    [],
    { 'refused.block-not-json': 1 },
  ]);
  const changed = start({
    loaded: (all) => all.map((one) => toLoaded({ ...one, hash: head.hash })),
  });
  expect(await changed.resolver.resolve(tip, signal)).toBe(false);
  expect([changed.replaced, changed.raised()]).toEqual([[], []]);
});

test('behavior: a branch whose ancestor was replaced meanwhile is dropped', async () => {
  const setting = start({
    loaded: (all) => {
      setting.state.pending = makeSnapshot(makeHeaders('c', [10, 11, 12]));
      return all.map(toLoaded);
    },
  });
  expect(await setting.resolver.resolve(tip, signal)).toBe(false);
  expect(setting.replaced).toEqual([]);
});

test('behavior: a stop while the branch is loaded stores nothing', async () => {
  const stop = new AbortController();
  const { resolver, replaced } = start({
    loaded: (all) => {
      stop.abort();
      return all.map(toLoaded);
    },
  });
  expect(await resolver.resolve(tip, stop.signal)).toBe(false);
  expect(replaced).toEqual([]);
});

test('error: a branch that the chain rejects is a strike', async () => {
  const commitError = new CodedError('chain-ancestor-unknown', { slot: 12, hash: 'x' });
  const longer = [...branch, ...makeHeaders('b', [15], tip)];
  const headers = [...own.slice(0, 3), ...longer];
  const { resolver, raised, grown, counters } = start({ commitError, headers });
  expect(await resolver.resolve(longer.at(-1) as BlockHeader, signal)).toBe(false);
  expect(raised()).toEqual([`chain-ancestor-unknown: node: slot 15: ${commitError.message}`]);
  expect([grown(), counters.toJSON()]).toEqual([0, {}]);
});

test('error: source-contradicts-finality, source-unlinked and source-hole', async () => {
  const deep = makeHeaders('b', [11, 12, 14], own[0]);
  const below = start({ headers: [...own.slice(0, 1), ...deep] });
  expect(await below.resolver.resolve(deep.at(-1) as BlockHeader, signal)).toBe(false);
  expect(below.raised()).toEqual([
    'source-contradicts-finality: node: its branch leaves the chain below the finalized head, at slot 12',
  ]);
  const unlinked = start({ headers: [...own, tip] });
  expect(await unlinked.resolver.resolve(tip, signal)).toBe(false);
  expect(unlinked.raised()).toEqual([
    'source-unlinked: node: its block at slot 14 does not link to its blocks below',
  ]);
  const hole = start({ headers: [...own.slice(0, 3), tip] });
  expect(await hole.resolver.resolve(tip, signal)).toBe(false);
  expect(hole.raised().map((text) => text.split(':')[0])).toEqual(['source-hole']);
  const failed = start({ remote: { listSlots: () => refuse('outage') } });
  expect(await failed.resolver.resolve(tip, signal)).toBe(false);
  expect([failed.raised(), failed.source.health.status.failures]).toEqual([[], 1]);
});

test('behavior: a source is not blamed if our chain changed during the trace', async () => {
  const setting = start({ headers: [...own, tip] });
  const { listSlots } = setting.source.remote;
  setting.source.remote.listSlots = (...given) => {
    setting.state.pending = makeSnapshot(own);
    return listSlots(...given);
  };
  expect(await setting.resolver.resolve(tip, signal)).toBe(false);
  expect(setting.raised()).toEqual([]);
});

test('behavior: the head is checked every 400 ms, and another block there is a branch', async () => {
  const requestedSlots: number[] = [];
  const { resolver, source, clock, replaced } = start();
  const { header } = source.remote;
  source.remote.header = (slot, ...rest) => {
    requestedSlots.push(slot);
    return header(slot, ...rest);
  };
  expect(await resolver.checkHead(signal)).toBe(true);
  expect(replaced).toEqual([ref('a12'), [13]]);
  requestedSlots.length = 0;
  await clock.advance(399);
  expect([await resolver.checkHead(signal), requestedSlots]).toEqual([false, []]);
  await clock.advance(1);
  await resolver.checkHead(signal);
  expect(requestedSlots[0]).toBe(13);
});

test('behavior: a source that has our head resolves an earlier contradiction', async () => {
  const deep = makeHeaders('b', [11, 12, 14], own[0]);
  const { resolver, alarms, source } = start({ headers: [...own.slice(0, 1), ...deep] });
  await resolver.resolve(deep.at(-1) as BlockHeader, signal);
  expect(alarms.has('source-contradicts-finality')).toBe(true);
  source.remote.header = async () => ok(head);
  expect(await resolver.checkHead(signal)).toBe(false);
  expect(alarms.list()).toEqual([]);
});

test.each(['not-available', 'skipped-hint'] as const)(
  'behavior: if our head is %s, the newest block of the source is searched below it',
  async (reason) => {
    const lower = makeHeaders('b', [12], own[1]);
    const headers = [...own.slice(0, 2), ...lower];
    const ranges: unknown[] = [];
    const { resolver, source, replaced } = start({ headers });
    const { header, listSlots } = source.remote;
    source.remote.header = (slot, ...rest) =>
      slot === 13 ? refuse(reason) : header(slot, ...rest);
    source.remote.listSlots = (range, ...rest) => {
      ranges.push(range);
      return listSlots(range, ...rest);
    };
    expect(await resolver.checkHead(signal)).toBe(true);
    expect(ranges[0]).toEqual({ first: 11, last: 13 });
    expect(replaced).toEqual([ref('a11'), [12]]);
  },
);

test('behavior: the newest block of the source may be the only one in the range', async () => {
  const lower = makeHeaders('b', [12], own[1]);
  const { resolver, source, replaced } = start({ headers: [...own.slice(0, 2), ...lower] });
  const { listSlots } = source.remote;
  source.remote.listSlots = async (range, commitment, stop) =>
    range.last === 13 ? ok([toSlot(12)]) : listSlots(range, commitment, stop);
  expect(await resolver.checkHead(signal)).toBe(true);
  expect(replaced).toEqual([ref('a11'), [12]]);
});

test('behavior: a fork is found below any number of skipped slots', async () => {
  const far = [...own.slice(0, 3), ...makeHeaders('a', [300], twelve)];
  const lower = makeHeaders('b', [13], twelve);
  const { resolver, state, replaced } = start({ headers: [...own.slice(0, 3), ...lower] });
  state.pending = makeSnapshot(far, own[1]);
  expect(await resolver.checkHead(signal)).toBe(true);
  expect(replaced).toEqual([ref('a12'), [13]]);
});

test('behavior: an outage, an empty list or a refused header gives no branch', async () => {
  const outage = start({ remote: { header: () => refuse('outage') } });
  expect(await outage.resolver.checkHead(signal)).toBe(false);
  expect(outage.source.health.status.failures).toBe(1);
  for (const listSlots of [async () => ok([]), () => refuse('outage')]) {
    const header = () => refuse('skipped-hint');
    const { resolver } = start({ remote: { header, listSlots } });
    expect(await resolver.checkHead(signal)).toBe(false);
  }
  const denied = start({ remote: { header: () => refuse('not-available') } });
  expect(await denied.resolver.checkHead(signal)).toBe(false);
  expect(denied.replaced).toEqual([]);
  const empty = start();
  empty.state.pending = makeSnapshot(own.slice(0, 1));
  empty.source.remote.header = async () => expect.unreachable();
  expect(await empty.resolver.checkHead(signal)).toBe(false);
});

test('behavior: a conflict of a stream names the branch, or a block of ours to wait at', async () => {
  const { resolver, replaced, clock } = start();
  expect(await resolver.resolveConflict([ref('b13'), ref('b14')], signal)).toBe(true);
  expect(replaced[1]).toEqual([13, 14]);
  let outcome: boolean | undefined;
  const waiting = resolver.resolveConflict([ref('a12')], signal).then((one) => {
    outcome = one;
  });
  await clock.advance(999);
  expect(outcome).toBe(undefined);
  await clock.advance(1);
  await waiting;
  expect([outcome, replaced.length]).toEqual([false, 2]);
  const refused = start({ remote: { header: () => refuse('outage') } });
  expect(await refused.resolver.resolveConflict([ref('b14')], signal)).toBe(false);
  expect(refused.source.health.status.failures).toBe(1);
});
