/** What an import stores, skips and releases, with a dataset and a merger in memory. */

import { CodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import type { BlockLine } from '@sluice/source/files/read-block-lines';
import { newCounts } from '@sluice/source/normalize/normalize-counts';
import { expect, test } from 'vitest';
import { applyChanges } from '../chain/apply-changes.ts';
import type { ChainChange } from '../chain/chain-change.ts';
import { type ChainSnapshot, emptySnapshot } from '../chain/chain-snapshot.ts';
import { refOf } from '../chain/find-blocks.ts';
import { hash, sealRun } from '../chain/testing/chain-fixtures.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { SegmentMerger } from '../dataset/merge/segment-merger.ts';
import { encodeDraft } from '../segment/write/draft.ts';
import { type ImportDependencies, importBlocks } from './import-blocks.ts';
import { makeHeaders } from './testing/fake-source.ts';

const headers = makeHeaders('a', [5, 6, 8, 9, 10]);
const { signal } = new AbortController();

interface Setting {
  readonly snapshot?: ChainSnapshot;
  /** The merger reports that it is full after this many blocks. */
  readonly fullAt?: number;
  readonly byteLength?: number;
  readonly appendError?: Error;
  /** Called before a segment is stored, which waits for the result. */
  readonly beforeStore?: (first: number) => Promise<void>;
}

function start(setting: Setting = {}) {
  const { snapshot = emptySnapshot, fullAt, byteLength = 1, appendError, beforeStore } = setting;
  const state = { snapshot };
  const segments: number[][] = [];
  const released: string[] = [];
  let appended: BlockHeader[] = [];
  const apply = (changes: readonly ChainChange[]) => {
    state.snapshot = applyChanges(state.snapshot, changes);
  };
  const dataset = {
    snapshot: () => state.snapshot,
    readHeaders: async () => headers,
    commit: async (changes: readonly ChainChange[]) => apply(changes),
    appendSealed: async (_bytes: Uint8Array, all: readonly BlockHeader[]) => {
      await beforeStore?.(all[0]?.number as number);
      segments.push(all.map(({ number }) => number));
      const run = all.map((header) => ({ header, payload: header.number as number }));
      apply([
        { kind: 'extend', blocks: run },
        { kind: 'finalize', block: refOf(all.at(-1) as BlockHeader) },
        { kind: 'seal', segments: [sealRun(run)] },
      ]);
    },
  };
  const merger = {
    appendDraft: async (_bytes: Uint8Array, header: BlockHeader) => {
      if (appendError !== undefined) throw appendError;
      appended.push(header);
      return { byteLength, isFull: appended.length === fullAt };
    },
    finish: async () => {
      appended = [];
      return new Uint8Array(1);
    },
  };
  const dependencies: ImportDependencies = {
    dataset: dataset as unknown as Dataset,
    merger: merger as unknown as SegmentMerger,
    prepare: async (slot, bytes, format) => {
      expect(format).toBe('node');
      const header = JSON.parse(Buffer.from(bytes).toString()).header as string;
      if (header === 'damaged') throw new CodedError('block-not-json', { slot, transaction: 3 });
      if (header === 'invalid') {
        const detail = { slot, field: 'x', found: '1', expected: 'text' };
        throw new CodedError('block-field-invalid', detail);
      }
      if (header === 'bug') throw new TypeError('a bug');
      const found = [...headers, ...others].find((one) => one.hash === header) as BlockHeader;
      expect(found.number).toBe(slot);
      return { header: found, bytes: new Uint8Array(2), counts: newCounts() };
    },
    onBlock: (length) => released.push(`block ${length > 10}`),
    onLineRead: () => released.push('line'),
    onDraftRead: (bytes) => released.push(`draft ${bytes.length}`),
  };
  return { state, segments, released, dependencies };
}

const others = makeHeaders('b', [8], headers[1]);

function lineOf({ number, hash: text }: Pick<BlockHeader, 'number' | 'hash'>, line = 1): BlockLine {
  const bytes = Buffer.from(JSON.stringify({ header: text, blockhash: text }));
  return { path: 'file', line, slot: number, bytes, format: 'node' };
}

async function* read(lines: readonly BlockLine[]): AsyncGenerator<BlockLine> {
  yield* lines;
}

const all = () => headers.map((header, i) => lineOf(header, i + 1));

test('default: the first block sets the anchor, and everything is sealed at the end', async () => {
  const { dependencies, segments, state, released } = start();
  expect(await importBlocks(read(all()), dependencies, signal)).toEqual({
    importedCount: 5,
    knownCount: 0,
  });
  expect(segments).toEqual([[5, 6, 8, 9, 10]]);
  expect(state.snapshot.head?.number).toBe(10);
  expect(released.filter((one) => one === 'line')).toHaveLength(5);
  expect(released.filter((one) => one === 'draft 2')).toHaveLength(5);
  expect(released.filter((one) => one === 'block true')).toHaveLength(5);
});

test('behavior: a ledger from slot 0 has no anchor', async () => {
  const zero = { ...(makeHeaders('a', [0])[0] as BlockHeader) };
  const { dependencies, state } = start();
  const prepare: ImportDependencies['prepare'] = async () => ({
    header: zero,
    bytes: new Uint8Array(2),
    counts: newCounts(),
  });
  await importBlocks(read([lineOf(zero)]), { ...dependencies, prepare }, signal);
  expect([state.snapshot.start, state.snapshot.anchor]).toEqual([0, null]);
});

test.each<[Setting, number[][]]>([
  [{ fullAt: 2 }, [[5, 6], [8, 9], [10]]],
  [{ byteLength: 128 * 1024 * 1024 }, [[5], [6], [8], [9], [10]]],
  [{ byteLength: 128 * 1024 * 1024 - 1 }, [[5, 6, 8, 9, 10]]],
])('limit: a full segment is stored before more is added: %j', async (setting, expected) => {
  const { dependencies, segments } = start(setting);
  await importBlocks(read(all()), dependencies, signal);
  expect(segments).toEqual(expected);
});

test('limit: a segment has at most 1,024 blocks', async () => {
  const many = makeHeaders(
    'm',
    Array.from({ length: 1_025 }, (_, i) => i),
  );
  const { dependencies, segments } = start();
  const prepare: ImportDependencies['prepare'] = async (slot) => ({
    header: many[slot] as BlockHeader,
    bytes: new Uint8Array(2),
    counts: newCounts(),
  });
  await importBlocks(
    read(many.map((header) => lineOf(header))),
    { ...dependencies, prepare },
    signal,
  );
  expect(segments.map(({ length }) => length)).toEqual([1_024, 1]);
});

test('error: a segment that cannot be stored ends the import, and no later block is stored', async () => {
  const error = new CodedError('storage-full', { path: 'x' });
  const { dependencies, segments, state } = start({
    fullAt: 2,
    beforeStore: async (first) => {
      if (first === 8) throw error;
    },
  });
  await expect(importBlocks(read(all()), dependencies, signal)).rejects.toBe(error);
  expect([segments, state.snapshot.head?.number]).toEqual([[[5, 6]], 6]);
});

/** A dataset with the first blocks sealed. */
async function withFirst(count: number): Promise<ChainSnapshot> {
  const { dependencies, state } = start();
  await importBlocks(read(all().slice(0, count)), dependencies, signal);
  return state.snapshot;
}

test('behavior: stored blocks are skipped without preparing them', async () => {
  const { dependencies, segments, released } = start({ snapshot: await withFirst(3) });
  expect(await importBlocks(read(all()), dependencies, signal)).toEqual({
    importedCount: 2,
    knownCount: 3,
  });
  expect([segments, released.filter((one) => one === 'draft 2').length]).toEqual([[[9, 10]], 2]);
  expect(released.filter((one) => one === 'block true')).toHaveLength(5);
});

test('behavior: a stored block in another notation is prepared, recognized and skipped', async () => {
  const { dependencies, segments } = start({ snapshot: await withFirst(3) });
  const six = headers[1] as BlockHeader;
  const bytes = Buffer.from(JSON.stringify({ header: six.hash }));
  const line = { path: 'file', line: 1, slot: six.number, bytes, format: 'node' } as const;
  expect(await importBlocks(read([line]), dependencies, signal)).toEqual({
    importedCount: 0,
    knownCount: 1,
  });
  expect(segments).toEqual([]);
});

test('behavior: a block that is in the files twice is imported once', async () => {
  const { dependencies, segments } = start();
  const [first, second, ...rest] = all() as [BlockLine, BlockLine, ...BlockLine[]];
  const lines = read([first, second, second, ...rest]);
  expect(await importBlocks(lines, dependencies, signal)).toEqual({
    importedCount: 5,
    knownCount: 1,
  });
  expect(segments).toEqual([[5, 6, 8, 9, 10]]);
});

test('error: chain-not-linked: another block at the slot of one that is not stored yet', async () => {
  const { dependencies, segments } = start();
  const [other] = others as [BlockHeader];
  const lines = read([...all().slice(0, 3), lineOf(other, 4)]);
  await expect(importBlocks(lines, dependencies, signal)).rejects.toMatchObject({
    code: 'chain-not-linked',
    detail: { line: 4, slot: 8 },
  });
  expect(segments).toEqual([[5, 6, 8]]);
});

test('behavior: above hot blocks, blocks are added as hot blocks, in one commit', async () => {
  const first = applyChanges(emptySnapshot, [
    { kind: 'create', anchor: null },
    { kind: 'extend', blocks: [{ header: zero, payload: 0 }] },
  ]);
  const { dependencies, segments, state } = start({ snapshot: first });
  const above = makeHeaders('z', [1, 2], zero);
  const prepare = prepareOf(above);
  const version = state.snapshot.version;
  const lines = read(above.map((header) => lineOf(header)));
  expect(await importBlocks(lines, { ...dependencies, prepare }, signal)).toEqual({
    importedCount: 2,
    knownCount: 0,
  });
  expect([segments, state.snapshot.version]).toEqual([[], version + 1]);
  expect(state.snapshot).toMatchObject({ head: { number: 2 }, finalized: { number: 2 } });
});

test('behavior: blocks collected above hot blocks stay together if those are sealed meanwhile', async () => {
  const first = applyChanges(emptySnapshot, [
    { kind: 'create', anchor: null },
    { kind: 'extend', blocks: [{ header: zero, payload: 0 }] },
    { kind: 'finalize', block: refOf(zero) },
  ]);
  const { dependencies, segments, state } = start({ snapshot: first });
  const above = makeHeaders('z', [1, 2], zero);
  const prepare = prepareOf(above);
  const onBlock = () => {
    if (state.snapshot.hot.length === 0) return;
    const segment = sealRun([{ header: zero }]);
    state.snapshot = applyChanges(state.snapshot, [{ kind: 'seal', segments: [segment] }]);
  };
  const lines = read(above.map((header) => lineOf(header)));
  await importBlocks(lines, { ...dependencies, prepare, onBlock }, signal);
  expect(segments).toEqual([]);
  expect(state.snapshot.hot.map(({ header }) => header.number)).toEqual([1, 2]);
  expect(state.snapshot).toMatchObject({ head: { number: 2 }, finalized: { number: 2 } });
});

/** Returns drafts of these blocks without records. */
function prepareOf(blocks: readonly BlockHeader[]): ImportDependencies['prepare'] {
  return async (slot) => {
    const header = blocks.find(({ number }) => number === slot) as BlockHeader;
    const block = { header, ...rows, rewards: [] };
    return { header, bytes: encodeDraft(block, undefined, allocate), counts: newCounts() };
  };
}

const [zero] = makeHeaders('z', [0]) as [BlockHeader];
const rows = { transactions: [], instructions: [], logs: [], balances: [], tokenBalances: [] };
const allocate = (byteLength: number) => new Uint8Array(byteLength);

test('error: import-block-foreign has the line, the block and the stored range', async () => {
  const { dependencies } = start({ snapshot: await withFirst(3) });
  const [other] = others as [BlockHeader];
  await expect(importBlocks(read([lineOf(other, 7)]), dependencies, signal)).rejects.toMatchObject({
    code: 'import-block-foreign',
    detail: { path: 'file', line: 7, slot: 8, hash: hash('b8'), start: 1, head: 8 },
  });
});

test('error: a block that does not link is named, and the blocks before it are stored', async () => {
  const { dependencies, segments, released } = start();
  const lines = all().filter((_, i) => i !== 2);
  await expect(importBlocks(read(lines), dependencies, signal)).rejects.toMatchObject({
    code: 'chain-not-linked',
    detail: { path: 'file', line: 4, slot: 9 },
    cause: { code: 'chain-not-linked' },
  });
  expect(segments).toEqual([[5, 6]]);
  expect(released.filter((one) => one === 'line').length).toBeGreaterThanOrEqual(3);
});

test('error: a damaged block has its position and a hint; a bug stays as it is', async () => {
  const damaged = (header: string) => ({
    format: 'node' as const,
    path: 'file',
    line: 3,
    slot: (headers[0] as BlockHeader).number,
    bytes: Buffer.from(JSON.stringify({ header })),
  });
  const { dependencies, released } = start();
  await expect(
    importBlocks(read([damaged('damaged')]), dependencies, signal),
  ).rejects.toMatchObject({
    code: 'block-not-json',
    detail: {
      path: 'file',
      line: 3,
      transaction: 3,
      expected: expect.stringContaining('no other key'),
    },
  });
  expect(released).toEqual(['line']);
  await expect(
    importBlocks(read([damaged('invalid')]), dependencies, signal),
  ).rejects.toMatchObject({
    code: 'block-field-invalid',
    detail: { path: 'file', line: 3, expected: 'text' },
  });
  await expect(importBlocks(read([damaged('bug')]), dependencies, signal)).rejects.toThrow('a bug');
});

test('error: blocks of a merger that failed are not stored', async () => {
  const { dependencies, segments } = start({
    appendError: new CodedError('block-worker-died', { slot: 5 }),
  });
  await expect(importBlocks(read(all()), dependencies, signal)).rejects.toMatchObject({
    code: 'block-worker-died',
  });
  expect(segments).toEqual([]);
});

test('behavior: a stop ends the import, and what was read is stored', async () => {
  const stop = new AbortController();
  const { dependencies, segments } = start();
  let count = 0;
  const onBlock = () => {
    if (++count === 2) stop.abort();
  };
  expect(await importBlocks(read(all()), { ...dependencies, onBlock }, stop.signal)).toEqual({
    importedCount: 2,
    knownCount: 0,
  });
  expect(segments).toEqual([[5, 6]]);
});
