/** Runs `sluice backfill`: loads history from sources into one dataset of a data folder. */

import { availableParallelism } from 'node:os';
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { Random } from '@sluice/base/random';
import type { Slot } from '@sluice/ledger/primitives';
import { datasetNamePattern } from '@sluice/protocol/dataset-name';
import type { SourceOptions } from '@sluice/source/open-source';
import type { Dataset } from '../dataset/dataset.ts';
import { datasetExists } from '../dataset/stored/create-dataset.ts';
import { Backfill } from '../ingest/backfill/backfill.ts';
import { BlockLoader } from '../ingest/follow/block-loader.ts';
import { FollowedSource } from '../ingest/follow/followed-source.ts';
import { checkIdentity } from '../ingest/follow/genesis.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { Closers } from './closers.ts';
import { lockDataFolder } from './lock-data-folder.ts';
import { openOrCreateDataset } from './open-dataset.ts';
import { startPreparing } from './start-preparing.ts';

export interface BackfillDatasetOptions {
  readonly dataFolder: string;
  readonly name: string;
  /** The lowest slot to load, inclusive. */
  readonly to: Slot;
  readonly sources: readonly SourceOptions[];
  /** The seed of random waits, so that several processes do not retry at the same time. */
  readonly seed: number;
}

export interface BackfillDatasetDependencies {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called with the first stored slot, and with the first slot of the sources if they reported it. */
  readonly onStart: (start: Slot, firstAvailable: Slot | undefined) => void;
  readonly onBlock: (slot: Slot, byteLength: number) => void;
}

/** More threads would only wait for the node. */
const workerCountMax = 8;

/** Returns the first stored slot. Segments that were stored before an interruption or an error stay. */
export async function backfillDataset(
  options: BackfillDatasetOptions,
  dependencies: BackfillDatasetDependencies,
): Promise<Slot> {
  const { dataFolder, name, to } = options;
  const { signal, clock, onStart, onBlock } = dependencies;
  const closers = new Closers();
  try {
    const dataset = await openStored(dataFolder, name, clock, closers);
    const before = startOf(dataset);
    if (before <= to) return before;
    const sources = await openSources(options, dependencies, dataset, closers);
    onStart(before, await findFirstAvailable(sources(), signal));
    const { description } = dataset;
    const workerCount = Math.min(availableParallelism(), workerCountMax);
    const loader = new BlockLoader(startPreparing(description, { workerCount }, closers));
    const parts = { dataset, loader, clock, sources, onBlock };
    await Backfill.run({ to, storesOnStop: true }, parts, signal);
    return startOf(dataset);
  } finally {
    await closers.closeAll();
  }
}

async function openStored(
  dataFolder: string,
  name: string,
  clock: Clock,
  closers: Closers,
): Promise<Dataset> {
  if (!datasetNamePattern.test(name)) throw new CodedError('dataset-name-invalid', { name });
  if (!(await datasetExists(`${dataFolder}/${name}`, nodeFs))) {
    throw new CodedError('dataset-missing', { dataset: name, folder: dataFolder });
  }
  const lock = await lockDataFolder(dataFolder);
  closers.add(() => lock.release());
  const open = { folder: `${dataFolder}/${name}`, name, realTime: false };
  const dataset = await openOrCreateDataset(open, { fs: nodeFs, clock, lock });
  closers.add(() => dataset.close());
  return dataset;
}

function startOf(dataset: Dataset): Slot {
  const { start } = dataset.snapshot();
  if (start === null) throw new CodedError('backfill-too-early');
  return start;
}

/** Opens the sources and returns those that serve the same ledger. */
async function openSources(
  { sources, seed }: BackfillDatasetOptions,
  { clock, signal }: BackfillDatasetDependencies,
  dataset: Dataset,
  closers: Closers,
): Promise<() => readonly FollowedSource[]> {
  const all: FollowedSource[] = [];
  for (const options of sources) {
    const random = Random.fromSeed(seed).fork(options.name);
    const source = new FollowedSource(options, { clock, random });
    closers.add(() => source.remote.close());
    all.push(source);
  }
  for (const source of all) {
    const identity = source.note(await source.remote.identity(signal));
    if (identity.kind === 'ok') checkIdentity(source, identity.value, dataset);
  }
  const usable = () => all.filter(({ health }) => !health.isDisabled && !health.isKeyRejected);
  if (usable().length === 0) {
    const fault = all[0]?.health.status.fault ?? null;
    throw new CodedError('backfill-sources-unusable', { fault });
  }
  return usable;
}

/** Returns the lowest slot that a source has; undefined if no source reported it. */
async function findFirstAvailable(
  sources: readonly FollowedSource[],
  signal: AbortSignal,
): Promise<Slot | undefined> {
  const responses = await Promise.all(sources.map(({ remote }) => remote.firstAvailable(signal)));
  const slots = responses.flatMap((response) => (response.kind === 'ok' ? [response.value] : []));
  return slots.sort((a, b) => a - b)[0];
}
