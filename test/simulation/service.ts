/** A process of the simulated service: everything that `sluice serve` composes, over the simulated world. */
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import type { Random } from '@sluice/base/random';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import type { Slot } from '../../packages/ledger/src/primitives.ts';
import { Closers } from '../../packages/server/src/app/closers.ts';
import type { OpenDatasetDependencies } from '../../packages/server/src/app/open-dataset.ts';
import { openBucketDataset } from '../../packages/server/src/app/remote/open-remote.ts';
import { openReplica } from '../../packages/server/src/app/remote/open-shared.ts';
import type { OpenedDataset } from '../../packages/server/src/app/running-dataset.ts';
import { serveDataset } from '../../packages/server/src/app/service.ts';
import { Tasks } from '../../packages/server/src/app/tasks.ts';
import { openBucket } from '../../packages/server/src/cluster/bucket.ts';
import { Dataset } from '../../packages/server/src/dataset/dataset.ts';
import type { DatasetLimits } from '../../packages/server/src/dataset/dataset-limits.ts';
import type { Retention } from '../../packages/server/src/dataset/retention.ts';
import {
  createDataset,
  datasetExists,
} from '../../packages/server/src/dataset/stored/create-dataset.ts';
import { mergeInProcess } from '../../packages/server/src/dataset/testing/merge-in-process.ts';
import { EnginePool } from '../../packages/server/src/engine/threads/engine-pool.ts';
import { HTTP_LIMITS } from '../../packages/server/src/http/http-limits.ts';
import { KEY_LIMITS } from '../../packages/server/src/http/keys/key-budgets.ts';
import { Metrics } from '../../packages/server/src/http/metrics/metrics.ts';
import { WebPages } from '../../packages/server/src/http/page-routes.ts';
import { PublicServer } from '../../packages/server/src/http/public-server.ts';
import { DatasetDirectory } from '../../packages/server/src/http/served-dataset.ts';
import type { StartPoint } from '../../packages/server/src/ingest/follow/choose-start.ts';
import { Ingester } from '../../packages/server/src/ingest/ingester.ts';
import type { SimFs } from '../../packages/server/src/storage/testing/sim-fs.ts';
import { AnswerCache } from '../../packages/server/src/stream/answer-cache.ts';
import { STREAM_LIMITS } from '../../packages/server/src/stream/stream-limits.ts';
import { ProcessDisk } from './disk.ts';
import type { Ledger } from './ledger.ts';
import { type Connection, connect, type NetworkDependencies } from './network.ts';
import { type RemoteServers, SimulatedFeed, SimulatedStore } from './remote.ts';
import { Life, type Scheduler } from './scheduler.ts';
import { prepareSimulated, SimulatedSource, type SourceState } from './source.ts';
import { startSimulatedThread } from './threads.ts';

export interface ServiceSettings {
  /** `folder`: everything is on the disk. `bucket`: segments are in a bucket. `cluster`: the journal is a feed that machines share. */
  readonly storage: 'folder' | 'bucket' | 'cluster';
  /** Whether this machine of a cluster never writes. */
  readonly isReader: boolean;
  readonly cacheBytesMax: number;
  readonly messageBytesMax: number;
  readonly limits: Partial<DatasetLimits>;
  readonly retention: Retention;
  readonly start: StartPoint;
  readonly backfillTo: Slot | undefined;
}

export interface ServiceDependencies {
  /** The name of this process among all. */
  readonly name: string;
  readonly disk: SimFs;
  readonly slowMs: () => number;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly ledger: Ledger;
  readonly sources: readonly SourceState[];
  readonly servers: RemoteServers;
  /** Called when a task ends by itself, which ends the process. */
  readonly onFailed: (error: unknown) => void;
}

type Remote = NonNullable<OpenDatasetDependencies['remote']>;

export const datasetFolder = 'data/ledger';
const names = { name: 'ledger', aliases: [], dialects: ['ledger'] as const };
const ignore = () => undefined;
/** What a request logs is also in its response. */
const log = {
  error: ignore,
  warn: ignore,
  info: ignore,
  child: () => log,
} as unknown as Parameters<typeof serveDataset>[2]['log'];
/** Read once, because processes start often. */
const pages = new WebPages();

export class SimulatedService {
  readonly life = new Life();
  readonly #settings: ServiceSettings;
  readonly #dependencies: ServiceDependencies;
  readonly #directory = new DatasetDirectory();
  readonly #server: PublicServer;
  readonly #connections = new Set<Connection>();
  readonly #network: NetworkDependencies;
  readonly #stop = new AbortController();
  readonly #tasks = new Tasks();
  readonly #closers = new Closers();
  #pool: EnginePool | undefined;
  dataset: Dataset | undefined;
  ingester: Ingester | undefined;

  constructor(settings: ServiceSettings, dependencies: ServiceDependencies) {
    this.#settings = settings;
    this.#dependencies = dependencies;
    const { scheduler, random } = dependencies;
    this.#network = { scheduler, random: random.fork('network') };
    this.#directory.expect(names);
    let requestCount = 0;
    this.#server = new PublicServer(
      {
        limits: HTTP_LIMITS,
        queryLimits: QUERY_LIMITS,
        keyLimits: KEY_LIMITS,
        corsOrigins: [],
        version: '0.0.0',
      },
      {
        datasets: this.#directory,
        keys: () => null,
        clock: dependencies.scheduler.clock(this.life),
        log,
        metrics: new Metrics(),
        newRequestId: () => `r${++requestCount}`,
        pages,
      },
    );
  }

  /** Opens the dataset, serves it and follows the sources. Rejects if the dataset cannot be opened. */
  async start(): Promise<void> {
    const { disk, scheduler, random, slowMs } = this.#dependencies;
    const { life } = this;
    const clock = scheduler.clock(life);
    const fs = new ProcessDisk({ disk, scheduler, random: random.fork('disk'), life, slowMs });
    const { dataset, lead } = await this.#openAt(fs, clock);
    this.dataset = dataset;
    this.#serve(dataset);
    const work = (signal: AbortSignal) => this.#ingest(dataset, signal);
    if (lead === undefined) this.#tasks.run(work);
    else lead(work);
    const { onFailed } = this.#dependencies;
    this.#tasks.untilFailed(this.#stop.signal).catch(onFailed);
  }

  async #openAt(fs: ProcessDisk, clock: Clock): Promise<OpenedDataset> {
    const { storage, isReader, cacheBytesMax, limits, messageBytesMax } = this.#settings;
    const open = (remote: Remote = {}) => this.#openDataset(fs, clock, remote);
    if (storage === 'folder') return { dataset: await open() };
    const { scheduler, random, servers, name } = this.#dependencies;
    const { life } = this;
    const requests = { servers, scheduler, life, random: random.fork('servers') };
    const bucket = await openBucket(
      {
        dataset: names.name,
        cacheFolder: `${datasetFolder}/cache`,
        cacheBytesMax,
        requestCountMax: 4,
      },
      { store: new SimulatedStore(requests), clock, fs },
    );
    this.#closers.add(() => bucket.cache.close());
    const shared = { fs, clock, log, bucket, open, tasks: this.#tasks };
    if (storage === 'bucket') {
      const newWriter = () => name;
      return { dataset: await openBucketDataset(datasetFolder, { ...shared, newWriter }) };
    }
    const feed = new SimulatedFeed(messageBytesMax, requests);
    const segmentBlockCount = limits.sealBlockCount ?? 8;
    const role = isReader ? 'read' : 'both';
    const options = { folder: datasetFolder, member: name, role, segmentBlockCount } as const;
    return openReplica(options, { ...shared, feed });
  }

  async #openDataset(fs: ProcessDisk, clock: Clock, remote: Remote): Promise<Dataset> {
    const { scheduler, random } = this.#dependencies;
    const { life } = this;
    const merging = random.fork('merge');
    if (!(await datasetExists(datasetFolder, fs))) {
      const rest = { genesisHash: null, metaOptional: false, allowMissing: [] };
      const manifest = { name: names.name, aliases: [], votes: 'drop' as const, ...rest };
      await createDataset(datasetFolder, manifest, { fs });
    }
    const { limits, ...elsewhere } = remote;
    return Dataset.open(
      { folder: datasetFolder, realTime: true, limits: { ...this.#settings.limits, ...limits } },
      {
        ...elsewhere,
        fs,
        clock,
        isLockHeld: () => true,
        merge: async (segments) => {
          await scheduler.delay(merging.unit() * 50, life);
          return mergeInProcess(segments);
        },
        makeIndex: fs.makeIndex,
      },
    );
  }

  #serve(dataset: Dataset): void {
    const { disk, scheduler, random } = this.#dependencies;
    const { life } = this;
    const clock = scheduler.clock(life);
    const threads = { disk, scheduler, random: random.fork('threads'), life };
    const startThread = (data: Parameters<typeof startSimulatedThread>[0]) =>
      startSimulatedThread(data, threads);
    const readsStore = this.#settings.storage !== 'folder';
    const options = { threadCount: 2, cacheBytesMax: 1 << 20, readsStore };
    const pool = new EnginePool(options, { clock, startThread });
    this.#pool = pool;
    const ingest = () => this.ingester?.status ?? null;
    const served = serveDataset({ reader: dataset, ingest, isFed: true }, names.dialects, {
      clock,
      log,
      pool,
      answers: new AnswerCache({ bytesMax: 1 << 18 }),
      limits: STREAM_LIMITS,
    });
    this.#directory.find(names.name)?.become(served);
    void served.streams.run(this.#stop.signal);
  }

  /** Follows the sources until the signal aborts. */
  async #ingest(dataset: Dataset, signal: AbortSignal): Promise<void> {
    const { ledger, scheduler, random, sources } = this.#dependencies;
    const { start, retention, backfillTo } = this.#settings;
    const { life } = this;
    const asking = random.fork('sources');
    this.ingester = new Ingester(
      {
        sources: sources.map(({ name }) => ({ kind: 'rpc', name, url: 'http://x', wsUrls: [] })),
        start,
        retention,
        backfillTo,
      },
      {
        dataset,
        clock: scheduler.clock(life),
        random: random.fork('ingest'),
        prepare: async (slot, bytes) => prepareSimulated(ledger, slot, bytes),
        open: ({ name }) => {
          const state = sources.find((status) => status.name === name);
          if (state === undefined) throw new CodedError('dataset-missing', { dataset: name });
          return new SimulatedSource(state, { ledger, scheduler, random: asking, life });
        },
      },
    );
    try {
      await this.ingester.run(signal);
    } finally {
      this.ingester = undefined;
    }
  }

  /** Connects a client to this process. */
  connect(client: Life): Connection {
    const connection = connect(this.#network, client, this.life);
    this.#connections.add(connection);
    const { client: near, server: far } = connection;
    // A connection is kept until both ends have closed. An end whose process or client has ended does not close by itself.
    const forget = () => {
      if (near.closed && far.closed) this.#connections.delete(connection);
    };
    near.once('close', forget);
    far.once('close', forget);
    void this.#server.accept(far);
    return connection;
  }

  /** Ends the process at once. Its connections break. */
  kill(): void {
    this.life.isOver = true;
    for (const { client, server } of this.#connections) {
      client.destroy();
      // Node keeps the parser of an open connection, and with it the whole world.
      server.destroy();
    }
  }

  /** Stops as after SIGTERM. */
  async stop(): Promise<void> {
    const closed = this.#server.close();
    this.#stop.abort();
    await this.#tasks.stop().catch(ignore);
    await closed;
    await this.#pool?.stop();
    await this.dataset?.close();
    await this.#closers.closeAll();
    this.kill();
  }
}
