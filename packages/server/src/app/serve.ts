/** The composition of a service over a data folder: everything in it is served, and one dataset may follow nodes. */
import type { Dialect } from '@sluice/protocol/dialect';
import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import { CodedError, isCodedError } from '../base/errors.ts';
import { Random } from '../base/random.ts';
import { findDatasets } from '../dataset/find-datasets.ts';
import type { Retention } from '../dataset/retention.ts';
import type { StartPoint } from '../ingest/choose-start.ts';
import { Ingester } from '../ingest/ingester.ts';
import type { Slot } from '../ledger/primitives.ts';
import { socketAddresses } from '../source/socket-addresses.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { WriterLock } from '../storage/writer-lock.ts';
import { Closers } from './closers.ts';
import { createLog } from './create-log.ts';
import { type OpenDatasetModules, openOrCreateDataset } from './open-dataset.ts';
import { formatUrl, type ListenChoice, type RunningDataset, runService } from './run-service.ts';
import type { Service } from './service.ts';
import { startPreparing } from './start-preparing.ts';

/** A dataset that follows nodes. What it is made as counts only where it is not there yet. */
export interface FollowChoice {
  readonly name: string;
  readonly rpcUrls: readonly string[];
  readonly wsUrl?: string | undefined;
  readonly start: StartPoint;
  /** Counts at every start, not only when the dataset is made. */
  readonly retention: Retention;
  readonly votes: 'drop' | 'keep';
  /** History is brought down to this slot beside following. */
  readonly backfillTo?: Slot | undefined;
}

export interface ServeOptions {
  readonly listen: ListenChoice;
  readonly dataFolder: string;
  readonly dialects: readonly Dialect[];
  readonly follow?: FollowChoice | undefined;
  readonly version: string;
  /** Tells the sources' retries apart between processes. */
  readonly seed: number;
}

export interface ServeModules {
  readonly out: NodeJS.WritableStream;
  readonly err: NodeJS.WritableStream;
  readonly clock: Clock;
  /** Ends it. */
  readonly signal: AbortSignal;
}

export async function runServe(options: ServeOptions, modules: ServeModules): Promise<void> {
  const { dataFolder, follow, listen, dialects, version } = options;
  const log = createLog('info', modules.err);
  const closers = new Closers();
  try {
    const lock = await WriterLock.acquire(dataFolder);
    closers.add(() => lock.release());
    const open = { ...modules, fs: nodeFs, lock };
    const datasets = await openStored(options, { ...open, closers, log });
    if (follow !== undefined) {
      datasets.push(await openFollowed(follow, options, { ...open, closers, log }));
    }
    if (datasets.length === 0) throw new CodedError('datasets-missing', { folder: dataFolder });
    const describe = (service: Service) =>
      Promise.resolve(describeStart(options, service, datasets));
    await runService(
      { listen, dialects, version, describe },
      { ...modules, datasets, closers, log },
    );
  } finally {
    await closers.closeAll();
  }
}

interface OpenModules extends OpenDatasetModules {
  readonly closers: Closers;
  readonly log: Logger;
}

/** One that cannot be opened is left as it is, and the others are served. */
async function openStored(
  { dataFolder, follow }: ServeOptions,
  modules: OpenModules,
): Promise<RunningDataset[]> {
  const { fs, closers, log } = modules;
  const datasets: RunningDataset[] = [];
  for (const name of await findDatasets(dataFolder, fs)) {
    if (name === follow?.name) continue;
    try {
      const dataset = await openOrCreateDataset({ dataFolder, name, realTime: false }, modules);
      closers.add(() => dataset.close());
      datasets.push({ dataset, ingester: null });
    } catch (error) {
      if (!isCodedError(error)) throw error;
      log.error({ dataset: name, code: error.code }, error.message);
    }
  }
  return datasets;
}

async function openFollowed(
  follow: FollowChoice,
  { dataFolder, seed }: ServeOptions,
  modules: OpenModules,
): Promise<RunningDataset> {
  const { name, rpcUrls, wsUrl, start, retention, votes, backfillTo } = follow;
  const { closers, clock, log } = modules;
  const dataset = await openOrCreateDataset(
    { dataFolder, name, realTime: true, manifest: { votes } },
    modules,
  );
  closers.add(() => dataset.close());
  if (dataset.snapshot().start !== null) {
    log.info({ dataset: name }, 'the dataset is there: --from and --votes are ignored');
  }
  const { description } = dataset;
  const ingester = new Ingester(
    {
      start,
      retention,
      backfillTo,
      sources: rpcUrls.map((url, i) => ({
        name: `rpc-${i + 1}`,
        url,
        wsUrls: wsUrl === undefined ? socketAddresses(url) : [wsUrl],
      })),
    },
    {
      dataset,
      clock,
      prepare: startPreparing(description, 1, closers),
      ...(backfillTo === undefined
        ? {}
        : { prepareHistory: startPreparing(description, 1, closers) }),
      random: Random.fromSeed(seed).fork(name),
    },
  );
  return { dataset, ingester };
}

function describeStart(
  { listen, dataFolder }: ServeOptions,
  { port, adminPort }: Service,
  datasets: readonly RunningDataset[],
): string {
  const lines = datasets.map(({ dataset, ingester }) => {
    const { head, start } = dataset.snapshot();
    const range = head === null ? 'no block yet' : `slots ${start} to ${head.number}`;
    return `  ${dataset.description.name}: ${range}${ingester === null ? '' : ', following'}`;
  });
  return `Serving ${dataFolder} at ${formatUrl(listen.host, port)} (operator: ${formatUrl('127.0.0.1', adminPort)})\n${lines.join('\n')}\n`;
}
