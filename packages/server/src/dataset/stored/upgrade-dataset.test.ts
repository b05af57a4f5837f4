/** Converts data folders that older versions wrote and that are stored in the repository. */
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { systemClock } from '@sluice/base/clock';
import type { Block } from '@sluice/ledger/block';
import { parseSlot, type Slot } from '@sluice/ledger/primitives';
import { normalizeBlock } from '@sluice/source/normalize/normalize-block';
import { afterEach, expect, test } from 'vitest';
import { openSegment } from '../../segment/read/open-segment.ts';
import { decodeBlocks } from '../../segment/testing/decode-blocks.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import { Dataset } from '../dataset.ts';
import { decodeHotBlock } from '../testing/decode-hot-block.ts';
import { upgradeDataset } from './upgrade-dataset.ts';
import { verifyDataset } from './verify-dataset.ts';

const golden = join(import.meta.dirname, '../../../../../test/formats/format-1');
const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

function copyOfGolden(): string {
  const parent = mkdtempSync(join(tmpdir(), 'sluice-upgrade-'));
  folders.push(parent);
  const folder = join(parent, 'golden');
  cpSync(join(golden, 'dataset'), folder, { recursive: true });
  return folder;
}

/** Returns the blocks that the older version stored, normalized from the raw blocks of the node. */
function rawBlocks(): Block[] {
  const text = gunzipSync(readFileSync(join(golden, 'blocks.jsonl.gz'))).toString();
  return text
    .trim()
    .split('\n')
    .map((line) => {
      const slot = parseSlot(Number(/"slot":(\d+)/.exec(line)?.[1])) as Slot;
      const block = line.slice(line.indexOf('"block":') + 8, -1);
      return normalizeBlock(slot, Buffer.from(block)).block;
    });
}

const dependencies = (signal = new AbortController().signal) => ({
  fs: nodeFs,
  clock: systemClock,
  isLockHeld: () => true,
  signal,
});

async function storedBlocks(folder: string): Promise<Block[]> {
  const dataset = await Dataset.open({ folder, realTime: false }, dependencies());
  try {
    const { segments, hot } = dataset.snapshot();
    const sealed = await Promise.all(segments.map((segment) => dataset.readSegment(segment)));
    const recent = await Promise.all(hot.map((block) => decodeHotBlock(dataset, block)));
    return [...sealed.flatMap((bytes) => decodeBlocks(openSegment(bytes))), ...recent];
  } finally {
    await dataset.close();
  }
}

test('error: dataset-upgrade-needed: a folder of format 1 is rejected', async () => {
  const folder = copyOfGolden();
  await expect(Dataset.open({ folder, realTime: false }, dependencies())).rejects.toMatchObject({
    code: 'dataset-upgrade-needed',
    detail: { formatVersion: 1, known: 3 },
  });
});

test('default: the conversion keeps every record of sealed and hot blocks', async () => {
  const folder = copyOfGolden();
  const summary = await upgradeDataset({ folder }, dependencies());
  expect(summary).toEqual({ segmentsConverted: 2, hotBlocksConverted: 4, isComplete: true });
  expect(await storedBlocks(folder)).toEqual(rawBlocks());
  expect(await verifyDataset({ folder }, nodeFs, new AbortController().signal)).toEqual([]);
  expect(readdirSync(join(folder, 'segments'))).toHaveLength(2);
  const again = await upgradeDataset({ folder }, dependencies());
  expect(again).toEqual({ segmentsConverted: 0, hotBlocksConverted: 0, isComplete: true });
});

test('behavior: the next run finishes a run that was stopped between segments', async () => {
  const folder = copyOfGolden();
  const stop = new AbortController();
  const first = await upgradeDataset(
    { folder, onPart: () => stop.abort() },
    dependencies(stop.signal),
  );
  expect(first).toEqual({ segmentsConverted: 1, hotBlocksConverted: 0, isComplete: false });
  await expect(Dataset.open({ folder, realTime: false }, dependencies())).rejects.toMatchObject({
    code: 'dataset-upgrade-needed',
  });
  const second = await upgradeDataset({ folder }, dependencies());
  expect(second).toEqual({ segmentsConverted: 1, hotBlocksConverted: 4, isComplete: true });
  expect(await storedBlocks(folder)).toEqual(rawBlocks());
});

test('behavior: each segment is reported, and unused ones of an earlier run are removed first', async () => {
  const folder = copyOfGolden();
  const segments = join(folder, 'segments');
  writeFileSync(join(segments, 'unused.segment'), 'x');
  const sizes = readdirSync(segments).flatMap((name) =>
    name === 'unused.segment' ? [] : [statSync(join(segments, name)).size],
  );
  const parts: [number, number][] = [];
  const names: boolean[] = [];
  await upgradeDataset(
    {
      folder,
      onPart: (blockCount, byteLength) => {
        parts.push([blockCount, byteLength]);
        names.push(readdirSync(segments).includes('unused.segment'));
      },
    },
    dependencies(),
  );
  expect(parts.map(([, byteLength]) => byteLength)).toEqual(sizes);
  expect(parts.reduce((sum, [blockCount]) => sum + blockCount, 4)).toBe(rawBlocks().length);
  expect(names).toEqual([false, false]);
});

test('error: dataset-write-failed: a process without the lock converts nothing', async () => {
  const folder = copyOfGolden();
  const upgrade = upgradeDataset({ folder }, { ...dependencies(), isLockHeld: () => false });
  await expect(upgrade).rejects.toMatchObject({ code: 'dataset-write-failed' });
  await expect(Dataset.open({ folder, realTime: false }, dependencies())).rejects.toMatchObject({
    code: 'dataset-upgrade-needed',
  });
});

test('error: journal-missing: segments without a journal are not converted', async () => {
  const folder = copyOfGolden();
  rmSync(join(folder, 'journal'), { recursive: true });
  await expect(upgradeDataset({ folder }, dependencies())).rejects.toMatchObject({
    code: 'journal-missing',
  });
});

/** The file system calls that change the disk. The test kills a run before each of them. */
const changingCalls = ['rename', 'remove', 'makeFolder', 'syncFolder'] as const;

test('behavior: a run can be killed before each of its changes on the disk without losing a block', async () => {
  for (let killAt = 1; ; killAt++) {
    const folder = copyOfGolden();
    let calls = 0;
    const fs = new Proxy(nodeFs, {
      get(target, name: keyof typeof nodeFs) {
        const own = target[name] as (...args: never[]) => unknown;
        if (!changingCalls.includes(name as never)) return own;
        return (...args: never[]) => {
          if (++calls >= killAt) throw new Error('killed');
          return own.apply(target, args);
        };
      },
    });
    const outcome = await upgradeDataset({ folder }, { ...dependencies(), fs }).catch(
      () => 'killed',
    );
    await upgradeDataset({ folder }, dependencies());
    expect(await storedBlocks(folder), `killed at change ${killAt}`).toEqual(rawBlocks());
    if (outcome !== 'killed') return;
    expect(killAt).toBeLessThan(100);
  }
});
