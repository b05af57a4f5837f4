/** Tests what a backfill stores, and how it treats a block that does not link, with sources and a dataset in memory. */

import { isCodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import { toSlot } from '@sluice/ledger/primitives';
import { newCounts } from '@sluice/source/normalize/normalize-counts';
import type { Source } from '@sluice/source/source';
import { expect, test } from 'vitest';
import { applyChanges } from '../../chain/apply-changes.ts';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import { hash, sealRun } from '../../chain/testing/chain-fixtures.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import { ManualClock } from '../../stream/testing/manual-clock.ts';
import { BlockLoader } from '../follow/block-loader.ts';
import { makeFakeSource, makeHeaders, makeSnapshot, ok, refuse } from '../testing/fake-source.ts';
import { Backfill } from './backfill.ts';

const headers = makeHeaders('a', [4, 5, 6, 7, 9, 10, 11]);

interface Options {
  readonly to?: number;
  readonly patienceMs?: number;
  readonly sealBytes?: number;
  readonly snapshot?: ChainSnapshot;
}

const above = makeSnapshot(headers.slice(-3), headers.at(-2));

/** Runs a backfill, down to slot 4 by default. The bytes of a block are its slot, or 200 + its slot for a wrong block. */
async function run(remotes: readonly Partial<Source>[], options: Options = {}) {
  const { to = 4, patienceMs = 5_000, sealBytes = 1_000, snapshot = above } = options;
  const clock = new ManualClock();
  await clock.advance(1_000_000);
  const stored: [number, number][] = [];
  const segments: number[][] = [];
  const dataset = {
    snapshot: () => snapshot,
    readHeaders: async () => headers.slice(-2),
    prependSealed: async (payloads: readonly Uint8Array[], all: readonly BlockHeader[]) => {
      segments.push(all.map(({ number }) => number));
      for (const [i, { number }] of all.entries()) stored.push([number, payloads[i]?.[0] ?? -1]);
    },
  } as unknown as Dataset;
  const sources = remotes.map((remote, i) => {
    const block: Source['block'] = async (slot) => ok(Uint8Array.of(slot));
    return makeFakeSource({ clock, name: `s${i}`, headers, remote: { block, ...remote } });
  });
  const loader = new BlockLoader(async (slot, bytes) => {
    const header = headers.find(({ number }) => number === slot) as BlockHeader;
    const isWrong = (bytes[0] as number) >= 200;
    const parentHash = isWrong ? hash('x') : header.parentHash;
    return { header: { ...header, parentHash }, bytes, counts: newCounts() };
  }, 1);
  const limits = { sealBlockCount: 100, sealBytes };
  let endedMs = -1;
  const running = Backfill.run(
    { to: toSlot(to), storesOnStop: true, patienceMs, limits },
    { dataset, loader, clock, sources: () => sources },
    new AbortController().signal,
  )
    .catch((error: unknown) => (isCodedError(error) ? error : Promise.reject(error)))
    .finally(() => {
      endedMs = clock.nowMs() - 1_000_000;
    });
  await clock.advance(60_000);
  return { outcome: await running, stored, segments, sources, endedMs };
}

test('default: each block is stored with its own bytes', async () => {
  const { outcome, stored } = await run([{}]);
  expect(outcome).toBe(undefined);
  expect(stored).toEqual([4, 5, 6, 7, 9].map((slot) => [slot, slot]));
});

test('behavior: after a block with a wrong parent, it and its parent are loaded from the next source', async () => {
  const requests: string[] = [];
  const lying: Source['block'] = async (slot) => {
    requests.push(`lying ${slot}`);
    return ok(Uint8Array.of(slot === 6 ? 206 : slot));
  };
  const honest: Source['block'] = async (slot) => {
    requests.push(`honest ${slot}`);
    return ok(Uint8Array.of(slot));
  };
  const { outcome, stored, sources } = await run([{ block: lying }, { block: honest }]);
  expect(outcome).toBe(undefined);
  expect(requests.slice(0, 6)).toEqual([
    'lying 9',
    'lying 7',
    'lying 6',
    'lying 5',
    'honest 6',
    'honest 5',
  ]);
  expect(stored).toEqual([4, 5, 6, 7, 9].map((slot) => [slot, slot]));
  expect(sources.map(({ health }) => health.status.failures)).toEqual([1, 0]);
});

test.each([
  [6, 's0: it reports no block at slot 6, which a block names as its parent'],
  [5, 's0: it reports no block at slot 6, which a block names as its parent'],
])(
  'error: backfill-stuck: a source that begins at slot %i should have slot 6',
  async (first, fault) => {
    const { outcome } = await run([
      {
        block: async (slot) => (slot === 6 ? refuse('skipped-hint') : ok(Uint8Array.of(slot))),
        firstAvailable: async () => ok(toSlot(first)),
      },
    ]);
    expect(outcome).toMatchObject({ code: 'backfill-stuck', detail: { slot: 6, fault } });
  },
);

test('error: backfill-stuck: without an answer to the first slot, the source is not taken for pruned', async () => {
  const { outcome } = await run([
    {
      block: async (slot) => (slot === 6 ? refuse('pruned') : ok(Uint8Array.of(slot))),
      firstAvailable: () => refuse('pending'),
    },
  ]);
  expect(outcome).toMatchObject({ code: 'backfill-stuck' });
});

test('default: only finalized blocks are requested, the parent of the last one included', async () => {
  const requests: string[] = [];
  const block: Source['block'] = async (slot, commitment) => {
    requests.push(`block ${commitment}`);
    return ok(Uint8Array.of(slot));
  };
  const header: Source['header'] = async (_slot, commitment) => {
    requests.push(`header ${commitment}`);
    return refuse('pruned');
  };
  await run([{ block, header }], { to: 5 });
  expect(new Set(requests)).toEqual(new Set(['block finalized', 'header finalized']));
});

test('behavior: nothing is requested if the slot is reached already', async () => {
  const remote = {
    header: async () => expect.unreachable(),
    listSlots: async () => expect.unreachable(),
  };
  expect(await run([remote], { to: 10 })).toMatchObject({ outcome: undefined, stored: [] });
});

test('behavior: a dataset whose first blocks are sealed is continued below them', async () => {
  const sealed = applyChanges(above, [
    { kind: 'finalize', block: headers.at(-1) as BlockHeader },
    { kind: 'seal', segments: [sealRun(above.hot)] },
  ]);
  const { stored } = await run([{}], { snapshot: sealed, to: 6 });
  expect(stored.map(([slot]) => slot)).toEqual([6, 7, 9]);
});

test('limit: a segment is stored when its blocks have enough bytes', async () => {
  expect((await run([{}], { sealBytes: 3 })).segments).toEqual([[7, 9], [5, 6], [4]]);
});

test('behavior: a source that must not be asked yet is left out', async () => {
  const requests: number[] = [];
  const paused: Partial<Source> = {
    listSlots: async () => {
      requests.push(0);
      return { kind: 'refused', reason: 'outage', cause: 'HTTP 429', retryAfterMs: 59_000 };
    },
  };
  const { outcome, sources } = await run([paused, {}]);
  expect([outcome, requests.length, sources[1]?.health.status.failures]).toEqual([undefined, 1, 0]);
  const alone = await run([paused], { patienceMs: 20_000 });
  expect([alone.outcome, requests.length]).toMatchObject([{ code: 'backfill-stuck' }, 2]);
});

test('error: backfill-stuck names where the source begins while another one may have the block', async () => {
  const pruned: Partial<Source> = {
    block: async (slot) => (slot < 6 ? refuse('pruned') : ok(Uint8Array.of(slot))),
    firstAvailable: async () => ok(toSlot(6)),
  };
  const key: Partial<Source> = { listSlots: () => refuse('key') };
  const { outcome } = await run([pruned, key]);
  expect(outcome).toMatchObject({
    code: 'backfill-stuck',
    detail: { slot: 5, fault: 's0: it begins at slot 6' },
  });
});

test('behavior: after an outage the source is not asked where it begins', async () => {
  const remote: Partial<Source> = {
    block: async (slot) => (slot === 6 ? refuse('outage', 'HTTP 503') : ok(Uint8Array.of(slot))),
    firstAvailable: async () => expect.unreachable(),
  };
  expect((await run([remote])).outcome).toMatchObject({ detail: { fault: 's0: HTTP 503' } });
});

test('limit: a backfill without sources fails exactly after its patience', async () => {
  const { outcome, endedMs } = await run([], { patienceMs: 1_000 });
  expect([outcome, endedMs]).toMatchObject([{ code: 'backfill-stuck' }, 1_000]);
});

test('behavior: one list is enough for all blocks in its range', async () => {
  let listCount = 0;
  const slots = headers.map(({ number }) => number);
  const listSlots: Source['listSlots'] = async ({ first, last }) => {
    listCount++;
    return ok(slots.filter((slot) => slot >= first && slot <= last));
  };
  const { stored } = await run([{ listSlots }]);
  expect([stored.length, listCount]).toEqual([5, 1]);
});
