import { setImmediate as nextTurn } from 'node:timers/promises';
import { CodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import { newCounts } from '@sluice/source/normalize/normalize-counts';
import { expect, test } from 'vitest';
import { makeHeader } from '../../chain/testing/chain-fixtures.ts';
import { ManualClock, settle } from '../../stream/testing/manual-clock.ts';
import { IngestCounters } from '../ingest-counters.ts';
import type { PreparedBlock } from '../prepare/prepared-block.ts';
import { makeFakeSource, makeHeaders, makeSnapshot } from '../testing/fake-source.ts';
import type { LoadedBlock } from './block-loader.ts';
import type { BranchResolver } from './branch-resolver.ts';
import { type ChainFeeder, linkBlock } from './chain-feeder.ts';
import { HeadExtender } from './head-extender.ts';
import type { SourceJudge } from './source-judge.ts';

const own = makeHeaders('a', [10, 11]);
const head = own[1] as BlockHeader;
const above = makeHeaders('a', [12, 13, 14], head);
const { signal } = new AbortController();

interface Setting {
  readonly isAgreed?: (slot: number) => boolean;
  readonly commitError?: CodedError;
  readonly resolved?: boolean;
  /** The commits wait until a test ends them. */
  readonly holdsCommits?: boolean;
}

function start(setting: Setting = {}) {
  const clock = new ManualClock();
  const source = makeFakeSource({ clock, isHealthy: false });
  const counters = new IngestCounters();
  const calls: string[] = [];
  const commits: (() => void)[] = [];
  let parent = head;
  const feeder = {
    pending: makeSnapshot(own),
    linkToHead: (prepared: PreparedBlock) => {
      const linked = linkBlock(parent, prepared);
      if (!(linked instanceof CodedError)) parent = linked.header;
      return linked;
    },
    extend: async ({ header }: PreparedBlock) => {
      calls.push(`extend ${header.number}`);
      if (setting.holdsCommits === true) {
        await new Promise<void>((resolve) => commits.push(resolve));
      }
      const error = setting.commitError;
      return error === undefined ? { kind: 'committed' } : { kind: 'refused', error };
    },
  };
  const judge = {
    rejectLoad: ({ kind }: LoadedBlock) => void calls.push(`rejectLoad ${kind}`),
    isAgreed: async ({ number }: BlockHeader) => setting.isAgreed?.(number) ?? true,
    rejectCommit: ({ header }: PreparedBlock, { code }: CodedError) => {
      calls.push(`rejectCommit ${header.number} ${code}`);
      return false;
    },
    strikeFor: ({ code }: CodedError) => {
      calls.push(`strike ${code}`);
      return false;
    },
  };
  const branches = {
    resolve: async ({ number }: BlockHeader) => {
      calls.push(`resolve ${number}`);
      return setting.resolved ?? false;
    },
  };
  const extender = new HeadExtender({
    source,
    feeder: feeder as unknown as ChainFeeder,
    counters,
    judge: judge as unknown as SourceJudge,
    branches: branches as unknown as BranchResolver,
    onGrown: () => void calls.push('grown'),
  });
  return { extender, calls, counters, source, commits, feeder };
}

const blockOf = (header: BlockHeader) => ({ header, counts: newCounts() }) as PreparedBlock;
const loaded = (header: BlockHeader): LoadedBlock => ({
  kind: 'loaded',
  prepared: blockOf(header),
});

async function* stream(...blocks: LoadedBlock[]): AsyncGenerator<LoadedBlock> {
  yield* blocks;
}

test('default: linked blocks are added in order', async () => {
  const { extender, calls, counters, source } = start();
  expect(await extender.extendAll(stream(...above.map(loaded)), signal)).toBe(true);
  expect(calls.filter((call) => call !== 'grown')).toEqual(['extend 12', 'extend 13', 'extend 14']);
  expect(calls.filter((call) => call === 'grown')).toHaveLength(3);
  expect([counters.toJSON()['blocks'], source.health.status.state]).toEqual([3, 'live']);
  expect(await extender.extendAll(stream(), signal)).toBe(false);
});

test('error: a block that cannot be loaded ends the run, and those before stay', async () => {
  const damaged: LoadedBlock = {
    kind: 'damaged',
    slot: undefined,
    error: new CodedError('block-not-json', { slot: 5 }),
  };
  const { extender, calls } = start();
  const [first, second] = above.map(loaded) as [LoadedBlock, LoadedBlock];
  expect(await extender.extendAll(stream(first, damaged, second), signal)).toBe(true);
  expect(calls.toSorted()).toEqual(['extend 12', 'grown', 'rejectLoad damaged']);
  expect(await start().extender.extendAll(stream(damaged), signal)).toBe(false);
});

test('behavior: nothing is added after a stop, without the lead, or without agreement', async () => {
  const stop = new AbortController();
  stop.abort();
  const all = () => stream(...above.map(loaded));
  for (const run of [
    ({ extender }: ReturnType<typeof start>) => extender.extendAll(all(), stop.signal),
    ({ extender }: ReturnType<typeof start>) => extender.extendAll(all(), signal, () => false),
  ]) {
    const setting = start();
    expect([await run(setting), setting.calls]).toEqual([false, []]);
  }
  const partial = start({ isAgreed: (slot) => slot < 13 });
  expect(await partial.extender.extendAll(all(), signal)).toBe(true);
  expect(partial.calls).toEqual(['extend 12', 'grown']);
});

test('error: a commit that fails while the next block is loaded fails the run, and nothing else', async () => {
  const { extender, feeder } = start();
  const failed = new CodedError('dataset-write-failed');
  feeder.extend = () => Promise.reject(failed);
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  try {
    let release: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => {
      release = resolve;
    });
    async function* slow(): AsyncGenerator<LoadedBlock> {
      yield* above.slice(0, 1).map(loaded);
      await waiting;
    }
    const running = extender.extendAll(slow(), signal);
    // Node reports a rejection that nobody handles after a turn of its event loop.
    for (let turn = 0; turn < 3; turn++) await nextTurn();
    release();
    await expect(running).rejects.toBe(failed);
  } finally {
    process.off('unhandledRejection', note);
  }
  expect(unhandled).toEqual([]);
});

test('limit: at most 32 commits are in progress', async () => {
  const { extender, commits, calls } = start({ holdsCommits: true });
  const many = makeHeaders(
    'a',
    Array.from({ length: 40 }, (_, i) => 12 + i),
    head,
  );
  const extended = extender.extendAll(stream(...many.map(loaded)), signal);
  await settle();
  expect(commits).toHaveLength(32);
  commits.shift()?.();
  await settle();
  expect(calls.filter((call) => call.startsWith('extend'))).toHaveLength(33);
  for (let isOver = false; !isOver; ) {
    for (const end of commits.splice(0)) end();
    isOver = await Promise.race([extended, settle().then(() => false)]);
  }
  expect(calls.filter((call) => call === 'grown')).toHaveLength(40);
});

test.each([true, false])(
  'behavior: a block that does not link is a branch (taken: %s)',
  async (resolved) => {
    const other = makeHeader('b', 13, own[0] as BlockHeader);
    const first = start({ resolved });
    expect(await first.extender.extendAll(stream(loaded(other)), signal)).toBe(resolved);
    expect(first.calls).toEqual(['resolve 13']);
    const later = start({ resolved });
    const blocks = stream(loaded(above[0] as BlockHeader), loaded(other));
    expect(await later.extender.extendAll(blocks, signal)).toBe(true);
    // The commits end before the branch is judged.
    expect(later.calls).toEqual(['extend 12', 'grown', 'resolve 13']);
    const single = start({ resolved });
    expect(await single.extender.extend(blockOf(other), signal)).toBe(resolved);
  },
);

test('behavior: a block at or below our head is no fault, and a wrong height is', async () => {
  const late = start({ resolved: true });
  expect(
    await late.extender.extend(blockOf(makeHeader('b', 11, own[0] as BlockHeader)), signal),
  ).toBe(false);
  expect(late.calls).toEqual([]);
  const wrong = start();
  const first = { ...(above[0] as BlockHeader), height: 9 };
  expect(await wrong.extender.extend(blockOf(first), signal)).toBe(false);
  expect(wrong.calls).toEqual(['strike chain-height-wrong']);
});

test('behavior: one block is added if the sources agree and the chain accepts it', async () => {
  const block = blockOf(above[0] as BlockHeader);
  const added = start();
  expect(await added.extender.extend(block, signal)).toBe(true);
  expect([added.calls, added.counters.toJSON()['blocks']]).toEqual([['extend 12', 'grown'], 1]);
  const waiting = start({ isAgreed: () => false });
  expect([await waiting.extender.extend(block, signal), waiting.calls]).toEqual([false, []]);
  const rejected = start({
    commitError: new CodedError('chain-ancestor-unknown', { slot: 12, hash: 'x' }),
  });
  expect(await rejected.extender.extend(block, signal)).toBe(false);
  expect(rejected.calls).toEqual(['extend 12', 'rejectCommit 12 chain-ancestor-unknown']);
});
