import type { Clock } from '@sluice/base/clock';
import { Random } from '@sluice/base/random';
import { toSlot } from '@sluice/ledger/primitives';
import type { SourceOptions } from '@sluice/source/open-source';
import { FetchThread } from '@sluice/source/rpc/fetch-thread';
import type { Logger } from 'pino';
import type { Dataset } from '../dataset/dataset.ts';
import { maintainDataset } from '../dataset/maintain-dataset.ts';
import type { StartPoint } from '../ingest/follow/choose-start.ts';
import { Ingester } from '../ingest/ingester.ts';
import { SourceBuilder } from './build-sources.ts';
import { Closers } from './closers.ts';
import { type DatasetConfig, MADE_AS } from './config/config-schema.ts';
import { parseRetention } from './config/parse-retention.ts';
import type { TimingMetrics } from './metrics/timing-metrics.ts';
import { isFed } from './plan-datasets.ts';
import type { RunningDataset } from './running-dataset.ts';
import { startPreparing } from './start-preparing.ts';
import { takeFiles } from './take-files.ts';
import type { Tasks } from './tasks.ts';

export interface FollowSourcesDependencies {
  readonly clock: Clock;
  readonly closers: Closers;
  readonly tasks: Tasks;
  readonly log: Logger;
  readonly seed: number;
  readonly observeSourceCall: TimingMetrics['observeSourceCall'];
}

export async function followSources(
  datasets: readonly RunningDataset[],
  dependencies: FollowSourcesDependencies,
): Promise<void> {
  const following = datasets.flatMap((running) => {
    const { config } = running.planned;
    const head = running.dataset.snapshot().head?.number ?? null;
    return config === null || !isFed(running.planned) ? [] : [{ running, config, head }];
  });
  const builder = new SourceBuilder(following, dependencies);
  const fetchThread = new FetchThread();
  dependencies.closers.add(() => fetchThread.close());
  for (const { running, config } of following) {
    if (running.lead !== undefined) {
      running.lead((signal) =>
        followInTurn(running, { config, fetchThread }, dependencies, signal),
      );
      continue;
    }
    const { sources, ledgerUnixMs } = await builder.build(config);
    running.ledgerUnixMs = ledgerUnixMs;
    const readFiles = (signal: AbortSignal) =>
      takeFilesOf(running, sources.length > 0, dependencies, signal);
    if (sources.length === 0) {
      dependencies.tasks.run((signal) =>
        keepUp(running.dataset, readFiles(signal), dependencies, signal),
      );
      continue;
    }
    const ingester = createIngester(
      running.dataset,
      { config, sources, fetchThread },
      dependencies,
    );
    running.ingest = () => ingester.status;
    dependencies.tasks.run(async (signal) => {
      await readFiles(signal);
      await ingester.run(signal);
    });
  }
}

/** Follows the sources of a shared dataset while it is this process's turn to write. */
async function followInTurn(
  running: RunningDataset,
  { config, fetchThread }: { readonly config: DatasetConfig; readonly fetchThread: FetchThread },
  dependencies: FollowSourcesDependencies,
  signal: AbortSignal,
): Promise<void> {
  const closers = new Closers();
  const head = running.dataset.snapshot().head?.number ?? null;
  try {
    const builder = new SourceBuilder([{ config, head }], { ...dependencies, closers });
    const { sources, ledgerUnixMs } = await builder.build(config);
    running.ledgerUnixMs = ledgerUnixMs;
    const turn = { ...dependencies, closers };
    const ingester = createIngester(running.dataset, { config, sources, fetchThread }, turn);
    running.ingest = () => ingester.status;
    await ingester.run(signal);
  } finally {
    running.ingest = () => null;
    await closers.closeAll();
  }
}

/** Imports files and seals blocks of a dataset without sources to follow. */
async function keepUp(
  dataset: Dataset,
  reading: Promise<void>,
  { clock }: FollowSourcesDependencies,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all([
    reading,
    maintainDataset(dataset, { retention: { kind: 'all' }, clock }, signal),
  ]);
}

async function takeFilesOf(
  { planned, dataset }: RunningDataset,
  hasOtherSources: boolean,
  dependencies: FollowSourcesDependencies,
  signal: AbortSignal,
): Promise<void> {
  const { folder, config } = planned;
  const paths =
    config?.sources.flatMap((source) => (source.kind === 'files' ? source.paths : [])) ?? [];
  if (paths.length === 0) return;
  await takeFiles(dataset, { folder, paths, hasOtherSources }, dependencies, signal);
}

function createIngester(
  dataset: Dataset,
  what: {
    readonly config: DatasetConfig;
    readonly sources: readonly SourceOptions[];
    readonly fetchThread: FetchThread;
  },
  { clock, closers, log, seed, observeSourceCall }: FollowSourcesDependencies,
): Ingester {
  const { config, sources, fetchThread } = what;
  const { description } = dataset;
  const { backfillTo } = config;
  return new Ingester(
    {
      start: toStart(config.from ?? MADE_AS.from),
      retention: parseRetention(String(config.keep)) ?? { kind: 'all' },
      backfillTo: backfillTo === undefined ? undefined : toSlot(backfillTo),
      agreement: config.agreement,
      sources,
    },
    {
      dataset,
      clock,
      fetchThread,
      observeSourceCall: observeSourceCall(description.name),
      onPolled: (source) =>
        log.warn(
          { dataset: description.name, source },
          'the WebSocket of the source does not work, so the source is polled: set another address (--ws, ws), or none',
        ),
      onBackfilled: ({ to, blocks }) =>
        log.info({ dataset: description.name, to, blocks }, 'backfilled'),
      prepare: startPreparing(description, { workerCount: 1 }, closers),
      ...(backfillTo === undefined
        ? {}
        : { prepareHistory: startPreparing(description, { workerCount: 1 }, closers) }),
      random: Random.fromSeed(seed).fork(description.name),
    },
  );
}

function toStart(from: NonNullable<DatasetConfig['from']>): StartPoint {
  return typeof from === 'number' ? { kind: 'slot', slot: toSlot(from) } : { kind: from };
}
