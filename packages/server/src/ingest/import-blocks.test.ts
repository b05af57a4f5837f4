import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { systemClock } from '@sluice/base/clock';
import { createSimulatedLedger } from '@sluice/simulator/start-simulated-node';
import { readBlockLines } from '@sluice/source/files/read-block-lines';
import { normalizeBlock } from '@sluice/source/normalize/normalize-block';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import type { HotBlock } from '../chain/chain-snapshot.ts';
import { Dataset } from '../dataset/dataset.ts';
import { SegmentMerger } from '../dataset/merge/segment-merger.ts';
import { createDataset, datasetExists } from '../dataset/stored/create-dataset.ts';
import { decodeHotBlock } from '../dataset/testing/decode-hot-block.ts';
import { mergeInProcess } from '../dataset/testing/merge-in-process.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { SimFs } from '../storage/testing/sim-fs.ts';
import type { PrepareBlock } from './follow/block-loader.ts';
import { importBlocks } from './import-blocks.ts';
import { prepareBlock, prepareDraft } from './prepare/prepared-block.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-import-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const merger = new SegmentMerger({ speed: 'full' });
afterAll(() => merger.close());

const preparedSlots: number[] = [];
const never = new AbortController().signal;
const rendering = { transactionDetails: 'full', rewards: true } as const;

/** Returns lines of a simulated ledger, in the form of a tool that saved the responses of a node. */
function makeLines(first: number, last: number): string[] {
  const content = { transactionsPerBlock: 1, votes: 1, epochRewardsPerBlock: 1 };
  const ledger = createSimulatedLedger(
    { paused: true, chain: { startSlot: 100, skipRate: 0.2, forkRate: 0 }, content },
    { clock: systemClock },
  );
  const lines: string[] = [];
  for (let slot = first; slot <= last; slot++) {
    const block = ledger.chain.blockAt(slot);
    if (block === undefined) continue;
    const { json } = ledger.render(block, rendering);
    lines.push(`{"slot":${slot},"block":${Buffer.from(json).toString()}}`);
  }
  return lines;
}

async function openDataset(fs: SimFs): Promise<Dataset> {
  const dependencies = { fs, clock: systemClock, isLockHeld: () => true, merge: mergeInProcess };
  if (!(await datasetExists('data/ledger', fs))) {
    const rest = { genesisHash: null, metaOptional: false, allowMissing: [] };
    await createDataset(
      'data/ledger',
      { name: 'ledger', aliases: [], votes: 'drop', ...rest },
      dependencies,
    );
  }
  return Dataset.open({ folder: 'data/ledger', realTime: false }, dependencies);
}

async function readBlockLinesOf(text: string) {
  const path = join(folder, 'one');
  writeFileSync(path, text);
  for await (const line of readBlockLines(path, { lineBytesMax: 1_000_000 })) return line;
  throw new TypeError('no line');
}

function importFile(dataset: Dataset, name: string, content: string | Uint8Array) {
  const path = join(folder, name);
  writeFileSync(path, content);
  const prepare: PrepareBlock = async (slot, bytes) => {
    preparedSlots.push(slot);
    return prepareDraft(normalizeBlock(slot, bytes));
  };
  return importBlocks(
    readBlockLines(path, { lineBytesMax: 1_000_000 }),
    { dataset, prepare, merger },
    never,
  );
}

test('default: a plain or compressed file becomes sealed, finalized blocks from its first block on', async () => {
  const lines = makeLines(10, 40);
  for (const [name, pack] of [
    ['plain', (text: string) => Buffer.from(text)],
    ['gzip', gzipSync],
  ] as const) {
    const dataset = await openDataset(new SimFs());
    const progress = await importFile(dataset, name, pack(`${lines.join('\n')}\n`));
    expect(progress).toEqual({ importedCount: lines.length, knownCount: 0 });
    const snapshot = dataset.snapshot();
    const last = Number(/\d+/.exec(lines.at(-1) as string)?.[0]);
    expect(snapshot).toMatchObject({
      hot: [],
      head: { number: last },
      finalized: { number: last },
    });
    const [segment] = snapshot.segments;
    expect(segment?.blockCount).toBe(lines.length);
    expect(snapshot.start).toBe((segment?.parentSlot ?? 0) + 1);
  }
});

test('behavior: a second run skips stored blocks and continues', async () => {
  const fs = new SimFs();
  const lines = makeLines(0, 40);
  const first = await openDataset(fs);
  await importFile(first, 'a', lines.slice(0, 12).join('\n'));
  await first.close();
  const again = await openDataset(fs);
  preparedSlots.length = 0;
  const progress = await importFile(again, 'a', lines.join('\n'));
  expect(progress).toEqual({ importedCount: lines.length - 12, knownCount: 12 });
  // Stored blocks are recognized by slot and hash, and not parsed again.
  expect(preparedSlots).toHaveLength(lines.length - 12);
  expect(again.snapshot().segments.map(({ blockCount }) => blockCount)).toEqual([
    12,
    lines.length - 12,
  ]);
  expect(again.snapshot()).toMatchObject({ start: 0, anchor: null });
});

test('error: chain-not-linked: a line that does not link is named by its number, and earlier blocks stay', async () => {
  const lines = makeLines(10, 40);
  const dataset = await openDataset(new SimFs());
  const gap = lines.filter((_, i) => i !== 5);
  await expect(importFile(dataset, 'a', gap.join('\n'))).rejects.toMatchObject({
    code: 'chain-not-linked',
    detail: { line: 6, expectedParentSlot: Number(/\d+/.exec(lines[4] as string)?.[0]) },
  });
  expect(dataset.snapshot().segments[0]?.blockCount).toBe(5);
});

test('behavior: blocks imported above hot blocks become hot blocks', async () => {
  const lines = makeLines(10, 40);
  const dataset = await openDataset(new SimFs());
  await importFile(dataset, 'a', lines.slice(0, 3).join('\n'));
  const next = await readBlockLinesOf(lines[3] as string);
  const live = prepareBlock(normalizeBlock(next.slot, next.bytes));
  await dataset.commit([{ kind: 'extend', blocks: [live] }]);
  await importFile(dataset, 'b', lines.join('\n'));
  const { hot, head, finalized } = dataset.snapshot();
  expect([hot.length, finalized]).toEqual([lines.length - 3, head]);
  const last = hot.at(-1) as HotBlock;
  const stored = await dataset.readHotBlock(last);
  expect(Buffer.compare(stored, buildSegment([await decodeHotBlock(dataset, last)]))).toBe(0);
});

test('error: import-block-foreign: a different block at the slot of a stored one', async () => {
  const lines = makeLines(10, 40);
  const dataset = await openDataset(new SimFs());
  await importFile(dataset, 'a', lines.slice(0, 3).join('\n'));
  const { slot, block } = JSON.parse(lines[1] as string);
  const other = { ...block, blockhash: block.previousBlockhash };
  const text = `{"slot":${slot},"block":${JSON.stringify(other)}}`;
  await expect(importFile(dataset, 'b', text)).rejects.toMatchObject({
    code: 'import-block-foreign',
    detail: { line: 1, slot },
  });
});

test('error: a line that is not a block is named by its number', async () => {
  const lines = makeLines(10, 20);
  const dataset = await openDataset(new SimFs());
  const bad = [...lines.slice(0, 2), '{"slot":13,"block":{"blockhash":1}}'].join('\n');
  await expect(importFile(dataset, 'a', bad)).rejects.toMatchObject({ detail: { line: 3 } });
  expect(dataset.snapshot().segments[0]?.blockCount).toBe(2);
  await expect(importFile(dataset, 'b', '[]\n')).rejects.toMatchObject({
    code: 'block-line-invalid',
    detail: { line: 1 },
  });
  const cut = gzipSync(lines.join('\n'));
  await expect(importFile(dataset, 'c', cut.subarray(0, cut.length - 20))).rejects.toMatchObject({
    code: 'block-file-unreadable',
  });
});
