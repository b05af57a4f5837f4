/**
 * The composition of a service: what is configured goes in, and everything that runs comes out of it.
 *
 *   configuration ─► names known ─► listening (503 for all of them) ─► opened one by one, served ─► sources followed
 */

import { dirname, resolve } from 'node:path';
import type { Logger } from 'pino';
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { CodedError, isCodedError } from '../base/errors.ts';
import { isTerminal } from '../base/terminal.ts';
import type { AlarmCode } from '../dataset/alarm-codes.ts';
import { findDatasets } from '../dataset/find-datasets.ts';
import { nodeFs } from '../storage/node-fs.ts';
import type { WriterLock } from '../storage/writer-lock.ts';
import { Closers } from './closers.ts';
import type { Config } from './config/config-schema.ts';
import type { LoadedConfig } from './config/load-config.ts';
import { createLog } from './create-log.ts';
import { followSources } from './follow-sources.ts';
import { HeldOutput } from './held-output.ts';
import { decideAccess } from './listen-policy.ts';
import { lockDataFolder } from './lock-data-folder.ts';
import { logProgress } from './log-progress.ts';
import { openPlanned } from './open-dataset.ts';
import { boundConnections, readOpenFilesMax } from './open-files-limit.ts';
import { isFed, lockedFolders, type PlannedDataset, planDatasets } from './plan-datasets.ts';
import { reloadService } from './reload-service.ts';
import type { OpenedDataset, RunningDataset } from './running-dataset.ts';
import { Service } from './service.ts';
import { Tasks } from './tasks.ts';

export interface ServeOptions {
  readonly loaded: LoadedConfig;
  /** Reads the configuration again. */
  readonly reread: () => LoadedConfig;
  readonly version: string;
  /** Tells the sources' retries apart between processes. */
  readonly seed: number;
  /** What to tell the person who started it, once every dataset is open. The signal says that nobody wants it any more. */
  readonly describe: Describe;
}

export type Describe = (running: RunningService, signal: AbortSignal) => string | Promise<string>;

export interface ServeModules {
  readonly out: NodeJS.WritableStream;
  readonly err: NodeJS.WritableStream;
  readonly clock: Clock;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Calls back whenever the configuration should be read again. */
  readonly onReload: (reload: () => void) => void;
}

export interface RunningService {
  readonly config: Config;
  readonly url: string;
  readonly adminUrl: string;
  readonly datasets: readonly RunningDataset[];
  readonly refused: readonly RefusedDataset[];
}

/** One that cannot be opened, and why. */
export interface RefusedDataset {
  readonly name: string;
  readonly error: CodedError;
}

/** Runs until the signal aborts, or until a part fails that nothing can go on without. */
export async function runServe(options: ServeOptions, modules: ServeModules): Promise<void> {
  const { loaded, version } = options;
  const { config } = loaded;
  const held = isTerminal(modules.err) ? new HeldOutput(modules.err) : undefined;
  const log = await createLog(config.log.level, held ?? modules.err);
  const described = new AbortController();
  const onDescribed = () => {
    held?.release();
    described.abort();
  };
  const closers = new Closers();
  // A start that takes long is followed by its log.
  void modules.clock.sleep(heldMsMax, described.signal).then(onDescribed);
  try {
    const keys = decideAccess(loaded);
    await refuseNothing(config);
    const locks = await lockFolders(config, closers);
    const planned = await planDatasets(config, { fs: nodeFs, log });
    if (planned.length === 0) throw new CodedError('datasets-missing', { folder: config.data });
    const connectionCountMax = countConnections(config, planned.length, log);
    const service = await Service.start(
      { config, keys, version, connectionCountMax },
      { ...modules, log },
    );
    try {
      for (const { names } of planned) service.expect(names);
      await runBehind(service, planned, { options, modules, log, closers, locks, onDescribed });
    } finally {
      // Before what it reads stops growing.
      await service.close();
    }
  } finally {
    await closers.closeAll();
    onDescribed();
  }
}

/** The log of a start is held back for so long at most. */
const heldMsMax = 5_000;

/** As many as are configured, or as the system has room for, with a line that says so. */
function countConnections({ limits, engine }: Config, datasets: number, log: Logger): number {
  const configured = limits.http.connectionCountMax;
  const openFilesMax = readOpenFilesMax();
  if (openFilesMax === null) return configured;
  const connections = boundConnections(openFilesMax, { datasets, threads: engine.threadCount });
  if (connections >= configured) return configured;
  log.warn(
    { openFilesMax, connections, configured },
    'fewer connections than configured: the system lets this process open so many files; raise that limit for more',
  );
  return connections;
}

/** Before anything is made or locked: a mistyped folder leaves nothing behind. */
async function refuseNothing({ datasets, data }: Config): Promise<void> {
  if (datasets.length > 0) return;
  try {
    if ((await findDatasets(data, nodeFs)).length > 0) return;
  } catch (error) {
    // What else is wrong with the folder the lock says better.
    if (!isCodedError(error, 'storage-missing')) return;
  }
  throw new CodedError('datasets-missing', { folder: data });
}

interface Running {
  readonly options: ServeOptions;
  readonly modules: ServeModules;
  readonly log: Logger;
  readonly closers: Closers;
  readonly locks: Locks;
  /** Told when the text for the person who started it is written. */
  readonly onDescribed: () => void;
}

/** By the folder that is locked. */
type Locks = ReadonlyMap<string, WriterLock>;

async function lockFolders(config: Config, closers: Closers): Promise<Locks> {
  const locks = new Map<string, WriterLock>();
  for (const folder of lockedFolders(config)) {
    const lock = await lockDataFolder(folder);
    closers.add(() => lock.release());
    locks.set(folder, lock);
  }
  return locks;
}

async function runBehind(
  service: Service,
  planned: readonly PlannedDataset[],
  running: Running,
): Promise<void> {
  const { options, modules, log, closers, onDescribed } = running;
  const { config } = options.loaded;
  const url = formatUrl(config.listen.host, service.port);
  const adminUrl = formatUrl(config.admin.host, service.adminPort);
  log.info({ url, adminUrl }, 'listening');
  const tasks = new Tasks();
  const { datasets, refused } = await openAll(service, planned, { ...running, tasks }).catch(
    async (error: unknown) => {
      await tasks.stop();
      throw error;
    },
  );
  // Closers run in reverse, so that no task outlives the dataset it works on.
  closers.add(() => tasks.stop());
  await followSources(datasets, { ...modules, closers, tasks, log, seed: options.seed });
  const logged = datasets.map(({ dataset, ingest }) => ({ reader: dataset, ingest }));
  tasks.run((signal) => logProgress(logged, { ...modules, log, signal }));
  modules.onReload(() => reloadService({ service, config, reread: options.reread }, log));
  modules.out.write(
    await options.describe({ config, url, adminUrl, datasets, refused }, modules.signal),
  );
  onDescribed();
  await tasks.untilFailed(modules.signal);
  log.info('stopping');
}

/** One that cannot be opened is left as it is, and the others are served. */
async function openAll(
  service: Service,
  planned: readonly PlannedDataset[],
  parts: Running & { readonly tasks: Tasks },
): Promise<Pick<RunningService, 'datasets' | 'refused'>> {
  const { modules, log, closers, locks } = parts;
  const opened: RunningDataset[] = [];
  const refused: RefusedDataset[] = [];
  for (const one of planned) {
    const { name } = one.names;
    const lock = locks.get(resolve(dirname(one.folder)));
    assert(lock !== undefined, 'a dataset is opened under the lock of the folder it is in');
    try {
      const { dataset, lead } = await openOne(one, { ...parts, lock });
      closers.add(() => dataset.close());
      const running: RunningDataset = {
        planned: one,
        dataset,
        lead,
        openedHead: dataset.snapshot().head?.number ?? null,
        ingest: () => null,
        ledgerUnixMs: undefined,
      };
      opened.push(running);
      if (!isFed(one) && running.openedHead === null) {
        dataset.alarms.raise(
          'dataset-unfed',
          'it has no block, and nothing is configured that feeds it',
        );
      }
      service.open(name, {
        reader: dataset,
        isFed: isFed(one),
        ingest: () => running.ingest(),
        ledgerUnixMs: () => running.ledgerUnixMs?.() ?? modules.clock.unixMs(),
      });
    } catch (error) {
      if (!isCodedError(error)) throw error;
      const alarm: AlarmCode = 'dataset-unavailable';
      log.error({ dataset: name, alarm, code: error.code }, error.message);
      service.refuse(name);
      refused.push({ name, error });
    }
  }
  if (opened.length === 0) throw describeRefusal(refused);
  return { datasets: opened, refused };
}

/** Opens a dataset on this machine, or in the object store of the configuration, whose code is loaded only for that. */
async function openOne(
  planned: PlannedDataset,
  { options, modules, log, closers, tasks, lock }: Running & { tasks: Tasks; lock: WriterLock },
): Promise<OpenedDataset> {
  const { config } = options.loaded;
  const opening = { fs: nodeFs, clock: modules.clock, lock, log };
  if (config.store === undefined) return { dataset: await openPlanned(planned, opening) };
  const { openRemote } = await import('./remote/open-remote.ts');
  return openRemote(planned, config, { ...opening, closers, tasks, seed: options.seed });
}

/** Each was logged; what is wrong with the first is what ends the start. */
function describeRefusal([first]: readonly RefusedDataset[]): CodedError {
  assert(first !== undefined, 'where none was opened, one was refused');
  const { name, error } = first;
  return new CodedError(error.code, { dataset: name, ...error.detail }, { cause: error });
}

/** What a person sees who typed `sluice serve`. */
export function describeServe({
  config,
  url,
  adminUrl,
  datasets,
  refused,
}: RunningService): string {
  const lines = datasets.map(({ dataset, ingest, planned }) => {
    const { head, start } = dataset.snapshot();
    const empty = isFed(planned) ? 'no block yet' : 'no block, and nothing feeds it';
    const range = head === null ? empty : `slots ${start} to ${head.number}`;
    return `  ${dataset.description.name}: ${range}${ingest() === null ? '' : ', following'}\n`;
  });
  for (const { name, error } of refused) {
    lines.push(`  ${name}: NOT SERVED, ${error.code}: ${error.message}\n`);
  }
  return `Serving ${config.data} at ${url} (operator: ${adminUrl})\n${lines.join('')}Stop with Ctrl-C.\n`;
}

function formatUrl(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
