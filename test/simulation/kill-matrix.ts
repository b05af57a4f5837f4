/**
 * A script that does everything that writes to a disk or a bucket, and is killed at any of these operations. What the next process finds must be
 * what was acknowledged, and when the script is continued, its result must be that of a script that was never killed.
 */
import { isDeepStrictEqual } from 'node:util';
import { elementAt } from '@sluice/base/element-at';
import { Random } from '@sluice/base/random';
import { ManualClock } from '../../packages/base/src/testing/manual-clock.ts';
import type { ChainSnapshot } from '../../packages/server/src/chain/chain-snapshot.ts';
import {
  allLists,
  indexFile,
  listFile,
  segmentFile,
  segmentsFrom,
} from '../../packages/server/src/chain/segment-lists.ts';
import { backupDataset, verifyBackup } from '../../packages/server/src/cluster/backup-dataset.ts';
import { openBucket } from '../../packages/server/src/cluster/bucket.ts';
import { pullDataset } from '../../packages/server/src/cluster/pull-dataset.ts';
import { Dataset } from '../../packages/server/src/dataset/dataset.ts';
import {
  createDataset,
  datasetExists,
} from '../../packages/server/src/dataset/stored/create-dataset.ts';
import { readStoredDataset } from '../../packages/server/src/dataset/stored/stored-dataset.ts';
import { verifyDataset } from '../../packages/server/src/dataset/stored/verify-dataset.ts';
import { mergeInProcess } from '../../packages/server/src/dataset/testing/merge-in-process.ts';
import { MemoryStore } from '../../packages/server/src/object-store/testing/memory-store.ts';
import { openSegment } from '../../packages/server/src/segment/read/open-segment.ts';
import { decodeBlocks } from '../../packages/server/src/segment/testing/decode-blocks.ts';
import { SimFs } from '../../packages/server/src/storage/testing/sim-fs.ts';
import { Ledger, type LedgerBlock } from './ledger.ts';
import { must, Violation } from './model.ts';
import type { MortalProcess } from './mortal-process.ts';

const name = 'ledger';
const folder = `data/${name}`;
const restoredFolder = 'data/restored';
const { signal } = new AbortController();
const onPart = () => undefined;
const limits = { journalFileBytesMax: 4_096, sealBlockCount: 3, mergeBytes: 6_000, mergeCount: 2 };
const retention = { kind: 'blocks', count: 20 } as const;

/** The branches of the ledger: the first one is abandoned at a fork. */
export interface Plan {
  readonly ledger: Ledger;
  readonly abandoned: readonly LedgerBlock[];
  readonly chain: readonly LedgerBlock[];
}

export function makePlan(): Plan {
  const ledger = new Ledger(Random.fromSeed(1));
  for (let i = 0; i < 18; i++) ledger.produce(i % 5 === 0 ? 2 : 0);
  const abandoned = [...ledger.chain];
  ledger.abandon(4);
  while (ledger.chain.length < 60) ledger.produce(ledger.chain.length % 7 === 0 ? 1 : 0);
  return { ledger, abandoned, chain: ledger.chain };
}

/** A disk and a bucket. */
export interface Machine {
  readonly disk: SimFs;
  readonly store: MemoryStore;
}

export function newMachine(): Machine {
  return { disk: new SimFs(), store: new MemoryStore() };
}

export function copyMachine({ disk, store }: Machine): Machine {
  const copy = { disk: disk.copy(), store: new MemoryStore() };
  for (const [key, object] of store.objects) copy.store.objects.set(key, object);
  return copy;
}

/** What has been acknowledged. */
interface Acknowledged {
  /** The slot of the last block of the newest complete backup. */
  backupSlot: number;
  isRestored: boolean;
}

/** Runs the script in a simulated process, which may be killed at one of its operations. */
export class ScriptRun {
  readonly plan: Plan;
  readonly process: MortalProcess;
  readonly acknowledged: Acknowledged;
  dataset: Dataset | undefined;
  /** The step in progress. */
  step: number;

  constructor(plan: Plan, process: MortalProcess, before?: ScriptRun) {
    this.plan = plan;
    this.process = process;
    this.step = before?.step ?? 0;
    this.acknowledged = { backupSlot: -1, isRestored: false, ...before?.acknowledged };
  }

  /** Runs the remaining steps. Never resolves if the process is killed. */
  async run(): Promise<void> {
    await this.boot();
    for (; this.step < steps.length; this.step++) await steps[this.step]?.(this);
  }

  async boot(): Promise<void> {
    const { fs, makeIndex } = this.process;
    if (!(await datasetExists(folder, fs))) {
      const rest = { genesisHash: null, metaOptional: false, allowMissing: [] };
      await createDataset(folder, { name, aliases: [], votes: 'drop', ...rest }, { fs });
    }
    this.dataset = await Dataset.open(
      { folder, realTime: true, limits },
      {
        fs,
        clock: new ManualClock(),
        isLockHeld: () => true,
        merge: mergeInProcess,
        makeIndex,
      },
    );
  }

  get open(): Dataset {
    must(this.dataset !== undefined, 'the dataset is open');
    return this.dataset;
  }

  blockOf(ref: { readonly hash: string | null } | null): LedgerBlock | undefined {
    return ref?.hash == null ? undefined : this.plan.ledger.find(ref.hash);
  }
}

type Step = (run: ScriptRun) => Promise<void>;

const create: Step = async ({ open, plan }) => {
  if (open.snapshot().start !== null) return;
  const { number, hash } = elementAt(plan.chain, 9).header;
  await open.commit([{ kind: 'create', anchor: { number, hash } }]);
};

/** Appends blocks of a branch, three at a time, or replaces those of another one. */
function follow(branchOf: (plan: Plan) => readonly LedgerBlock[], depth: number): Step {
  return async (run) => {
    const branch = branchOf(run.plan);
    const { open } = run;
    for (;;) {
      const { head, anchor } = open.snapshot();
      let at = run.blockOf(head ?? anchor);
      const isFork = at !== undefined && branch[at.depth] !== at;
      while (at !== undefined && branch[at.depth] !== at) at = at.parent ?? undefined;
      must(at !== undefined, 'the branches have a common block');
      if (at.depth >= depth) return;
      const blocks = branch
        .slice(at.depth + 1, Math.min(at.depth + 3, depth) + 1)
        .map((block) => ({ header: block.header, bytes: block.segmentBytes() }));
      const { number, hash } = at.header;
      const ancestor = { number, hash };
      await open.commit([
        isFork ? { kind: 'replace', ancestor, blocks } : { kind: 'extend', blocks },
      ]);
    }
  };
}

function finalize(depth: number): Step {
  return async (run) => {
    const { number, hash } = elementAt(run.plan.chain, depth).header;
    const before = run.blockOf(run.open.snapshot().finalized);
    if (before !== undefined && before.depth >= depth) return;
    await run.open.commit([{ kind: 'finalize', block: { number, hash } }]);
  };
}

const seal: Step = async ({ open }) => {
  while (await open.seal()) await open.collect();
};

const upkeep: Step = async ({ open }) => {
  await open.finishUpkeep();
  await open.collect();
};

/** Adds history below the start, three blocks at a time. */
function backfill(depth: number): Step {
  return async (run) => {
    for (;;) {
      const anchor = run.blockOf(run.open.snapshot().anchor);
      if (anchor === undefined || anchor.depth <= depth) return;
      const blocks = run.plan.chain.slice(anchor.depth - 2, anchor.depth + 1);
      await run.open.prependSealed(
        blocks.map((block) => block.segmentBytes()),
        blocks.map(({ header }) => header),
      );
    }
  };
}

const trim: Step = async ({ open }) => {
  while (await open.trim(retention)) await open.collect();
};

const backUp: Step = async (run) => {
  const { fs } = run.process;
  const bucket = await openScriptBucket(run.process);
  const { last } = await backupDataset(folder, bucket, {
    fs,
    merge: mergeInProcess,
    onPart,
    signal,
    // Retention has removed the newest block of the first backup before the second one.
    replace: true,
  });
  run.acknowledged.backupSlot = last ?? -1;
  await bucket.cache.close();
};

const restore: Step = async (run) => {
  const { fs } = run.process;
  if (await datasetExists(restoredFolder, fs)) return;
  const bucket = await openScriptBucket(run.process);
  await pullDataset(restoredFolder, bucket, { fs, onPart, signal });
  run.acknowledged.isRestored = true;
  await bucket.cache.close();
};

const restart: Step = async (run) => {
  await run.open.close();
  run.dataset = undefined;
  await run.boot();
};

const chainOf = ({ chain }: Plan) => chain;

const steps: readonly Step[] = [
  create,
  follow(({ abandoned }) => abandoned, 17),
  follow(chainOf, 24),
  finalize(20),
  seal,
  restart,
  follow(chainOf, 40),
  finalize(36),
  seal,
  upkeep,
  backfill(0),
  backUp,
  trim,
  restart,
  follow(chainOf, 56),
  finalize(54),
  seal,
  follow(chainOf, 59),
  trim,
  upkeep,
  backUp,
  restore,
  restart,
  upkeep,
];

function openScriptBucket({ fs, store }: Pick<MortalProcess, 'fs' | 'store'>) {
  return openBucket(
    { dataset: name, cacheFolder: 'cache', cacheBytesMax: 1 << 20, requestCountMax: 2 },
    { store, fs, clock: new ManualClock() },
  );
}

/** What a state says about the chain. The version and the unused files also change when a process starts. */
export function identify(snapshot: ChainSnapshot): string {
  const { start, anchor, head, finalized, front, lists, segments, indexes, hot, replaced } =
    snapshot;
  const ids = [front, lists, segments, indexes].map((files) => files.map(({ id }) => id));
  const hashes = hot.map(({ header }) => header.hash);
  return JSON.stringify([start, anchor, head, finalized, ids, hashes, [...replaced.keys()]]);
}

/** Returns the state on the disk, without changing anything. */
export async function readState({ disk }: Machine): Promise<ChainSnapshot | undefined> {
  if (!(await datasetExists(folder, disk))) return undefined;
  return (await readStoredDataset(folder, disk)).snapshot;
}

/** Checks everything that is on the disk and in the bucket. Nothing else may use them. */
export async function checkMachine(run: ScriptRun, machine: Machine): Promise<void> {
  const { disk, store } = machine;
  const snapshot = await readState(machine);
  if (snapshot !== undefined && snapshot.start !== null) await checkBlocks(run, folder, disk);
  const { backupSlot, isRestored } = run.acknowledged;
  must(!isRestored || (await datasetExists(restoredFolder, disk)), 'a restored dataset stays');
  if (await datasetExists(restoredFolder, disk)) await checkBlocks(run, restoredFolder, disk);
  if (backupSlot < 0) return;
  // The cache of the bucket is not used, because the next process opens it.
  const bucket = await openScriptBucket({ fs: new SimFs(), store });
  const { damages } = await verifyBackup(bucket, { onPart, signal });
  must(damages.length === 0, `the backup is intact: ${damages.map(({ file }) => file)}`);
  const latest = await bucket.log.readLatest();
  must((latest?.manifest.chain.head?.number ?? -1) >= backupSlot, 'a complete backup stays');
  await bucket.cache.close();
}

/** Checks that a folder has exactly the blocks of one branch between its start and its head, undamaged. */
async function checkBlocks(run: ScriptRun, at: string, disk: SimFs): Promise<void> {
  const damages = await verifyDataset({ folder: at }, disk, signal);
  must(damages.length === 0, `no file is damaged: ${JSON.stringify(damages)}`);
  const { snapshot, readHotBlock } = await readStoredDataset(at, disk);
  const blocks = [];
  for await (const segment of segmentsFrom(snapshot, 0, readNoList))
    blocks.push(...decodeBlocks(openSegment(disk.readRaw(`${at}/${segmentFile(segment)}`))));
  for (const block of snapshot.hot)
    blocks.push(...decodeBlocks(openSegment(await readHotBlock(block))));
  const expected: LedgerBlock['block'][] = [];
  let next = run.blockOf(snapshot.head);
  for (; next !== undefined && next.slot >= (snapshot.start ?? 0); next = next.parent ?? undefined)
    expected.unshift(next.block);
  must(isDeepStrictEqual(blocks, expected), 'every block of the branch is stored once');
}

/** Reads lists of segments. The script has too few segments for a list. */
async function readNoList(): Promise<never> {
  throw new Violation('there are no lists');
}

/** Returns the files that a machine has at the end beside those that its state needs. */
export async function findLeftovers(machine: Machine): Promise<string[]> {
  const snapshot = await readState(machine);
  must(snapshot !== undefined, 'there is a dataset');
  const needed = new Set([`${folder}/manifest.json`]);
  for await (const segment of segmentsFrom(snapshot, 0, readNoList))
    needed.add(`${folder}/${segmentFile(segment)}`);
  for await (const list of allLists(snapshot.lists, readNoList))
    needed.add(`${folder}/${listFile(list)}`);
  for (const run of snapshot.indexes) needed.add(`${folder}/${indexFile(run)}`);
  return machine.disk
    .paths()
    .filter((path) => path.startsWith(`${folder}/`) || path.endsWith('.tmp'))
    .filter((path) => !needed.has(path) && !/\/journal\/\d+\.journal$/.test(path));
}
