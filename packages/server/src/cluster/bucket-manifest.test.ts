import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { emptySnapshot, type SealedSegment } from '../chain/chain-snapshot.ts';
import { slot } from '../chain/testing/chain-fixtures.ts';
import { MemoryStore } from '../object-store/testing/memory-store.ts';
import { ManifestLog } from './bucket-manifest.ts';
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

test('default: another reader gets the same state', async () => {
  const store = new MemoryStore();
  const state = stateOf(10, 12, 1);
  await new ManifestLog(store, 'ledger').create(state);
  const read = await new ManifestLog(store, 'ledger').readLatest();
  expect(read).toEqual({ manifest: state, number: 1 });
});

test('behavior: a manifest of version 2 is read with the segments of its lists, and its lists become unused', async () => {
  const store = new MemoryStore();
  const log = new ManifestLog(store, 'ledger');
  const { chain, ...state } = stateOf(11, 20, 1);
  const encode = (value: unknown) =>
    gzipSync(JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? String(v) : v)));
  // The first segment of the first list is below the start.
  const listed = [segmentAt(10), ...chain.segments.slice(0, 5)];
  await store.put('ledger/lists/one.json.gz', encode(listed));
  await store.put('ledger/lists/two.json.gz', encode(chain.segments.slice(5, 8)));
  const { front: _, lists: __, unused: ___, ...older } = chain;
  const versionTwo = {
    ...state,
    formatVersion: 2,
    lists: ['one', 'two'],
    skipped: 1,
    frontCount: 0,
    chain: { ...older, replaced: [], segments: chain.segments.slice(8) },
  };
  await store.put(log.keyOf(1), encode(versionTwo));
  const read = await log.read(1);
  const unused = ['lists/one.json.gz', 'lists/two.json.gz'];
  expect(read).toEqual({ ...state, number: 1, chain: { ...chain, unused } });
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

test('error: store-manifest-damaged: a changed manifest is detected', async () => {
  const store = new MemoryStore();
  await new ManifestLog(store, 'ledger').create(stateOf(1, 3, 1));
  store.distort = (_key, bytes) => {
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
    return bytes;
  };
  const reading = new ManifestLog(store, 'ledger').readLatest();
  await expect(reading).rejects.toMatchObject({ code: 'store-manifest-damaged' });
});
