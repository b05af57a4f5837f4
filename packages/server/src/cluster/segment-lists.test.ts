import fc from 'fast-check';
import { expect, test } from 'vitest';
import { emptySnapshot, type SealedSegment } from '../chain/chain-snapshot.ts';
import { slot } from '../chain/testing/chain-fixtures.ts';
import { MemoryStore } from '../object-store/testing/memory-store.ts';
import { ManifestLog } from './bucket-manifest.ts';
import { listLength } from './segment-lists.ts';
import { refAt } from './testing/member.ts';

const dataset = {
  name: 'ledger',
  aliases: [],
  genesisHash: null,
  votes: 'drop',
  metaOptional: false,
  allowMissing: [],
} as const;

/** Returns a segment with one block at a slot. */
function segmentAt(number: number): SealedSegment {
  return {
    id: `${number}-${number}-0123abcd.segment`,
    first: refAt(number),
    last: refAt(number),
    parentSlot: slot(number - 1),
    parentHash: refAt(number - 1).hash,
    lastHeight: number,
    blockCount: 1,
    byteLength: 100,
    timestampMax: 5n,
  };
}

function stateOf(first: number, last: number, number: number) {
  const segments = Array.from({ length: last - first + 1 }, (_, i) => segmentAt(first + i));
  const tip = last < first ? null : refAt(last);
  const anchor = refAt(first - 1);
  const start = slot(first);
  const chain = { ...emptySnapshot, start, anchor, segments, head: tip, finalized: tip };
  return { number, writer: 'test', dataset, chain, feed: null };
}

const sizeOf = (store: MemoryStore, log: ManifestLog, number: number) =>
  store.objects.get(log.keyOf(number))?.bytes.length ?? 0;

test('property: appends, backfills and trims in any order give the same segments to another reader', async () => {
  const step = fc.record({
    kind: fc.constantFrom('append', 'prepend', 'trim'),
    count: fc.integer({ min: 1, max: 2 * listLength }),
    isNewWriter: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      const store = new MemoryStore();
      let log = new ManifestLog(store, 'ledger');
      let [first, last] = [10_000, 9_999];
      for (const [i, { kind, count, isNewWriter }] of steps.entries()) {
        if (kind === 'append') last += count;
        if (kind === 'prepend') first -= count;
        if (kind === 'trim') first = Math.min(last + 1, first + count);
        if (isNewWriter) log = new ManifestLog(store, 'ledger');
        if (isNewWriter) await log.readLatest();
        const state = stateOf(first, last, i + 1);
        await log.create(state);
        const read = await new ManifestLog(store, 'ledger').readLatest();
        expect(read?.manifest).toEqual(state);
      }
    }),
    { numRuns: 6, seed: 1 },
  );
});

test('limit: a manifest stays small with any number of segments', async () => {
  const store = new MemoryStore();
  const log = new ManifestLog(store, 'ledger');
  await log.create(stateOf(1, 400, 1));
  const few = sizeOf(store, log, 1);
  await log.create(stateOf(1, 20_000, 2));
  const calls = store.calls.length;
  await log.create(stateOf(1, 20_001, 3));
  expect(store.calls.slice(calls)).toHaveLength(1);
  expect(sizeOf(store, log, 3)).toBeLessThan(few * 2);
});

test('behavior: a manifest needs its segments and its lists', async () => {
  const store = new MemoryStore();
  const log = new ManifestLog(store, 'ledger');
  await log.create(stateOf(1, 3 * listLength, 1));
  const { keys, sealedSlot } = await log.readNeeded(1);
  expect(sealedSlot).toBe(3 * listLength);
  expect(keys.filter((key) => key.includes('/segments/'))).toHaveLength(3 * listLength);
  const lists = keys.filter((key) => key.includes('/lists/'));
  expect(lists).toHaveLength(2);
  for (const key of lists) expect(store.objects.has(key)).toBe(true);
});

test('behavior: the manifest of a stale writer is not taken for the newest state', async () => {
  const store = new MemoryStore();
  const log = new ManifestLog(store, 'ledger');
  const feedAt = (sequence: number, epoch = 0) => ({ epoch, sequence, blocks: [] });
  await log.create({ ...stateOf(1, 5, 1), feed: feedAt(50) });
  await log.create({ ...stateOf(1, 3, 2), feed: feedAt(30) });
  const latest = await new ManifestLog(store, 'ledger').readLatest();
  expect([latest?.number, latest?.manifest.number]).toEqual([2, 1]);
  // A new epoch starts with a low sequence, and is newer.
  await log.create({ ...stateOf(1, 5, 3), feed: feedAt(2, 3) });
  expect((await log.readLatest())?.manifest.number).toBe(3);
});

test('error: store-fenced: a manifest can be created only once', async () => {
  const store = new MemoryStore();
  const one = new ManifestLog(store, 'ledger');
  const two = new ManifestLog(store, 'ledger');
  await one.create(stateOf(1, 5, 1));
  await expect(two.create(stateOf(1, 6, 1))).rejects.toMatchObject({ code: 'store-fenced' });
  expect((await two.read(1)).chain.segments).toHaveLength(5);
});

test('error: store-manifest-damaged: a changed manifest or list is detected', async () => {
  const store = new MemoryStore();
  await new ManifestLog(store, 'ledger').create(stateOf(1, 3 * listLength, 1));
  for (const part of ['/manifests/', '/lists/']) {
    store.distort = (key, bytes) => {
      if (key.includes(part)) bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
      return bytes;
    };
    const reading = new ManifestLog(store, 'ledger').readLatest();
    await expect(reading).rejects.toMatchObject({ code: 'store-manifest-damaged' });
  }
});
