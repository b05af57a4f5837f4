/** Composes the read side: two listeners, and the datasets behind them as they open. */

import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { assert } from '@sluice/base/assert';
import type { Clock } from '@sluice/base/clock';
import { settleWithin } from '@sluice/base/settle-within';
import type { Dialect } from '@sluice/protocol/dialect';
import type { QueryLimits } from '@sluice/protocol/query-limits';
import { keysOf } from '@sluice/protocol/typed-keys';
import type { Logger } from 'pino';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import { EnginePool } from '../engine/threads/engine-pool.ts';
import { AdminServer } from '../http/admin-server.ts';
import { lagSeconds } from '../http/describe-dataset.ts';
import { HTTP_LIMITS, type HttpLimits } from '../http/http-limits.ts';
import type { ApiKey } from '../http/keys/api-keys.ts';
import type { KeyLimits } from '../http/keys/key-budgets.ts';
import { Metrics } from '../http/metrics/metrics.ts';
import { PublicServer } from '../http/public-server.ts';
import {
  DatasetDirectory,
  type DatasetEntry,
  type DatasetNames,
  type ServedDataset,
} from '../http/served-dataset.ts';
import type { IngestStatus } from '../ingest/ingester.ts';
import { nodeFs } from '../storage/node-fs.ts';
import { AnswerCache } from '../stream/answer-cache.ts';
import { CachedEvaluator } from '../stream/cached-evaluator.ts';
import { DatasetSegments } from '../stream/dataset-segments.ts';
import { DatasetStreams } from '../stream/dataset-streams.ts';
import { EngineEvaluator } from '../stream/engine-evaluator.ts';
import { DatasetLookups } from '../stream/lookups/dataset-lookups.ts';
import type { DigestFiles } from '../stream/lookups/digest-files.ts';
import { SkippingEvaluator } from '../stream/skipping-evaluator.ts';
import { STREAM_LIMITS, type StreamLimits } from '../stream/stream-limits.ts';
import { warmUp } from '../stream/warm-up.ts';
import { adminPort } from './config/admin-port.ts';
import type { Config, ConfigLimits } from './config/config-schema.ts';
import { IdlStore, readConfiguredIdls } from './idl-store.ts';
import { addAnswerCacheMetrics, addDatasetMetrics } from './metrics/dataset-metrics.ts';
import { addProcessMetrics } from './metrics/process-metrics.ts';
import { addTimingMetrics, type TimingMetrics, watchVisibleLag } from './metrics/timing-metrics.ts';
import { SetStore } from './set-store.ts';

export interface ServiceOptions {
  readonly config: Pick<
    Config,
    'data' | 'listen' | 'admin' | 'engine' | 'limits' | 'role' | 'store' | 'idl'
  >;
  /** `null` if no key is required. */
  readonly keys: readonly ApiKey[] | null;
  readonly version: string;
  /** An upper limit for the configured number of connections. */
  readonly connectionCountMax?: number;
}

export interface ServiceDataset {
  readonly reader: DatasetReader;
  readonly ingest: () => IngestStatus | null;
  /** Whether a source is configured for the dataset. */
  readonly isFed: boolean;
  /** The clock of a simulated ledger. Default: the system clock. */
  readonly ledgerUnixMs?: (() => number) | undefined;
  /** Where the digests of blocks are stored. */
  readonly digestFiles?: DigestFiles | undefined;
}

export interface ServiceDependencies {
  readonly clock: Clock;
  readonly log: Logger;
}

interface LimitsInForce {
  readonly http: HttpLimits;
  readonly query: QueryLimits;
  readonly stream: StreamLimits;
  readonly key: KeyLimits;
}

/** The share of the cache that holds answers. The rest holds what the engine's threads need to find records. */
const answerCacheShare = 1 / 4;

/** Datasets are served after this time even if a thread repeatedly fails to start, because the service must follow its sources in any case. */
const threadStartMsMax = 5_000;

/** How long readiness waits for a dataset without blocks. If its sources work, its first block arrives within this time. */
const startingMsMax = 10_000;

/** The maximum number of slots by which a source may be ahead of a dataset that keeps up with it. */
const confirmedSlotsMax = 32;

interface OpenDataset extends Pick<ServedDataset, 'reader' | 'ingest' | 'ledgerUnixMs'> {
  readonly isFed: boolean;
  readonly openedMs: number;
}

export class Service {
  /** Receives durations that the write side measures. */
  readonly timings: TimingMetrics;
  readonly #dependencies: ServiceDependencies;
  /** The worker threads that evaluate the queries of all datasets. */
  readonly #pool: EnginePool;
  readonly #answers: AnswerCache;
  readonly #idls: IdlStore;
  readonly #directory = new DatasetDirectory();
  readonly #open: OpenDataset[] = [];
  /** Read at each use, so that a reload only has to change the values. */
  readonly #limits: LimitsInForce;
  readonly #public: PublicServer;
  readonly #admin: AdminServer;
  readonly #connectionCountMax: number;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  #keys: readonly ApiKey[] | null;
  readonly #isWriter: boolean;
  readonly #headLagSecondsMax: number;
  #isClosing = false;
  port = 0;
  adminPort = 0;

  private constructor(
    options: ServiceOptions & { readonly sets: SetStore },
    dependencies: ServiceDependencies,
  ) {
    const { config, keys, version, sets } = options;
    const metrics = new Metrics();
    this.timings = addTimingMetrics(metrics);
    // Every stream listens to this signal. Without this call Node would report so many listeners as a leak.
    setMaxListeners(0, this.#stop.signal);
    this.#dependencies = dependencies;
    this.#isWriter = config.role === 'write';
    this.#headLagSecondsMax = config.admin.headLagSecondsMax;
    const { cacheBytesMax } = config.engine;
    const answerBytesMax = Math.floor(cacheBytesMax * answerCacheShare);
    this.#answers = new AnswerCache({ bytesMax: answerBytesMax });
    const engine = {
      ...config.engine,
      cacheBytesMax: cacheBytesMax - answerBytesMax,
      readsStore: config.store !== undefined,
    };
    this.#pool = new EnginePool(engine, { observeWait: this.timings.observeEngineWait });
    this.#idls = new IdlStore((idls) => this.#pool.useIdls(idls));
    this.useIdls(config.idl);
    this.#connectionCountMax = options.connectionCountMax ?? Number.POSITIVE_INFINITY;
    this.#limits = this.#buildLimits(config.limits);
    this.#keys = keys;
    addProcessMetrics(metrics, version);
    addDatasetMetrics(metrics, this.#directory);
    addAnswerCacheMetrics(metrics, this.#answers);
    this.#public = new PublicServer(
      {
        limits: this.#limits.http,
        queryLimits: this.#limits.query,
        keyLimits: this.#limits.key,
        corsOrigins: config.listen.corsOrigins,
        servesQueries: !this.#isWriter,
        version,
      },
      {
        ...dependencies,
        datasets: this.#directory,
        keys: () => this.#keys,
        idls: () => this.#idls.registry,
        sets,
        metrics,
        newRequestId: randomUUID,
      },
    );
    const notReadyReason = () => this.notReadyReason();
    const unavailable = () => [...this.#directory.refused, ...this.#givenUp()];
    this.#admin = new AdminServer({
      metrics,
      notReadyReason,
      unavailable,
      idls: this.#idls,
      sets,
      newRequestId: randomUUID,
      reportFault: (error) =>
        dependencies.log.error({ err: error }, 'a request of an operator failed'),
    });
  }

  /** Listens on both addresses, or on neither if one fails. */
  static async start(options: ServiceOptions, dependencies: ServiceDependencies): Promise<Service> {
    const { data, listen, admin } = options.config;
    const sets = await SetStore.open(data, { fs: nodeFs, log: dependencies.log });
    const service = new Service({ ...options, sets }, dependencies);
    try {
      service.port = await service.#public.listen(listen.host, listen.port);
      service.adminPort = await service.#admin.listen(admin.host, adminPort(options.config));
      return service;
    } catch (error) {
      await service.close();
      throw error;
    }
  }

  /** Announces a dataset that will be opened. Until then, requests get 503. */
  expect(names: DatasetNames): void {
    this.#directory.expect(names);
  }

  /** Resolves when the threads have started, so that queries are evaluated at once, or after `threadStartMsMax`. */
  async waitForThreads(): Promise<void> {
    await settleWithin([this.#pool.started], threadStartMsMax, this.#dependencies.clock);
  }

  /** Serves a dataset that was announced. */
  open(name: string, dataset: ServiceDataset): void {
    const entry = this.#entryOf(name);
    const { dialects } = entry.names;
    const served = serveDataset(dataset, dialects, {
      ...this.#dependencies,
      pool: this.#pool,
      answers: this.#answers,
      limits: this.#limits.stream,
    });
    this.#running.push(served.streams.run(this.#stop.signal));
    if (dataset.digestFiles !== undefined && dataset.isFed) {
      const { clock } = this.#dependencies;
      this.#running.push(served.lookups.digests.follow(clock, this.#stop.signal));
    }
    const { reader, isFed } = dataset;
    const { ledgerUnixMs } = served;
    const observe = this.timings.observeVisibleLag(name);
    this.#running.push(watchVisibleLag(reader, { ledgerUnixMs, observe }, this.#stop.signal));
    const { ingest } = dataset;
    const openedMs = this.#dependencies.clock.nowMs();
    this.#open.push({ reader, ingest, ledgerUnixMs, isFed, openedMs });
    entry.become(served);
  }

  /** Runs some queries over stored blocks, so that the code of queries is compiled before the first request arrives. */
  async warmUp(signal: AbortSignal): Promise<void> {
    if (this.#isWriter) return;
    const { clock } = this.#dependencies;
    await warmUp(this.#directory.all, { clock, signal, pool: this.#pool });
  }

  /** Marks an announced dataset as impossible to open. An alarm is raised, and the others are served. */
  refuse(name: string): void {
    this.#entryOf(name).become('refused');
  }

  /** Applies new limits and keys. Streams of a removed key end after a whole line. */
  reload(limits: ConfigLimits, keys: readonly ApiKey[] | null): void {
    const next = this.#buildLimits(limits);
    for (const part of keysOf(next)) {
      Object.assign(this.#limits[part], next[part]);
    }
    this.#keys = keys;
    this.#public.refresh();
  }

  /** Reads the IDLs of the configuration. Those that an operator registered stay. */
  useIdls(entries: Config['idl']): void {
    this.#idls.configure(readConfiguredIdls(entries, this.#dependencies.log));
  }

  /** Returns why the service should get no traffic, or `null` if it should. */
  notReadyReason(): string | null {
    if (this.#isClosing) return 'closing';
    if (this.#isWriter) return 'role is write';
    const opening = this.#directory.entries.find(({ isOpening }) => isOpening);
    if (opening !== undefined) return `opening ${opening.names.name}`;
    const starting = this.#open.find((dataset) => this.#isStarting(dataset));
    if (starting !== undefined) return `starting ${starting.reader.description.name}`;
    if (this.#open.every(isEmpty)) return 'no dataset has a block';
    if (this.#open.some(lacksFiles)) return 'no further file can be opened';
    return this.#open.map((dataset) => this.#staleReason(dataset)).find(isText) ?? null;
  }

  /**
   * Returns why the head of a dataset counts as old. A ledger that produces no blocks does not: a source that responds then confirms
   * the head, as the feed does for a process that follows no source.
   */
  #staleReason({ reader, ingest, ledgerUnixMs, isFed }: OpenDataset): string | null {
    const lag = lagSeconds(reader.snapshot(), ledgerUnixMs());
    if (!isFed || this.#headLagSecondsMax === 0 || lag === null) return null;
    if (lag <= this.#headLagSecondsMax) return null;
    const { alarms } = reader.status();
    const status = ingest();
    const isConfirmed =
      status === null
        ? !alarms.some(({ code }) => code === 'feed-unreachable')
        : status.sources.some(({ state }) => state === 'live') &&
          (status.behindSlots ?? Number.POSITIVE_INFINITY) <= confirmedSlotsMax;
    if (isConfirmed) return null;
    const { name } = reader.description;
    const codes = alarms.map(({ code }) => code).join(', ');
    const age = `the head of ${name} is ${lag} s old`;
    return codes === '' ? age : `${age}: ${codes}`;
  }

  /** Returns whether readiness still waits for the first block of the dataset. The wait is short if other datasets can be served (I-92). */
  #isStarting(dataset: OpenDataset): boolean {
    if (!dataset.isFed || !isEmpty(dataset)) return false;
    const elapsedMs = this.#dependencies.clock.nowMs() - dataset.openedMs;
    return elapsedMs < startingMsMax || this.#open.every(isEmpty);
  }

  /** Returns the names of the datasets without a block that readiness no longer waits for. */
  #givenUp(): string[] {
    const isGivenUp = (dataset: OpenDataset) => isEmpty(dataset) && !this.#isStarting(dataset);
    return this.#open.filter(isGivenUp).map(({ reader }) => reader.description.name);
  }

  /** Readiness ends immediately. After the grace period every response ends after a whole line. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#dependencies.clock.sleep(this.#limits.http.closeGraceMs);
    await this.#public.close();
    this.#stop.abort();
    await Promise.all(this.#running);
    await this.#admin.close();
    await this.#pool.stop();
  }

  /** Returns the configured limits and the fixed ones. The objects are new, because a reload changes them. */
  #buildLimits({ http, query, stream, key }: ConfigLimits): LimitsInForce {
    const connectionCountMax = Math.min(http.connectionCountMax, this.#connectionCountMax);
    return {
      http: { ...HTTP_LIMITS, ...http, connectionCountMax },
      query: { ...query },
      stream: { ...STREAM_LIMITS, ...stream },
      key: { ...key, bytesPerSecond: key.bytesPerSecond ?? null },
    };
  }

  #entryOf(name: string): DatasetEntry {
    const entry = this.#directory.find(name);
    assert(entry !== undefined, 'a dataset is expected before it is opened');
    return entry;
  }
}

function isEmpty({ reader }: OpenDataset): boolean {
  return reader.snapshot().head === null;
}

function isText(value: string | null): value is string {
  return value !== null;
}

function lacksFiles({ reader }: OpenDataset): boolean {
  return reader.status().alarms.some(({ code }) => code === 'open-files-exhausted');
}

interface ServeDatasetDependencies extends ServiceDependencies {
  readonly pool: EnginePool;
  readonly answers: AnswerCache;
  readonly limits: StreamLimits;
}

/** Connects a dataset to the engine: its streams and lookups. */
export function serveDataset(
  { reader, ingest, ledgerUnixMs, digestFiles }: ServiceDataset,
  dialects: readonly Dialect[],
  { clock, log, pool, answers, limits }: ServeDatasetDependencies,
): ServedDataset {
  const { name } = reader.description;
  const segments = new DatasetSegments({ dataset: reader, pool });
  const engine = new EngineEvaluator({ pool, segments });
  const { readList } = reader;
  const cached = new CachedEvaluator({ dataset: name, readList, answers, evaluator: engine });
  const evaluator = new SkippingEvaluator({ dataset: reader, evaluator: cached });
  const reportFault = (error: unknown) => log.error({ err: error, dataset: name }, 'stream ended');
  const streams = new DatasetStreams(limits, {
    dataset: reader,
    evaluator,
    clock,
    reportFault,
  });
  return {
    reader,
    streams,
    lookups: new DatasetLookups({ dataset: reader, evaluator, segments, pool, digestFiles }),
    dialects,
    ingest,
    ledgerUnixMs: ledgerUnixMs ?? (() => clock.unixMs()),
  };
}
