import type { Dialect } from '@sluice/protocol/dialect';
import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { Ingester } from '../ingest/ingester.ts';
import type { Closers } from './closers.ts';
import { decideAccess } from './listen-policy.ts';
import { logProgress } from './log-progress.ts';
import { Service, type ServiceDataset } from './service.ts';
import { Tasks } from './tasks.ts';

/** Where a service listens and who may ask; the same for everything that serves. */
export interface ListenChoice {
  readonly host: string;
  readonly port: number;
  readonly adminPort?: number | undefined;
  readonly auth?: 'none' | undefined;
  /** A file of hashes. */
  readonly keys?: string | undefined;
}

export interface RunningDataset {
  readonly dataset: Dataset;
  /** What feeds it, if anything does. */
  readonly ingester: Ingester | null;
  readonly ledgerUnixMs?: () => number;
}

export interface RunServiceOptions {
  readonly listen: ListenChoice;
  readonly dialects: readonly Dialect[];
  readonly version: string;
  /** What to tell the person who started it, once it listens. */
  readonly describe: (service: Service) => Promise<string>;
}

export interface RunServiceModules {
  readonly datasets: readonly RunningDataset[];
  readonly closers: Closers;
  readonly out: NodeJS.WritableStream;
  readonly log: Logger;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Far below one line per ten blocks. */
const progressMs = 60_000;

/** Feeds and serves until the signal aborts, or until a part fails that nothing can go on without. */
export async function runService(
  { listen, dialects, version, describe }: RunServiceOptions,
  { datasets, closers, out, log, clock, signal }: RunServiceModules,
): Promise<void> {
  const keys = decideAccess({ ...listen, keysFile: listen.keys });
  const tasks = new Tasks();
  closers.add(() => tasks.stop());
  for (const { ingester } of datasets) {
    if (ingester !== null) tasks.run((stop) => ingester.run(stop));
  }
  const served = datasets.map(toServiceDataset);
  tasks.run((stop) =>
    logProgress({ datasets: served, everyMs: progressMs }, { log, clock, signal: stop }),
  );
  const service = await Service.start(
    { ...listen, adminHost: '127.0.0.1', keys, dialects, version },
    { clock, log, datasets: served },
  );
  // Closed first: readers are let go before what they read stops growing.
  closers.add(() => service.close());
  out.write(await describe(service));
  await tasks.untilFailed(signal);
  log.info('stopping');
}

function toServiceDataset({ dataset, ingester, ledgerUnixMs }: RunningDataset): ServiceDataset {
  return {
    reader: dataset,
    ingest: () => ingester?.status ?? null,
    ...(ledgerUnixMs === undefined ? {} : { ledgerUnixMs }),
  };
}

export function formatUrl(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
