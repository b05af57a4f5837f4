import { type StdioOptions, spawn } from 'node:child_process';
import { setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type Clock, systemClock } from '@sluice/base/clock';
import { isCodedError } from '@sluice/base/errors';
import { Random } from '@sluice/base/random';
import { workerUrl } from '@sluice/base/worker-url';
import type { BlockHeader } from '@sluice/ledger/block';
import { parseSlot, type Slot } from '@sluice/ledger/primitives';
import type { ChainOptions } from '@sluice/simulator/chain/chain-options';
import type { FaultRequest } from '@sluice/simulator/faults/faults';
import { type SimulatedNode, startNode } from '@sluice/simulator/start-node';
import { createSimulatedLedger } from '@sluice/simulator/start-simulated-node';
import { afterEach, describe, expect, test } from 'vitest';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import { Dataset, type DatasetDependencies } from '../../dataset/dataset.ts';
import { createDataset } from '../../dataset/stored/create-dataset.ts';
import { mergeInProcess } from '../../dataset/testing/merge-in-process.ts';
import type { Fs } from '../../storage/fs.ts';
import { nodeFs } from '../../storage/node-fs.ts';
import { SimFs } from '../../storage/testing/sim-fs.ts';
import { BlockLoader } from '../follow/block-loader.ts';
import { FollowedSource } from '../follow/followed-source.ts';
import type { PreparedBlock } from '../prepare/prepared-block.ts';
import { fastClock } from '../testing/fast-clock.ts';
import { prepareOnce } from '../testing/prepare-once.ts';
import { Backfill } from './backfill.ts';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const startSlot = 120;
const limits = { sealBlockCount: 10, sealBytes: 48 * 1024 * 1024 };
const slotOf = (value: number) => parseSlot(value) as Slot;

type DatasetFiles = Pick<Setting, 'fs' | 'folder'>;

interface Setting {
  readonly nodes: readonly SimulatedNode[];
  readonly dataset: Dataset;
  readonly fs: Fs;
  readonly folder: string;
  /** The slots of the blocks that were reported as linked. */
  readonly linked: readonly number[];
  /** The texts of the faults. */
  readonly faults: readonly unknown[];
  /** Runs a backfill. Returns the code of its error. */
  run(to: number, options?: { patienceMs?: number; signal?: AbortSignal }): Promise<string>;
}

/** Creates a dataset that starts in the middle of a ledger, with its first blocks final. */
async function startSetting(
  chain: Partial<ChainOptions> = {},
  { nodeCount = 1, fs = new SimFs() as Fs, folder = 'data', clock = systemClock as Clock } = {},
): Promise<Setting> {
  const shape = { startSlot, slotMs: 400, skipRate: 0.2, forkRate: 0, ...chain };
  const content = { transactionsPerBlock: 4, votes: 1, epochRewardsPerBlock: 1 };
  const ledger = createSimulatedLedger(
    { paused: true, chain: shape, content },
    { clock: systemClock },
  );
  const nodes: SimulatedNode[] = [];
  for (let i = 0; i < nodeCount; i++) nodes.push(await startNode({}, { ledger }));
  closers.push(async () => {
    for (const node of nodes) await node.close();
  });
  const sources = nodes.map(({ rpcUrl }, i) => {
    const options = { kind: 'rpc' as const, name: `source-${i + 1}`, url: rpcUrl, wsUrls: [] };
    return new FollowedSource(options, { clock, random: Random.fromSeed(i) });
  });
  closers.push(async () => {
    for (const { remote } of sources) await remote.close();
  });
  const loader = new BlockLoader(async (...block) => prepareOnce(...block));
  const dataset = await storeTenBlocks({ fs, folder }, sources[0] as FollowedSource, loader);
  const linked: number[] = [];
  const faults: unknown[] = [];
  return {
    nodes,
    dataset,
    fs,
    folder,
    linked,
    faults,
    run: (to, { patienceMs = 20_000, signal = new AbortController().signal } = {}) =>
      Backfill.run(
        { to: slotOf(to), storesOnStop: true, patienceMs, limits },
        { dataset, loader, clock, sources: () => sources, onBlock: (slot) => linked.push(slot) },
        signal,
      ).then(
        () => 'done',
        (error: unknown) => {
          if (!isCodedError(error)) throw error;
          faults.push(error.detail['fault']);
          return error.code;
        },
      ),
  };
}

/** Stores ten blocks, all final. */
async function storeTenBlocks(
  { fs, folder }: DatasetFiles,
  source: FollowedSource,
  loader: BlockLoader,
): Promise<Dataset> {
  const first = startSlot - 40;
  const manifest = { aliases: [], genesisHash: null, metaOptional: false, allowMissing: [] };
  await createDataset(
    `${folder}/ledger`,
    { name: 'ledger', votes: 'drop', ...manifest },
    dependenciesOf(fs),
  );
  const dataset = await openDataset({ fs, folder });
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const list = await source.remote.listSlots({ first, last: first + 9 }, 'finalized', signal);
  const blocks: PreparedBlock[] = [];
  const slots = list.kind === 'ok' ? list.value : [];
  for await (const loaded of loader.loadAll(source, slots, 'finalized', signal)) {
    if (loaded.kind === 'loaded') blocks.push(loaded.prepared);
  }
  const { parentSlot, parentHash } = (blocks[0] as PreparedBlock).header;
  const last = (blocks.at(-1) as PreparedBlock).header;
  await dataset.commit([
    { kind: 'create', anchor: { number: parentSlot, hash: parentHash } },
    { kind: 'extend', blocks },
    { kind: 'finalize', block: { number: last.number, hash: last.hash } },
  ]);
  return dataset;
}

/** Merges on this thread, because a thread for each of these small segments would take most of the time. */
function dependenciesOf(fs: Fs): DatasetDependencies {
  return { fs, clock: systemClock, isLockHeld: () => true, merge: mergeInProcess };
}

async function openDataset({ fs, folder }: DatasetFiles): Promise<Dataset> {
  const options = { folder: `${folder}/ledger`, realTime: false };
  const dataset = await Dataset.open(options, dependenciesOf(fs));
  closers.push(() => dataset.close());
  return dataset;
}

/** Checks that the stored chain from a slot on is that of the node, and that all its links are valid. */
async function expectChain({ dataset, nodes }: Setting, first: number): Promise<ChainSnapshot> {
  const snapshot = dataset.snapshot();
  const sealed: BlockHeader[] = [];
  for (const segment of snapshot.segments) sealed.push(...(await dataset.readHeaders(segment)));
  const stored = [...sealed, ...snapshot.hot.map(({ header }) => header)];
  const { branch } = (nodes[0] as SimulatedNode).state();
  const expected: string[] = [];
  for (let slot = first; slot <= (snapshot.head?.number ?? -1); slot++) {
    if (branch.hasBlock(slot)) expected.push(`${slot} ${branch.blockAt(slot)?.blockhash}`);
  }
  expect(stored.map(({ number, hash }) => `${number} ${hash}`)).toEqual(expected);
  for (const [i, { parentSlot, parentHash }] of stored.entries()) {
    if (i > 0)
      expect([parentSlot, parentHash]).toEqual([stored[i - 1]?.number, stored[i - 1]?.hash]);
  }
  return snapshot;
}

async function askFirstAvailable({ rpcUrl }: SimulatedNode): Promise<number> {
  const body = '{"jsonrpc":"2.0","id":1,"method":"getFirstAvailableBlock"}';
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(rpcUrl, { method: 'POST', headers, body });
  return ((await response.json()) as { result: number }).result;
}

const existing = ({ nodes }: Setting, at: number) => {
  const { branch } = (nodes[0] as SimulatedNode).state();
  let slot = at;
  while (!branch.hasBlock(slot)) slot--;
  return slot;
};

describe('history', () => {
  test('default: history is loaded down to a slot, inclusive, in whole segments, and a second run changes nothing', async () => {
    const setting = await startSetting();
    const to = existing(setting, 50);
    expect(await setting.run(to)).toBe('done');
    const snapshot = await expectChain(setting, to);
    const sizes = snapshot.segments.map(({ blockCount }) => blockCount);
    expect(sizes.slice(1)).toEqual(sizes.slice(1).map(() => limits.sealBlockCount));
    expect(sizes.length).toBeGreaterThan(2);
    expect(snapshot.start).toBe((snapshot.anchor?.number ?? 0) + 1);
    expect(snapshot.start).toBeLessThanOrEqual(to);
    expect(await setting.run(to)).toBe('done');
    expect(setting.dataset.snapshot()).toBe(snapshot);
  });

  test('default: after a backfill to the start of the ledger there is no anchor', async () => {
    const setting = await startSetting();
    expect(await setting.run(0)).toBe('done');
    const { start, anchor } = await expectChain(setting, 0);
    expect([start, anchor]).toEqual([0, null]);
  });

  test('behavior: history is unchanged after a restart', async () => {
    const setting = await startSetting();
    await setting.run(30);
    const before = setting.dataset.snapshot();
    await setting.dataset.close();
    const again = await openDataset(setting);
    expect(again.snapshot()).toEqual(before);
  });

  test('behavior: the new start becomes visible with a whole segment, and older snapshots stay valid', async () => {
    const setting = await startSetting();
    const starts: (number | null)[] = [];
    const stop = new AbortController();
    const { dataset } = setting;
    const lease = dataset.acquire();
    const watching = (async () => {
      for (let snapshot = dataset.snapshot(); !stop.signal.aborted; ) {
        starts.push(snapshot.start);
        snapshot = await dataset.changed(snapshot.version, stop.signal);
      }
    })();
    await setting.run(0);
    stop.abort();
    await watching;
    expect(lease.snapshot.start).toBe(starts[0]);
    lease.release();
    // One step per segment: all blocks of a segment become visible together.
    const segmentCount = dataset.snapshot().segments.length;
    expect(new Set([...starts, 0]).size).toBe(segmentCount + 1);
  });

  test('behavior: an interrupted backfill keeps what was stored and continues from there', async () => {
    const setting = await startSetting();
    const stop = new AbortController();
    const before = setting.dataset.snapshot();
    void setting.dataset.changed(before.version, stop.signal).then(() => stop.abort());
    expect(await setting.run(0, { signal: stop.signal })).toBe('backfill-interrupted');
    const { start } = setting.dataset.snapshot();
    expect(start).toBeLessThan(before.start as number);
    expect(start).toBeGreaterThan(0);
    await expectChain(setting, start as number);
    expect(await setting.run(0)).toBe('done');
    await expectChain(setting, 0);
  });
});

describe('the process', () => {
  const script = fileURLToPath(new URL('../testing/backfill-in-child.mjs', import.meta.url));
  const dist = workerUrl(import.meta.url, '../../').href;

  /** Kills the process after it has printed this many starts. Returns them and how the process ended. */
  async function runAndKill(folder: string, url: string, count: number) {
    const stdio: StdioOptions = ['ignore', 'pipe', 'inherit'];
    const child = spawn(process.execPath, [script, dist, folder, url], { stdio });
    const ended = new Promise((resolve) => child.once('exit', (code, by) => resolve(by ?? code)));
    const shown: number[] = [];
    for await (const line of createInterface(child.stdout as Readable)) {
      shown.push(Number(line));
      if (shown.length === count) child.kill('SIGKILL');
    }
    return { shown, end: await ended };
  }

  test('behavior: I-70 F-40 after repeated kills a backfill continues from the last whole segment', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-backfill-'));
    closers.push(async () => rmSync(folder, { recursive: true, force: true }));
    const setting = await startSetting({}, { fs: nodeFs, folder });
    const { rpcUrl } = setting.nodes[0] as SimulatedNode;
    await setting.dataset.close();
    let before = Number.POSITIVE_INFINITY;
    for (const count of [2, 1, 3, Number.POSITIVE_INFINITY]) {
      const { shown, end } = await runAndKill(folder, rpcUrl, count);
      expect(end).toBe(Number.isFinite(count) ? 'SIGKILL' : 0);
      // Reported history is present, and history only grows.
      expect(shown[0]).toBeLessThanOrEqual(before);
      expect(shown.toSorted((a, b) => b - a)).toEqual(shown);
      before = shown.at(-1) as number;
      const dataset = await openDataset(setting);
      expect(dataset.snapshot().start).toBeLessThanOrEqual(before);
      const { segments, hot } = dataset.snapshot();
      await expectChain(
        { ...setting, dataset },
        (segments[0]?.first ?? hot[0]?.header)?.number ?? 0,
      );
      await dataset.close();
    }
    expect(before).toBe(0);
  });
});

describe('sources that fail', () => {
  test('error: backfill-pruned: the node has no older blocks, and loaded blocks stay', async () => {
    const setting = await startSetting({ historySlots: 100 });
    expect(await setting.run(10)).toBe('backfill-pruned');
    const { start } = setting.dataset.snapshot();
    const firstAvailable = await askFirstAvailable(setting.nodes[0] as SimulatedNode);
    expect(start).toBeLessThanOrEqual(firstAvailable);
    expect(firstAvailable).toBeGreaterThan(10);
    await expectChain(setting, firstAvailable);
  });

  const lies: [string, FaultRequest][] = [
    ['F-06 a false parent hash', { kind: 'wrong-parent-hash' }],
    ['F-06 a false parent slot', { kind: 'wrong-parent-slot', by: 2 }],
    ['a false hash', { kind: 'bad-hash' }],
    ['a false height', { kind: 'wrong-height', by: 3 }],
    ['F-05 a hole', { kind: 'skip-block', as: 'skipped' }],
    ['F-08 a block without logs', { kind: 'incomplete-meta', missing: 'logs' }],
  ];
  test.each(lies)(
    'error: backfill-stuck: %s is never stored and never skipped, and loaded blocks stay',
    async (_name, fault) => {
      const setting = await startSetting({ skipRate: 0 });
      const node = setting.nodes[0] as SimulatedNode;
      node.faults.set({ ...fault, fromSlot: 60, toSlot: 60 });
      expect(await setting.run(20, { patienceMs: 700 })).toBe('backfill-stuck');
      const { start } = setting.dataset.snapshot();
      expect([61, 62, 63]).toContain(start);
      await expectChain(setting, start as number);
      node.faults.clear();
      expect(await setting.run(20)).toBe('done');
      await expectChain(setting, 20);
    },
  );

  test.each([
    [{ kind: 'incomplete-meta', missing: 'logs', fromSlot: 60, toSlot: 60 }, /^source-1: .*logs/],
    [{ kind: 'wrong-parent-hash', fromSlot: 60, toSlot: 60 }, /^source-1: .*slot 60/],
    [{ kind: 'http-status', status: 503, methods: ['getBlocks'] }, /^source-1: .*503/],
  ] as [FaultRequest, RegExp][])(
    'error: backfill-stuck: the last fault is named, even if its source is in quarantine: %s',
    async (fault, expected) => {
      const setting = await startSetting({ skipRate: 0 }, { clock: fastClock });
      setting.nodes[0]?.faults.set(fault);
      expect(await setting.run(20, { patienceMs: 30_000 })).toBe('backfill-stuck');
      expect(setting.faults).toEqual([expect.stringMatching(expected)]);
      // Loading the same block again is not progress.
      expect(setting.linked).toEqual([...new Set(setting.linked)]);
    },
  );

  test('error: a false parent is detected even for the last block', async () => {
    const setting = await startSetting({ skipRate: 0 });
    const node = setting.nodes[0] as SimulatedNode;
    node.faults.set({ kind: 'wrong-parent-hash', fromSlot: 20, toSlot: 20 });
    expect(await setting.run(20, { patienceMs: 700 })).toBe('backfill-stuck');
    expect(setting.dataset.snapshot().start).toBe(22);
  });

  test('behavior: F-13 if one source returns wrong blocks and another is pruned, each block is loaded from the other one', async () => {
    const setting = await startSetting({ skipRate: 0 }, { nodeCount: 2 });
    const [first, second] = setting.nodes as [SimulatedNode, SimulatedNode];
    first.faults.set({ kind: 'wrong-parent-hash', fromSlot: 60, toSlot: 60 });
    second.faults.set({
      kind: 'rpc-error',
      code: -32001,
      methods: ['getBlock'],
      toSlot: 40,
      fromSlot: 0,
    });
    expect(await setting.run(20)).toBe('done');
    await expectChain(setting, 20);
  });

  test('behavior: F-01 broken connections and rate limits only cost time', async () => {
    const setting = await startSetting();
    const node = setting.nodes[0] as SimulatedNode;
    node.faults.set({ kind: 'drop-connection', atByte: 300, methods: ['getBlock'], times: 3 });
    node.faults.set({ kind: 'rate-limit', methods: ['getBlocks'], times: 2 });
    expect(await setting.run(40)).toBe('done');
    await expectChain(setting, 40);
  });

  test('error: backfill-stuck: all sources are down', async () => {
    const setting = await startSetting();
    (setting.nodes[0] as SimulatedNode).faults.set({ kind: 'http-status', status: 503 });
    const before = setting.dataset.snapshot();
    expect(await setting.run(40, { patienceMs: 500 })).toBe('backfill-stuck');
    expect(setting.dataset.snapshot()).toBe(before);
  });
});
