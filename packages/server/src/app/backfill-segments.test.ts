/** A backfill from another Sluice, whose sealed segments are copied as files. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { Random } from '@sluice/base/random';
import { toSlot } from '@sluice/ledger/primitives';
import { afterEach, expect, test } from 'vitest';
import { refAt, runOf } from '../cluster/testing/member.ts';
import { Dataset } from '../dataset/dataset.ts';
import { createDataset } from '../dataset/stored/create-dataset.ts';
import { mergeInProcess } from '../dataset/testing/merge-in-process.ts';
import { Backfill } from '../ingest/backfill/backfill.ts';
import { BlockLoader } from '../ingest/follow/block-loader.ts';
import { FollowedSource } from '../ingest/follow/followed-source.ts';
import { prepareOnce } from '../ingest/testing/prepare-once.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { type Meddling, startMeddler, startPortal } from './testing/start-portal.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function makeDataset(first: number, last: number): Promise<Dataset> {
  const parent = mkdtempSync(join(tmpdir(), 'sluice-copy-'));
  closers.push(() => rmSync(parent, { recursive: true }));
  const folder = join(parent, 'ledger');
  const dependencies = {
    fs: nodeFs,
    clock: systemClock,
    isLockHeld: () => true,
    merge: mergeInProcess,
  };
  const rest = { genesisHash: null, metaOptional: false, allowMissing: [] };
  const manifest = { name: 'ledger', aliases: [], votes: 'drop', ...rest } as const;
  await createDataset(folder, manifest, dependencies);
  const limits = { sealBlockCount: 8, diskFloorBytes: 0, diskFloorShare: 0 };
  const dataset = await Dataset.open({ folder, realTime: true, limits }, dependencies);
  closers.push(() => dataset.close());
  await dataset.commit([{ kind: 'create', anchor: refAt(first - 1) }]);
  await dataset.commit([{ kind: 'extend', blocks: runOf(first, last) }]);
  await dataset.commit([{ kind: 'finalize', block: refAt(last) }]);
  while (await dataset.seal());
  return dataset;
}

/** Fills a dataset that begins at slot 46 from one that begins at slot 10 and has segments of eight blocks. */
async function backfill(to: number, meddling: Meddling = {}) {
  const upstream = await makeDataset(10, 60);
  const dataset = await makeDataset(46, 60);
  const portal = await startPortal(upstream);
  closers.push(portal.close);
  const paths: string[] = [];
  const between = await startMeddler(portal.url, {
    ...meddling,
    refuse: (path) => void paths.push(path),
  });
  closers.push(between.close);
  const source = new FollowedSource(
    { kind: 'portal', name: 'portal', url: between.url },
    { clock: systemClock, random: Random.fromSeed(1) },
  );
  closers.push(() => source.remote.close());
  const loader = new BlockLoader(async (...block) => prepareOnce(...block));
  const parts = { dataset, loader, clock: systemClock, sources: () => [source] };
  const options = { to: toSlot(to), storesOnStop: true };
  const { signal } = new AbortController();
  const outcome = await Backfill.run(options, parts, signal).then(
    () => 'done',
    ({ code }) => code,
  );
  return { outcome, upstream, dataset, paths };
}

const rangesOf = (dataset: Dataset) =>
  dataset.snapshot().segments.map(({ first, last }) => [first.number, last.number]);

async function hashesOf(dataset: Dataset): Promise<string[]> {
  const headers = await Promise.all(
    dataset.snapshot().segments.map((one) => dataset.readHeaders(one)),
  );
  return headers.flat().map(({ hash }) => hash);
}

const expected = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, i) => refAt(first + i).hash);

test('default: whole segments are copied byte by byte, and blocks are loaded above and below them', async () => {
  const { outcome, upstream, dataset, paths } = await backfill(12);
  expect(outcome).toBe('done');
  expect(rangesOf(dataset).slice(0, 5)).toEqual([
    [12, 17],
    [18, 25],
    [26, 33],
    [34, 41],
    [42, 45],
  ]);
  expect((await hashesOf(dataset)).slice(0, 34)).toEqual(expected(12, 45));
  const theirs = new Map(upstream.snapshot().segments.map((one) => [one.id, one]));
  for (const segment of dataset.snapshot().segments.slice(1, 4)) {
    const original = theirs.get(segment.id);
    expect(original).toEqual(segment);
    const bytes = readFileSync(dataset.segmentPath(segment));
    expect(bytes.equals(readFileSync(upstream.segmentPath(segment)))).toBe(true);
  }
  expect(paths.filter((path) => path.startsWith('/segments/'))).toHaveLength(3);
});

test('behavior: the first segment of the other service is copied, and its start becomes ours', async () => {
  const { outcome, dataset } = await backfill(3);
  expect([outcome, dataset.snapshot().start]).toEqual(['backfill-pruned', 10]);
  expect((await hashesOf(dataset)).slice(0, 36)).toEqual(expected(10, 45));
});

test('behavior: a segment with wrong bytes is not stored, and its blocks are loaded instead', async () => {
  const { outcome, dataset, paths } = await backfill(18, {
    body: (path, body) => (path.includes('/segments/') ? `${body.slice(0, -1)}x` : body),
  });
  expect([outcome, dataset.snapshot().start]).toEqual(['done', 18]);
  expect((await hashesOf(dataset)).slice(0, 28)).toEqual(expected(18, 45));
  expect(paths.filter((path) => path.startsWith('/segments/'))).toHaveLength(1);
});

test('behavior: blocks are loaded from a service that has no list of segments', async () => {
  const { outcome, dataset } = await backfill(18, {
    body: (path, body) => (path.includes('/segments?') ? '{}' : body),
  });
  expect([outcome, dataset.snapshot().start]).toEqual(['done', 18]);
  expect((await hashesOf(dataset)).slice(0, 28)).toEqual(expected(18, 45));
});

test('error: sealed-segment-unknown, parameter-invalid: only segments of the dataset can be read', async () => {
  const upstream = await makeDataset(10, 60);
  const portal = await startPortal(upstream);
  closers.push(portal.close);
  const read = (path: string) => fetch(`${portal.url}${path}`);
  const [segment] = upstream.snapshot().segments;
  const whole = await read(`/segments/${segment?.id}?offset=0`);
  expect(whole.headers.get('content-type')).toBe('application/octet-stream');
  const bytes = new Uint8Array(await whole.arrayBuffer());
  expect(bytes).toHaveLength(segment?.byteLength ?? 0);
  const rest = await read(`/segments/${segment?.id}?offset=100`);
  expect(new Uint8Array(await rest.arrayBuffer())).toEqual(bytes.slice(100));
  const after = await read(`/segments/${segment?.id}?offset=99999999`);
  expect((await after.arrayBuffer()).byteLength).toBe(0);
  const other = `${segment?.id.slice(0, -16)}00000000.segment`;
  const unknown = await read(`/segments/${other}?offset=0`);
  expect([unknown.status, await unknown.json()]).toMatchObject([
    404,
    { error: { code: 'sealed-segment-unknown' } },
  ]);
  expect((await read('/segments/..%2F..%2Fmanifest.json?offset=0')).status).toBe(400);
  const list = (await (await read('/segments?to=30&limit=2')).json()) as { first: object }[];
  expect(list.map(({ first }) => first)).toEqual([refAt(26), refAt(18)]);
});
