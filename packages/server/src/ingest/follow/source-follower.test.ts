import { CodedError } from '@sluice/base/errors';
import type { BlockHeader, BlockRef } from '@sluice/ledger/block';
import { type Slot, toSlot } from '@sluice/ledger/primitives';
import { newCounts } from '@sluice/source/normalize/normalize-counts';
import { refusal } from '@sluice/source/refusal';
import type { Source, SourceFeed } from '@sluice/source/source';
import { expect, test } from 'vitest';
import { applyChanges } from '../../chain/apply-changes.ts';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import { headLinkPoint } from '../../chain/link-block.ts';
import { hash, ref } from '../../chain/testing/chain-fixtures.ts';
import { AlarmBoard } from '../../dataset/alarm-board.ts';
import { ManualClock } from '../../stream/testing/manual-clock.ts';
import { IngestCounters } from '../ingest-counters.ts';
import type { PreparedBlock } from '../prepare/prepared-block.ts';
import { makeFakeSource, makeHeaders, makeSnapshot, ok, refuse } from '../testing/fake-source.ts';
import { BlockLoader } from './block-loader.ts';
import { type ChainFeeder, linkBlock } from './chain-feeder.ts';
import type { FollowedSource } from './followed-source.ts';
import { SourceFollower } from './source-follower.ts';
import { TipAgreement } from './tip-agreement.ts';

const own = makeHeaders('a', [10, 11]);
const head = own[1] as BlockHeader;
const above = makeHeaders('a', [12, 13, 15], head);
const { signal } = new AbortController();

interface Setting {
  readonly headers?: readonly BlockHeader[];
  readonly remote?: Partial<Source>;
  readonly notices?: { readonly highest: number };
  readonly isLeader?: boolean;
  /** Another source, which is then the leader unless this one is. */
  readonly other?: FollowedSource;
  readonly isFit?: boolean;
  readonly damaged?: number;
  readonly snapshot?: ChainSnapshot;
}

function start(setting: Setting = {}) {
  const clock = new ManualClock();
  const headers = setting.headers ?? [...own, ...above];
  const asked: unknown[] = [];
  const source = makeFakeSource({
    clock,
    name: 'node',
    headers,
    notices: setting.notices ?? {},
    remote: {
      block: async (slot, commitment) => {
        asked.push([toSlot(slot), commitment]);
        expect(['confirmed', 'finalized']).toContain(commitment);
        return headers.some(({ number }) => number === slot)
          ? ok(new Uint8Array(1))
          : refusal('not-available', 'code');
      },
      ...setting.remote,
    },
  });
  const ranges: unknown[] = [];
  const { listSlots } = source.remote;
  source.remote.listSlots = (range, commitment, stop) => {
    ranges.push([range.first, range.last, commitment]);
    return listSlots(range, commitment, stop);
  };
  const state = {
    pending: setting.snapshot ?? makeSnapshot(own),
    leader: setting.isLeader ?? true,
  };
  const feeder = {
    get pending() {
      return state.pending;
    },
    lastGrownMs: 0,
    linkToHead: (block: PreparedBlock) => linkBlock(headLinkPoint(state.pending), block),
    extend: async ({ header }: PreparedBlock) => {
      const blocks = [{ header, payload: header.number as number }];
      state.pending = applyChanges(state.pending, [{ kind: 'extend', blocks }]);
      return { kind: 'committed' };
    },
    replace: async (ancestor: BlockRef, branch: readonly PreparedBlock[]) => {
      const blocks = branch.map(({ header }) => ({ header, payload: header.number as number }));
      state.pending = applyChanges(state.pending, [{ kind: 'replace', ancestor, blocks }]);
      return { kind: 'committed' };
    },
  } as unknown as ChainFeeder;
  const prepare = async (slot: Slot) => {
    if (slot === setting.damaged) throw new CodedError('block-not-json', { slot });
    const header = headers.find(({ number }) => number === slot);
    return { header, counts: newCounts(), bytes: new Uint8Array(1) } as PreparedBlock;
  };
  const alarms = new AlarmBoard(clock);
  let takenCount = 0;
  const follower = new SourceFollower({
    source,
    feeder,
    loader: new BlockLoader(prepare),
    alarms,
    counters: new IngestCounters(),
    clock,
    sources: () => (setting.other === undefined ? [source] : [source, setting.other]),
    lead: {
      isHeldBy: (one) => (one === source ? state.leader : !state.leader),
      take: () => {
        takenCount++;
      },
    },
    agreement: new TipAgreement(1, { clock, sources: () => [source] }),
    isFit: () => setting.isFit ?? true,
  });
  return {
    clock,
    source,
    alarms,
    asked,
    ranges,
    state,
    follower,
    step: () => follower.step(signal),
    head: () => state.pending.head?.number,
    taken: () => takenCount,
  };
}

test('default: at the head the next block is loaded directly', async () => {
  const { step, head: at, asked, ranges, alarms } = start();
  alarms.raise('source-unlinked', 'before');
  expect([await step(), at()]).toEqual([true, 12]);
  expect([asked, ranges]).toEqual([[[12, 'confirmed']], [[12, 75, 'confirmed']]]);
  expect(alarms.list()).toEqual([]);
});

test('behavior: if the next slot has no block, the listed ones are loaded', async () => {
  const later = makeHeaders('a', [13, 15], head);
  const { step, head: at } = start({ headers: [...own, ...later] });
  expect([await step(), at()]).toEqual([true, 15]);
});

test('error: a damaged block at the head is requested once', async () => {
  const { step, head: at, asked, alarms, source } = start({ damaged: 12 });
  expect([await step(), at(), asked]).toEqual([false, 11, [[12, 'confirmed']]]);
  expect(alarms.has('block-not-json')).toBe(true);
  expect(source.health.status.strikes).toBe(1);
});

test('limit: at most 32 listed blocks are loaded at the head', async () => {
  const slots = Array.from({ length: 40 }, (_, i) => 13 + i);
  const { step, head: at } = start({ headers: [...own, ...makeHeaders('a', slots, head)] });
  expect([await step(), at()]).toEqual([true, 44]);
});

test('behavior: the list reaches to the newest slot that the source has reported', async () => {
  const reported = start({ notices: { highest: 100 } });
  await reported.step();
  expect(reported.ranges[0]).toEqual([12, 163, 'confirmed']);
  const confirmed = start();
  confirmed.source.confirmedSlot = 200;
  await confirmed.step();
  expect(confirmed.ranges[0]).toEqual([12, 263, 'confirmed']);
  const far = start({ notices: { highest: 9_000_000 } });
  await far.step();
  expect(far.ranges[0]).toEqual([12, 500_011, 'confirmed']);
});

test('behavior: without a new block the head is checked, and the list may fail', async () => {
  const checked: number[] = [];
  const still = start({ headers: own });
  const { header } = still.source.remote;
  still.source.remote.header = (slot, ...rest) => {
    checked.push(slot);
    return header(slot, ...rest);
  };
  expect([await still.step(), checked]).toEqual([false, [11]]);
  const failed = start({ headers: own, remote: { listSlots: () => refuse('outage') } });
  expect(await failed.step()).toBe(false);
  expect(failed.source.health.status.failures).toBe(1);
});

test('behavior: far behind, finalized blocks are loaded as history', async () => {
  const near = start();
  near.source.finalizedSlot = 16;
  await near.step();
  expect(near.ranges[0]).toEqual([12, 75, 'confirmed']);
  const behind = start();
  behind.source.finalizedSlot = 17;
  expect([await behind.step(), behind.head()]).toEqual([true, 15]);
  expect(behind.ranges).toEqual([[12, 17, 'finalized']]);
  expect(behind.asked).toEqual([12, 13, 15].map((slot) => [slot, 'finalized']));
});

test('behavior: history is listed in parts, and the whole range if a part is empty', async () => {
  const far = makeHeaders('a', [9_000], head);
  const { step, source, ranges, head: at } = start({ headers: [...own, ...far] });
  source.finalizedSlot = 10_000;
  expect([await step(), at()]).toEqual([true, 9_000]);
  expect(ranges).toEqual([
    [12, 2_011, 'finalized'],
    [12, 10_000, 'finalized'],
  ]);
  const none = start({ headers: own });
  none.source.finalizedSlot = 10_000;
  expect([await none.step(), none.ranges.length]).toEqual([false, 2]);
  const refused = start({ remote: { listSlots: () => refuse('outage') } });
  refused.source.finalizedSlot = 10_000;
  expect([await refused.step(), refused.ranges.length]).toEqual([false, 1]);
  expect(refused.source.health.status.failures).toBe(1);
});

test('behavior: a witness takes the lead if the leader delivers nothing for 200 ms, and delivers at once', async () => {
  const later = makeHeaders('a', [12, 13], head);
  const {
    step,
    clock,
    taken,
    head: at,
    asked,
  } = start({
    headers: [...own, ...later],
    isLeader: false,
  });
  expect([await step(), taken()]).toEqual([false, 0]);
  await clock.advance(199);
  expect([await step(), taken(), asked]).toEqual([false, 0, []]);
  await clock.advance(1);
  // Another witness may take the lead before the next round, so the block is loaded in this one.
  expect([await step(), taken(), at()]).toEqual([true, 1, 12]);
  expect(asked).toEqual([[12, 'confirmed']]);
  // The time starts again with the next block.
  await step();
  await clock.advance(199);
  expect([await step(), taken(), at()]).toEqual([false, 1, 12]);
});

test('behavior: beside a healthy stream a witness takes the lead after 2 s, after 200 ms if the stream is down', async () => {
  for (const isLive of [true, false]) {
    const stream = makeFakeSource({
      clock: new ManualClock(),
      remote: { isPushed: true },
      notices: { isLive },
    });
    const { step, clock, taken, asked } = start({ isLeader: false, other: stream });
    await step();
    await clock.advance(isLive ? 1_999 : 199);
    await step();
    expect([taken(), asked]).toEqual([0, []]);
    await clock.advance(1);
    await step();
    expect(taken()).toBe(1);
  }
});

test('behavior: a witness resolves a block that is not a child of our head', async () => {
  const later = makeHeaders('a', [12], own[0]);
  const {
    step,
    head: at,
    taken,
  } = start({ headers: [...own.slice(0, 1), ...later], isLeader: false });
  expect([await step(), at(), taken()]).toEqual([true, 12, 0]);
});

test('behavior: a witness resolves a child of another block at the slot of our head', async () => {
  const branch = makeHeaders('b', [11, 12], own[0]);
  const { step, state } = start({ headers: [...own.slice(0, 1), ...branch], isLeader: false });
  expect([await step(), state.pending.head?.hash]).toEqual([true, hash('b12')]);
});

test('behavior: a witness of a new dataset stores its first block', async () => {
  const snapshot = makeSnapshot(own.slice(0, 1));
  const { step, head: at } = start({ snapshot, isLeader: false });
  expect([await step(), at()]).toEqual([true, 11]);
});

test('behavior: a witness without news checks the head, and notes a refused header', async () => {
  const still = start({
    headers: makeHeaders('b', [11], own[0]).concat(own.slice(0, 1)),
    isLeader: false,
  });
  expect([await still.step(), still.state.pending.head?.hash]).toEqual([true, hash('b11')]);
  const refused = start({ isLeader: false, remote: { header: () => refuse('outage') } });
  expect([await refused.step(), refused.taken()]).toEqual([false, 0]);
  expect(refused.source.health.status.failures).toBe(1);
});

test('behavior: a witness ignores a block that another source stored meanwhile', async () => {
  const setting = start({ isLeader: false });
  const { header } = setting.source.remote;
  setting.source.remote.header = async (slot, ...rest) => {
    setting.state.pending = makeSnapshot([...own, ...above.slice(0, 1)]);
    return header(slot, ...rest);
  };
  expect([await setting.step(), setting.alarms.list()]).toEqual([false, []]);
});

/** A source that answers with this feed. */
function stream(feed: SourceFeed, setting: Setting = {}) {
  const positions: unknown[] = [];
  const started = start({
    ...setting,
    remote: {
      identity: async () => ok({ genesisHash: null, content: null }),
      follow: async (position) => {
        positions.push(position);
        return feed;
      },
      ...setting.remote,
    },
  });
  return { ...started, positions };
}

function feedOf(
  slots: readonly number[],
  { finalized = null as BlockRef | null, fault = '' } = {},
) {
  let closeCount = 0;
  const blocks = {
    finalized,
    fault: fault === '' ? undefined : refusal('outage', fault),
    close: async () => {
      closeCount++;
    },
    async *[Symbol.asyncIterator]() {
      for (const slot of slots) yield { slot: toSlot(slot), bytes: new Uint8Array(1) };
    },
  };
  return { feed: { kind: 'blocks', blocks } as SourceFeed, closes: () => closeCount };
}

test('default: streamed blocks are added until the stream ends', async () => {
  const { feed, closes } = feedOf([12, 13], { finalized: ref('a10'), fault: 'broken' });
  const { step, head: at, positions, source } = stream(feed);
  expect([await step(), at(), closes()]).toEqual([true, 13, 1]);
  expect(positions).toEqual([{ from: 12, parentHash: hash('a11') }]);
  expect(source.finalizedSlot).toBe(10);
  expect(source.health.status.fault).toBe('broken');
});

test('behavior: a stream of a new dataset continues from the anchor', async () => {
  const { feed } = feedOf([]);
  const anchored = stream(feed, { snapshot: makeSnapshot(own.slice(0, 1)) });
  expect(await anchored.step()).toBe(false);
  expect(anchored.positions).toEqual([{ from: 11, parentHash: hash('a10') }]);
  expect(anchored.source.health.status.state).toBe('live');
});

test('behavior: a stream ends when another source takes the lead', async () => {
  const { feed, closes } = feedOf([12, 13]);
  const setting = stream(feed);
  const { follow } = setting.source.remote;
  setting.source.remote.follow = async (...given) => {
    setting.state.leader = false;
    return (follow as NonNullable<typeof follow>)(...given);
  };
  expect([await setting.step(), setting.head(), closes()]).toEqual([false, 11, 1]);
});

test('error: source-contradicts-finality if the stream has another finalized block', async () => {
  const snapshot = makeSnapshot(own, own[1]);
  const { feed } = feedOf([12], { finalized: ref('b11') });
  const { step, alarms, head: at } = stream(feed, { snapshot });
  expect([await step(), at()]).toEqual([false, 11]);
  expect(alarms.list()).toMatchObject([
    {
      code: 'source-contradicts-finality',
      message: 'node: it has another finalized block at slot 11',
    },
  ]);
  const same = stream(feedOf([12], { finalized: ref('a11') }).feed, { snapshot });
  expect([await same.step(), same.alarms.list()]).toEqual([true, []]);
  const lower = stream(feedOf([12], { finalized: ref('b9') }).feed, { snapshot });
  lower.source.finalizedSlot = 11;
  expect([await lower.step(), lower.source.finalizedSlot]).toEqual([true, 11]);
});

test('behavior: a refused identity or an unfit source opens no stream', async () => {
  const refused = stream(feedOf([12]).feed, { remote: { identity: () => refuse('outage') } });
  expect([await refused.step(), refused.positions]).toEqual([false, []]);
  expect(refused.source.health.status.failures).toBe(1);
  const unfit = stream(feedOf([12]).feed, { isFit: false });
  expect([await unfit.step(), unfit.positions]).toEqual([false, []]);
});

test('behavior: a refused stream is noted, one above the data checks the head, a conflict is a branch', async () => {
  const refused = stream(refusal('outage', 'HTTP 500'));
  expect([await refused.step(), refused.source.health.status.fault]).toEqual([false, 'HTTP 500']);
  const branch = makeHeaders('b', [11], own[0]);
  const headers = [...own.slice(0, 1), ...branch];
  const moved = stream({ kind: 'above' }, { headers });
  expect([await moved.step(), moved.state.pending.head?.hash]).toEqual([true, hash('b11')]);
  const conflict = stream({ kind: 'conflict', previousBlocks: [ref('b11')] }, { headers });
  expect([await conflict.step(), conflict.state.pending.head?.hash]).toEqual([true, hash('b11')]);
});
