/**
 * Starts and runs a service from its configuration.
 *
 *   configuration ─► names known ─► listening (503 for all of them) ─► opened one by one, served ─► sources followed
 */
import { dirname, resolve } from 'node:path';
import { Writable } from 'node:stream';
import { assert } from '@sluice/base/assert';
import type { Clock } from '@sluice/base/clock';
import { addDetail, CodedError, isCodedError } from '@sluice/base/errors';
import { isTerminal, usesColor } from '@sluice/base/terminal';
import { type Logger, pino } from 'pino';
import type { AlarmCode } from '../dataset/alarm-codes.ts';
import { findDatasets } from '../dataset/stored/find-datasets.ts';
import { nodeFs } from '../storage/node-fs.ts';
import type { WriterLock } from '../storage/writer-lock.ts';
import { StoredDigests } from '../stream/lookups/digest-files.ts';
import { Closers } from './closers.ts';
import type { Config } from './config/config-schema.ts';
import type { LoadedConfig } from './config/load-config.ts';
import { followSources } from './follow-sources.ts';
import { decideAccess } from './listen-policy.ts';
import { lockDataFolder } from './lock-data-folder.ts';
import { logProgress } from './log-progress.ts';
import { meterSyncs } from './metrics/dataset-metrics.ts';
import { openPlanned } from './open-dataset.ts';
import { boundConnections, readOpenFilesMax, watchOpenFiles } from './open-files-limit.ts';
import { isFed, lockedFolders, type PlannedDataset, planDatasets } from './plan-datasets.ts';
import { reloadService } from './reload-service.ts';
import type { OpenedDataset, RunningDataset } from './running-dataset.ts';
import { Service } from './service.ts';
import { Tasks } from './tasks.ts';

export interface ServeOptions {
  readonly loaded: LoadedConfig;
  readonly reread: () => LoadedConfig;
  readonly version: string;
  /** The seed of random waits, so that several processes do not retry at the same time. */
  readonly seed: number;
  /** Returns the startup text when all datasets are open. The signal aborts if the text is no longer needed. */
  readonly describe: Describe;
}

export type Describe = (running: RunningService, signal: AbortSignal) => string | Promise<string>;

export interface ServeDependencies {
  readonly out: NodeJS.WritableStream;
  readonly err: NodeJS.WritableStream;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Registers a callback for requests to reload the configuration. */
  readonly onReload: (reload: () => void) => void;
}

export interface RunningService {
  readonly config: Config;
  readonly url: string;
  readonly adminUrl: string;
  readonly datasets: readonly RunningDataset[];
  readonly refused: readonly RefusedDataset[];
}

export interface RefusedDataset {
  readonly name: string;
  readonly error: CodedError;
}

/** Runs until the signal aborts or an essential part fails. */
export async function runServe(
  options: ServeOptions,
  dependencies: ServeDependencies,
): Promise<void> {
  const { loaded, version } = options;
  const { config } = loaded;
  const held = isTerminal(dependencies.err) ? new HeldOutput(dependencies.err) : undefined;
  const log = await createLog(config.log.level, held ?? dependencies.err);
  const described = new AbortController();
  const onDescribed = () => {
    held?.release();
    described.abort();
  };
  const closers = new Closers();
  // The log is shown if the start takes long.
  void dependencies.clock.sleep(heldMsMax, described.signal).then(onDescribed);
  try {
    const keys = decideAccess(loaded);
    await requireDatasets(config);
    const locks = await lockFolders(config, closers);
    const planned = await planDatasets(config, { fs: nodeFs, log });
    if (planned.length === 0) throw new CodedError('datasets-missing', { folder: config.data });
    const connectionCountMax = countConnections(config, planned.length, log);
    const service = await Service.start(
      { config, keys, version, connectionCountMax },
      { ...dependencies, log },
    );
    try {
      for (const { names } of planned) service.expect(names);
      await runDatasets(service, planned, {
        options,
        dependencies,
        log,
        closers,
        locks,
        onDescribed,
      });
    } finally {
      // The service is closed before the datasets that it reads.
      await service.close();
    }
  } finally {
    await closers.closeAll();
    onDescribed();
  }
}

/** The longest time for which the log of the start is held back. */
const heldMsMax = 5_000;

/** Returns the limit of connections: the configured one, or a lower one if the system allows fewer open files, which is logged. */
function countConnections(
  { limits, engine, store }: Config,
  datasets: number,
  log: Logger,
): number {
  const configured = limits.http.connectionCountMax;
  const openFilesMax = readOpenFilesMax();
  if (openFilesMax === null) return configured;
  const needs = { datasets, threads: engine.threadCount, readsStore: store !== undefined };
  const connections = boundConnections(openFilesMax, needs);
  if (connections >= configured) return configured;
  log.warn(
    { openFilesMax, connections, configured },
    'fewer connections than configured: the limit of open files of this process is too low; raise it (ulimit -n)',
  );
  return connections;
}

/** Checks the folder before anything is created or locked, so that a mistyped name has no effect. */
async function requireDatasets({ datasets, data }: Config): Promise<void> {
  if (datasets.length > 0) return;
  try {
    if ((await findDatasets(data, nodeFs)).length > 0) return;
  } catch (error) {
    // Other problems with the folder are reported by the lock.
    if (!isCodedError(error, 'storage-missing')) return;
  }
  throw new CodedError('datasets-missing', { folder: data });
}

interface Running {
  readonly options: ServeOptions;
  readonly dependencies: ServeDependencies;
  readonly log: Logger;
  readonly closers: Closers;
  readonly locks: Locks;
  /** Called when the startup text is written. */
  readonly onDescribed: () => void;
}

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

async function runDatasets(
  service: Service,
  planned: readonly PlannedDataset[],
  running: Running,
): Promise<void> {
  const { options, dependencies, log, closers, onDescribed } = running;
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
  const { observeSourceCall } = service.timings;
  const { seed } = options;
  await followSources(datasets, { ...dependencies, closers, tasks, log, seed, observeSourceCall });
  const logged = datasets.map(({ dataset, ingest }) => ({ reader: dataset, ingest }));
  tasks.run((signal) => logProgress(logged, { ...dependencies, log, signal }));
  const boards = datasets.map(({ dataset }) => dataset.alarms);
  tasks.run((signal) => watchOpenFiles(boards, { ...dependencies, signal }));
  dependencies.onReload(() => reloadService({ service, config, reread: options.reread }, log));
  dependencies.out.write(
    await options.describe({ config, url, adminUrl, datasets, refused }, dependencies.signal),
  );
  onDescribed();
  tasks.run((signal) => service.warmUp(signal));
  await tasks.untilFailed(dependencies.signal);
  log.info('stopping');
}

/** Opens the datasets one by one. A dataset that cannot be opened does not prevent the others from being served. */
async function openAll(
  service: Service,
  planned: readonly PlannedDataset[],
  parts: Running & { readonly tasks: Tasks },
): Promise<Pick<RunningService, 'datasets' | 'refused'>> {
  const { dependencies, log, closers, locks } = parts;
  const opened: RunningDataset[] = [];
  const refused: RefusedDataset[] = [];
  const threads = service.waitForThreads();
  for (const plan of planned) {
    const { name } = plan.names;
    const lock = locks.get(resolve(dirname(plan.folder)));
    assert(lock !== undefined, 'a dataset is opened under the lock of its parent folder');
    try {
      const { dataset, lead } = await openServedDataset(plan, service, { ...parts, lock });
      closers.add(() => dataset.close());
      const running: RunningDataset = {
        planned: plan,
        dataset,
        lead,
        openedHead: dataset.snapshot().head?.number ?? null,
        ingest: () => null,
        ledgerUnixMs: undefined,
      };
      opened.push(running);
      if (!isFed(plan) && running.openedHead === null) {
        dataset.alarms.raise(
          'dataset-unfed',
          'the dataset has no block, and no source is configured',
        );
      }
      await threads;
      service.open(name, {
        reader: dataset,
        digestFiles: new StoredDigests(plan.folder, nodeFs),
        isFed: isFed(plan),
        ingest: () => running.ingest(),
        ledgerUnixMs: () => running.ledgerUnixMs?.() ?? dependencies.clock.unixMs(),
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

/** Opens a dataset on this machine, or in the object store if one is configured. The code for object stores is loaded only then. */
async function openServedDataset(
  planned: PlannedDataset,
  service: Service,
  {
    options,
    dependencies,
    log,
    closers,
    tasks,
    lock,
  }: Running & { tasks: Tasks; lock: WriterLock },
): Promise<OpenedDataset> {
  const { config } = options.loaded;
  const { clock } = dependencies;
  const { observeSync, observeMerge } = service.timings;
  const fs = meterSyncs(nodeFs, clock, observeSync);
  const timed = { observeMerge: observeMerge(planned.names.name) };
  const opening = { fs, clock, lock, log, ...timed };
  if (config.store === undefined) return { dataset: await openPlanned(planned, opening) };
  const { openRemote } = await import('./remote/open-remote.ts');
  return openRemote(planned, config, { ...opening, closers, tasks, seed: options.seed });
}

/** Returns the error of the first dataset, which ends the start. All errors are logged. */
function describeRefusal([first]: readonly RefusedDataset[]): CodedError {
  assert(first !== undefined, 'there is an error if no dataset was opened');
  const { name, error } = first;
  return addDetail(error, { dataset: name });
}

/** Returns the startup text of `sluice serve`. */
export function describeServe({
  config,
  url,
  adminUrl,
  datasets,
  refused,
}: RunningService): string {
  const lines = datasets.map(({ dataset, ingest, planned }) => {
    const { head, start } = dataset.snapshot();
    const empty = isFed(planned) ? 'no block yet' : 'no block and no source';
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

type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

/**
 * Creates the log: one JSON object per line, or readable lines on a terminal. Entries have fields, and never contain a request body,
 * a key or the address of a source.
 */
export async function createLog(level: LogLevel, out: NodeJS.WritableStream): Promise<Logger> {
  const options = { level, base: null };
  if (!isTerminal(out)) return pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, out);
  // Loaded on demand, because it has dozens of files.
  const { default: pretty } = await import('pino-pretty');
  const colorize = usesColor(out);
  return pino(options, pretty({ colorize, translateTime: 'SYS:HH:MM:ss', destination: out }));
}

/** The limit of held lines. If there are more, the output is released. */
const heldCountMax = 1_000;

/**
 * Holds back output until it is released. On a terminal the log of the start appears below the startup text instead of above it.
 */
export class HeldOutput extends Writable {
  readonly #target: NodeJS.WritableStream;
  #held: Buffer[] | null = [];

  constructor(target: NodeJS.WritableStream) {
    super();
    this.#target = target;
  }

  get isTTY(): boolean {
    return isTerminal(this.#target);
  }

  /** Writes the held output, and passes on what follows. A second call does nothing. */
  release(): void {
    const held = this.#held;
    this.#held = null;
    for (const chunk of held ?? []) this.#target.write(chunk);
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    if (this.#held === null) this.#target.write(chunk);
    else this.#held.push(chunk);
    if ((this.#held?.length ?? 0) > heldCountMax) this.release();
    done();
  }
}
