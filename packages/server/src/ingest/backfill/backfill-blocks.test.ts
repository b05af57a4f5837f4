/** What a backfill stores, and how it treats a block that does not link, with sources and a dataset in memory. */
import { expect, test } from 'vitest';
import { isCodedError } from '../../base/errors.ts';
import { hash } from '../../chain/testing/chain-fixtures.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import type { BlockHeader } from '../../ledger/block.ts';
import { toSlot } from '../../ledger/primitives.ts';
import { newCounts } from '../../source/normalize/normalize-counts.ts';
import type { Source } from '../../source/source.ts';
import { ManualClock } from '../../stream/testing/manual-clock.ts';
import { BlockLoader } from '../follow/block-loader.ts';
import { makeFakeSource, makeHeaders, makeSnapshot, ok, refuse } from '../testing/fake-source.ts';
import { Backfill } from './backfill.ts';

const headers = makeHeaders('a', [4, 5, 6, 7, 9, 10, 11]);

/** Runs a backfill down to slot 4. The bytes of a block are its slot, or 200 + its slot for a wrong block. */
async function run(remotes: readonly Partial<Source>[], patienceMs = 5_000) {
  const clock = new ManualClock();
  const stored: [number, number][] = [];
  const snapshot = makeSnapshot(headers.slice(-3), headers.at(-2));
  const dataset = {
    snapshot: () => snapshot,
    prependSealed: async (payloads: readonly Uint8Array[], all: readonly BlockHeader[]) => {
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
  const options = { to: toSlot(4), storesOnStop: true, patienceMs };
  const running = Backfill.run(
    options,
    { dataset, loader, clock, sources: () => sources },
    new AbortController().signal,
  ).catch((error: unknown) => (isCodedError(error) ? error : Promise.reject(error)));
  await clock.advance(60_000);
  return { outcome: await running, stored, sources };
}

test('default: each block is stored with its own bytes', async () => {
  const { outcome, stored } = await run([{}]);
  expect(outcome).toBe(undefined);
  expect(stored).toEqual([4, 5, 6, 7, 9].map((slot) => [slot, slot]));
});

test('behavior: after a block with a wrong parent, it and its parent are loaded from the next source', async () => {
  const asked: string[] = [];
  const lying: Source['block'] = async (slot) => {
    asked.push(`lying ${slot}`);
    return ok(Uint8Array.of(slot === 6 ? 206 : slot));
  };
  const honest: Source['block'] = async (slot) => {
    asked.push(`honest ${slot}`);
    return ok(Uint8Array.of(slot));
  };
  const { outcome, stored, sources } = await run([{ block: lying }, { block: honest }]);
  expect(outcome).toBe(undefined);
  expect(asked.slice(0, 6)).toEqual([
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
