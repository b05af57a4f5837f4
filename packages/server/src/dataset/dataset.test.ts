import { setMaxListeners } from 'node:events';
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { Block } from '@sluice/ledger/block';
import { describe, expect, test } from 'vitest';
import { ManualClock } from '../../../base/src/testing/manual-clock.ts';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { hash, makeRun, nameOf, ref, slot } from '../chain/testing/chain-fixtures.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { type SimFault, SimFs, SimKilled } from '../storage/testing/sim-fs.ts';
import type { NewBlock, NewChange } from './chain-writer.ts';
import { Dataset } from './dataset.ts';
import { encodeManifest, type Manifest } from './manifest.ts';
import { createDataset, datasetExists } from './stored/create-dataset.ts';
import { decodeHotBlock } from './testing/decode-hot-block.ts';

const folder = 'data/ledger';
const manifest: Manifest = {
  name: 'ledger',
  aliases: ['other'],
  genesisHash: null,
  votes: 'drop',
  metaOptional: false,
  allowMissing: [],
};
const anchor = { number: slot(9), hash: hash('a9') };
const below = { number: 9, hash: 'a9', height: 100 };
const never = new AbortController().signal;

function dependenciesOf(fs: SimFs, clock = new ManualClock(), isLockHeld = () => true) {
  return { fs, clock, isLockHeld };
}

async function open(fs: SimFs, limits = {}, dependencies = dependenciesOf(fs)): Promise<Dataset> {
  if (!(await datasetExists(folder, fs))) await createDataset(folder, manifest, dependencies);
  return Dataset.open({ folder, realTime: true, limits }, dependencies);
}

function withBytes(run: ReturnType<typeof makeRun>): NewBlock[] {
  return run.map(({ header }) => ({
    header,
    bytes: new TextEncoder().encode(header.hash.repeat(40)),
  }));
}

const create: NewChange = { kind: 'create', anchor };
const first: NewChange = { kind: 'extend', blocks: withBytes(makeRun('a', [10, 11, 12], below)) };
const tip12 = { number: 12, hash: 'a12', height: 103 };
const tip11 = { number: 11, hash: 'a11', height: 102 };
const fork: NewChange = {
  kind: 'replace',
  ancestor: ref('a11'),
  blocks: withBytes(makeRun('b', [13, 14], tip11)),
};

function names({ hot }: ChainSnapshot): string[] {
  return hot.map(({ header }) => nameOf(header.hash));
}

/** Returns everything that a restart must restore. */
function essence(snapshot: ChainSnapshot): unknown {
  return { ...snapshot, replaced: [...snapshot.replaced] };
}

async function expectPayloads(dataset: Dataset): Promise<void> {
  for (const block of dataset.snapshot().hot) {
    const text = new TextDecoder().decode(await dataset.readHotBlock(block));
    expect(text).toBe(block.header.hash.repeat(40));
  }
}

describe('commits', () => {
  test('default: I-72 a restart restores every field and every payload', async () => {
    const fs = new SimFs();
    const dataset = await open(fs);
    await dataset.commit([create]);
    await dataset.commit([first]);
    await dataset.commit([fork, { kind: 'finalize', block: ref('a11') }]);
    await dataset.adoptGenesis('genesis');
    const before = essence(dataset.snapshot());
    await dataset.close();
    const again = await open(fs);
    expect(essence(again.snapshot())).toEqual(before);
    expect(again.snapshot()).toMatchObject({ version: 3, start: 10, head: ref('b14') });
    expect([...again.snapshot().replaced.keys()]).toEqual([hash('a12')]);
    expect(again.description).toMatchObject({ name: 'ledger', genesisHash: 'genesis' });
    await expectPayloads(again);
  });

  test('behavior: I-62 nothing is visible before it is durable', async () => {
    const fs = new SimFs();
    const dataset = await open(fs);
    await dataset.commit([create]);
    let seenDuringSync: unknown;
    fs.fault = ({ name }) => {
      if (name === 'sync') seenDuringSync = dataset.snapshot().head;
      return undefined;
    };
    await dataset.commit([first]);
    expect(seenDuringSync).toBeNull();
    expect(dataset.snapshot().head).toEqual(ref('a12'));
  });

  test('behavior: commits that are queued during a sync share the next one', async () => {
    const fs = new SimFs();
    const dataset = await open(fs);
    await dataset.commit([create, first]);
    let syncCount = 0;
    fs.fault = ({ name }) => {
      if (name === 'sync') syncCount++;
      return undefined;
    };
    const blocks = withBytes(
      makeRun(
        'a',
        Array.from({ length: 50 }, (_, i) => 13 + i),
        tip12,
      ),
    );
    await Promise.all(blocks.map((block) => dataset.commit([{ kind: 'extend', blocks: [block] }])));
    expect(dataset.snapshot().head).toEqual(ref('a62'));
    expect(syncCount).toBeLessThan(5);
  });

  test('error: a rejected change has no effect', async () => {
    const fs = new SimFs();
    const dataset = await open(fs);
    const before = await dataset.commit([create, first]);
    const bad: NewChange = { kind: 'extend', blocks: withBytes(makeRun('z', [13], tip11)) };
    await expect(dataset.commit([bad])).rejects.toMatchObject({ code: 'chain-not-linked' });
    expect(dataset.snapshot()).toBe(before);
    expect(dataset.pendingSnapshot()).toBe(before);
  });

  test('behavior: I-13 blocks that are already stored cause neither a write nor a new version', async () => {
    const fs = new SimFs();
    const dataset = await open(fs);
    const before = await dataset.commit([create, first]);
    const operations = fs.operationCount;
    expect(await dataset.commit([first])).toBe(before);
    expect(fs.operationCount).toBe(operations);
  });

  test('error: I-16 data-folder-lock-lost: a process that lost the lock no longer writes', async () => {
    const fs = new SimFs();
    let held = true;
    const dataset = await open(
      fs,
      {},
      dependenciesOf(fs, new ManualClock(), () => held),
    );
    await dataset.commit([create]);
    held = false;
    await expect(dataset.commit([first])).rejects.toMatchObject({ code: 'dataset-write-failed' });
    expect(dataset.snapshot().head).toBeNull();
    await expect(dataset.reopen()).rejects.toMatchObject({ code: 'data-folder-lock-lost' });
  });

  test('behavior: I-91 after a lost lock is reacquired, the journal is read again and writing resumes', async () => {
    const fs = new SimFs();
    let held = true;
    let isHeldByOther = true;
    const reacquireLock = async () => {
      if (isHeldByOther) throw new CodedError('data-folder-locked');
      held = true;
    };
    const isLockHeld = () => held;
    const dependencies = { ...dependenciesOf(fs, new ManualClock(), isLockHeld), reacquireLock };
    const dataset = await open(fs, {}, dependencies);
    await dataset.commit([create]);
    held = false;
    await expect(dataset.commit([first])).rejects.toMatchObject({ code: 'dataset-write-failed' });
    const alarmText = () => dataset.status().alarms.map(({ message }) => message);
    expect(alarmText()).toEqual([expect.stringContaining('was lost')]);
    await expect(dataset.reopen()).rejects.toMatchObject({ code: 'data-folder-locked' });
    expect(alarmText()).toEqual([expect.stringContaining('another process')]);
    isHeldByOther = false;
    await dataset.reopen();
    await dataset.commit([first]);
    expect(dataset.status()).toMatchObject({ storage: { kind: 'open' }, alarms: [] });
    expect(dataset.snapshot().head).toEqual(ref('a12'));
  });

  test('behavior: I-97 a branch that removes no block is not counted as a fork, and failed commits are not counted', async () => {
    const fs = new SimFs();
    const dataset = await open(fs);
    await dataset.commit([create, first]);
    const blocks = withBytes(makeRun('a', [13], tip12));
    fs.fault = ({ name }) => (name === 'write' ? 'ENOSPC' : undefined);
    await expect(dataset.commit([fork])).rejects.toMatchObject({ code: 'dataset-write-failed' });
    fs.fault = () => undefined;
    await dataset.reopen();
    await dataset.commit([{ kind: 'replace', ancestor: ref('a12'), blocks }]);
    const { counters } = dataset.status();
    expect(counters).toEqual({ commits: 2, forks: 0, replacedBlocks: 0, writeFailures: 1 });
  });
});

/**
 * Runs a history with every kind of change and rotating files. Calls `report` with the durable state and the state that
 * may be durable.
 */
async function live(
  fs: SimFs,
  report: (durable: unknown, next: unknown) => void,
): Promise<Dataset> {
  const dataset = await open(fs, { journalFileBytesMax: 3_000 });
  const step = async (...changes: NewChange[]) => {
    const before = dataset.pendingSnapshot();
    const durable = dataset.commit(changes);
    durable.catch(() => undefined); // The rejection is handled below, but possibly after it occurs.
    for (let i = 0; i < 50 && dataset.pendingSnapshot() === before; i++) await Promise.resolve();
    report(essence(dataset.snapshot()), essence(dataset.pendingSnapshot()));
    report(essence(await durable), essence(dataset.snapshot()));
  };
  await step(create);
  await step(first);
  await step(fork);
  let tip = { number: 14, hash: 'b14', height: 104 };
  for (let i = 0; i < 6; i++) {
    const run = makeRun(`c${i}x`, [tip.number + 1, tip.number + 3], tip);
    await step({ kind: 'extend', blocks: withBytes(run) });
    const last = run.at(-1)?.header as { number: number; hash: string; height: number };
    if (i % 2 === 1)
      await step({ kind: 'finalize', block: { number: slot(tip.number), hash: hash(tip.hash) } });
    if (i === 4) await step({ kind: 'trim', keepFrom: slot(11) });
    tip = { number: last.number, hash: last.hash, height: last.height };
  }
  return dataset;
}

describe('crashes', () => {
  async function crashAt(at: number, fault: SimFault) {
    const fs = new SimFs();
    let allowed: unknown[] = [];
    fs.fault = ({ index }) => (index === at ? fault : undefined);
    try {
      await live(fs, (durable, next) => {
        allowed = [durable, next];
      });
      return { fs, allowed, finished: true };
    } catch (error) {
      if (!(error instanceof SimKilled) && !isCodedError(error)) throw error;
      return { fs, allowed, finished: false };
    }
  }

  function randomFrom(seed: number): () => number {
    let state = seed * 2_654_435_761;
    return () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 4_294_967_296;
    };
  }

  test('behavior: I-70 I-71 a kill or power loss at any operation leaves the last committed state', async () => {
    for (let at = 0, finished = false; !finished; at++) {
      for (const power of [false, true]) {
        const outcome = await crashAt(at, 'kill');
        finished = outcome.finished;
        if (power) outcome.fs.powerLoss(randomFrom(at + 1));
        else outcome.fs.restart();
        const dataset = await open(outcome.fs);
        if (outcome.allowed.length > 0) {
          expect(outcome.allowed).toContainEqual(essence(dataset.snapshot()));
        }
        await expectPayloads(dataset);
        await dataset.close();
      }
    }
  });

  test('behavior: I-77 after a failed write reading continues, and writing resumes after reopen', async () => {
    for (const operation of ['write', 'sync']) {
      const fs = new SimFs();
      const dataset = await open(fs);
      const before = await dataset.commit([create, first]);
      fs.fault = ({ name }) => (name === operation ? 'EIO' : undefined);
      await expect(dataset.commit([fork])).rejects.toMatchObject({ code: 'dataset-write-failed' });
      await expect(dataset.commit([fork])).rejects.toMatchObject({ code: 'dataset-write-failed' });
      expect(dataset.snapshot()).toBe(before);
      await expectPayloads(dataset);
      expect(dataset.status().storage.kind).toBe('failed');
      expect(dataset.status().alarms.map(({ code }) => code)).toEqual(['dataset-write-failed']);
      await expect(dataset.reopen()).rejects.toMatchObject({ code: 'storage-failed' });
      fs.fault = () => undefined;
      await dataset.reopen();
      expect(dataset.status()).toMatchObject({ storage: { kind: 'open' }, alarms: [] });
      await dataset.commit([fork]);
      const after = essence(dataset.snapshot());
      fs.powerLoss(randomFrom(5));
      const again = await open(fs);
      expect(essence(again.snapshot())).toEqual(after);
      await expectPayloads(again);
    }
  });
});

test.each(['write', 'sync', 'openFile', 'truncate', 'close', 'rename', 'syncFolder', 'remove'])(
  'behavior: F-20 a disk that fails in %s while the journal is reopened repeatedly leaves no file open',
  async (operation) => {
    const fs = new SimFs();
    const dataset = await open(fs);
    await dataset.commit([create, first]);
    const isFailing = { write: true, [operation]: true };
    fs.fault = ({ name }) => (name in isFailing ? 'ENOSPC' : undefined);
    await expect(dataset.commit([fork])).rejects.toMatchObject({ code: 'dataset-write-failed' });
    for (let i = 0; i < 5; i++) await expect(dataset.reopen()).rejects.toThrow();
    expect(fs.openFileCount).toBeLessThanOrEqual(2);
    fs.fault = () => undefined;
    await dataset.reopen();
    await dataset.commit([fork]);
    expect(dataset.snapshot().head).toEqual(ref('b14'));
    await dataset.close();
    expect(fs.openFileCount).toBe(0);
  },
);

test('behavior: I-77 several reopens at the same time are one, and leave no alarm', async () => {
  const fs = new SimFs();
  const dataset = await open(fs);
  await dataset.commit([create, first]);
  fs.fault = ({ name }) => (name === 'write' ? 'EIO' : undefined);
  const commits = [dataset.commit([fork]), dataset.commit([fork])];
  for (const commit of commits) await expect(commit).rejects.toThrow();
  fs.fault = () => undefined;
  const reopened = await Promise.allSettled([1, 2, 3].map(() => dataset.reopen()));
  expect(reopened.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
  expect(dataset.status()).toMatchObject({ storage: { kind: 'open' }, alarms: [] });
  await dataset.commit([fork]);
  expect(fs.openFileCount).toBeLessThanOrEqual(2);
});

describe('readers', () => {
  test('behavior: a waiter gets the next version, immediately if there is one', async () => {
    const dataset = await open(new SimFs());
    const waiting = dataset.changed(0, never);
    await dataset.commit([create]);
    expect((await waiting).version).toBe(1);
    expect((await dataset.changed(0, never)).version).toBe(1);
    const abort = new AbortController();
    const aborted = dataset.changed(1, abort.signal);
    abort.abort();
    expect((await aborted).version).toBe(1);
    const closing = dataset.changed(1, never);
    await dataset.close();
    expect((await closing).version).toBe(1);
  });

  test('behavior: thousands of waiters are all woken, in batches', async () => {
    const dataset = await open(new SimFs());
    const { signal } = new AbortController();
    setMaxListeners(0, signal);
    let woken = 0;
    const all = Array.from({ length: 1_000 }, () => dataset.changed(0, signal).then(() => woken++));
    await dataset.commit([create]);
    const woke = woken;
    await new Promise((resolve) => setImmediate(resolve));
    expect(woke).toBeLessThanOrEqual(64);
    expect(woken).toBeLessThanOrEqual(3 * 64);
    // A waiter and a commit that arrive while the others are being woken.
    const late = dataset.changed(1, never);
    await dataset.commit([first]);
    await Promise.all(all);
    expect((await late).version).toBe(2);
  });

  test('limit: waiters-full: a waiter beyond the limit is rejected', async () => {
    const dataset = await open(new SimFs(), { waiterCountMax: 2 });
    const abort = new AbortController();
    const kept = [dataset.changed(0, abort.signal), dataset.changed(0, abort.signal)];
    await expect(dataset.changed(0, never)).rejects.toMatchObject({ code: 'waiters-full' });
    abort.abort();
    await Promise.all(kept);
  });

  test('behavior: the payloads of a leased snapshot stay readable after they left the chain and their file was rotated', async () => {
    const fs = new SimFs();
    const limits = { journalFileBytesMax: 1, payloadCacheBytesMax: 1 };
    const dataset = await open(fs, limits);
    await dataset.commit([create]);
    await dataset.commit([first]);
    const lease = dataset.acquire();
    const replaced = lease.snapshot.hot.at(-1) as ChainSnapshot['hot'][number];
    await dataset.commit([fork, { kind: 'finalize', block: ref('b14') }]);
    await dataset.commit([{ kind: 'trim', keepFrom: slot(14) }]);
    const tip = { number: 14, hash: 'b14', height: 104 };
    await dataset.commit([{ kind: 'extend', blocks: withBytes(makeRun('b', [15], tip)) }]);
    const text = new TextDecoder().decode(await dataset.readHotBlock(replaced));
    expect(text).toBe(hash('a12').repeat(40));
    const fileCount = fs.paths().length;
    lease.release();
    lease.release();
    await dataset.commit([
      {
        kind: 'extend',
        blocks: withBytes(makeRun('b', [16], { number: 15, hash: 'b15', height: 105 })),
      },
    ]);
    expect(fs.paths().length).toBeLessThan(fileCount + 1);
    await expect(dataset.readHotBlock(replaced)).rejects.toMatchObject({ code: 'payload-gone' });
  });

  test('behavior: a hot block is decoded from its one-block segment', async () => {
    const base58 = (letter: string) => hash(`${letter.repeat(43)}w`);
    const dataset = await open(new SimFs());
    const parent = { number: 9, hash: base58('2'), height: 100 };
    const [run] = makeRun('a', [10], parent);
    const header = { ...(run as { header: Block['header'] }).header, hash: base58('3') };
    const empty = { transactions: [], instructions: [], logs: [], balances: [], tokenBalances: [] };
    const block: Block = { header, ...empty, rewards: [] };
    const bytes = buildSegment([block]);
    await dataset.commit([
      { kind: 'create', anchor: { number: slot(9), hash: base58('2') } },
      { kind: 'extend', blocks: [{ header, bytes }] },
    ]);
    const [hot] = dataset.snapshot().hot;
    expect(await decodeHotBlock(dataset, hot as ChainSnapshot['hot'][number])).toEqual(block);
  });
});

describe('operation', () => {
  const patient = { timeout: 20_000 };

  test('behavior: F-20 below the minimum free space writing stops, reading continues, and writing resumes by itself', async () => {
    const fs = new SimFs();
    const clock = new ManualClock();
    const dataset = await open(fs, {}, dependenciesOf(fs, clock));
    const before = await dataset.commit([create, first]);
    fs.diskSpace = { freeBytes: 1e9, totalBytes: 1e12 };
    clock.advance(1_000);
    // This commit changes nothing, but triggers a measurement of the free space.
    await dataset.commit([first]);
    await expect.poll(() => dataset.status().storage.kind, patient).toBe('disk-floor');
    await expect(dataset.commit([fork])).rejects.toMatchObject({ code: 'disk-floor-reached' });
    expect(dataset.snapshot()).toBe(before);
    await expectPayloads(dataset);
    expect(dataset.alarms.has('disk-floor-reached')).toBe(true);
    fs.diskSpace = { freeBytes: 2e9, totalBytes: 1e12 };
    clock.advance(1_000);
    expect(names(await dataset.commit([fork]))).toEqual(['a10', 'a11', 'b13', 'b14']);
    expect(dataset.status()).toMatchObject({ storage: { kind: 'open' }, alarms: [] });
  });

  test('behavior: F-25 writing stops when the folder is missing, and resumes when it exists again', async () => {
    const fs = new SimFs();
    const clock = new ManualClock();
    const dataset = await open(fs, {}, dependenciesOf(fs, clock));
    const before = await dataset.commit([create, first]);
    const realSpace = fs.space.bind(fs);
    fs.space = async () => Promise.reject(new CodedError('storage-missing'));
    clock.advance(1_000);
    await dataset.commit([first]);
    await expect.poll(() => dataset.alarms.has('dataset-write-failed'), patient).toBe(true);
    await expect(dataset.commit([fork])).rejects.toMatchObject({ code: 'dataset-write-failed' });
    expect(dataset.snapshot()).toBe(before);
    await expectPayloads(dataset);
    fs.space = realSpace;
    await dataset.reopen();
    expect(names(await dataset.commit([fork]))).toEqual(['a10', 'a11', 'b13', 'b14']);
    expect(dataset.status().alarms).toEqual([]);
  });

  test('error: I-75 an unknown format or a damaged manifest is rejected and no file is changed', async () => {
    const text = encodeManifest(manifest);
    const cases: [string, string][] = [
      [text.replace('"formatVersion": 3', '"formatVersion": 4'), 'dataset-version-unknown'],
      [text.replace('"drop"', '"keep"'), 'dataset-manifest-damaged'],
      [text.slice(0, 40), 'dataset-manifest-damaged'],
      ['', 'dataset-manifest-damaged'],
    ];
    for (const [content, code] of cases) {
      const fs = new SimFs();
      fs.writeRaw(`${folder}/manifest.json`, new TextEncoder().encode(content));
      await expect(open(fs)).rejects.toMatchObject({ code });
      expect(fs.paths()).toEqual([`${folder}/manifest.json`]);
    }
  });

  test('error: F-15 dataset-genesis-differs: once the ledger is known, another one is rejected', async () => {
    const dataset = await open(new SimFs());
    await dataset.adoptGenesis('one');
    await dataset.adoptGenesis('one');
    await expect(dataset.adoptGenesis('two')).rejects.toMatchObject({
      code: 'dataset-genesis-differs',
    });
    expect(dataset.description.genesisHash).toBe('one');
  });

  test('error: dataset-name-invalid: a name outside the allowed pattern is rejected', async () => {
    const fs = new SimFs();
    for (const name of ['', '-a', 'A', 'a/b', '..', 'a'.repeat(65)]) {
      await expect(createDataset(folder, { ...manifest, name }, { fs })).rejects.toMatchObject({
        code: 'dataset-name-invalid',
      });
    }
  });
});
