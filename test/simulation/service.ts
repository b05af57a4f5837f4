/** A process of the simulated service: everything that `sluice serve` composes, over the simulated world. */
import { CodedError } from '@sluice/base/errors';
import type { Random } from '@sluice/base/random';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import type { Slot } from '../../packages/ledger/src/primitives.ts';
import { serveDataset } from '../../packages/server/src/app/service.ts';
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
import { Life, type Scheduler } from './scheduler.ts';
import { prepareSimulated, SimulatedSource, type SourceState } from './source.ts';
import { startSimulatedThread } from './threads.ts';

export interface ServiceSettings {
  readonly limits: Partial<DatasetLimits>;
  readonly retention: Retention;
  readonly start: StartPoint;
  readonly backfillTo: Slot | undefined;
}

export interface ServiceDependencies {
  readonly disk: SimFs;
  readonly slowMs: () => number;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly ledger: Ledger;
  readonly sources: readonly SourceState[];
  /** Called when a task ends by itself, which ends the process. */
  readonly onFailed: (error: unknown) => void;
}

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
  #running: Promise<unknown> = Promise.resolve();
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
    if (!(await datasetExists(datasetFolder, fs))) {
      const rest = { genesisHash: null, metaOptional: false, allowMissing: [] };
      const manifest = { name: names.name, aliases: [], votes: 'drop' as const, ...rest };
      await createDataset(datasetFolder, manifest, { fs });
    }
    const merging = random.fork('merge');
    const dataset = await Dataset.open(
      { folder: datasetFolder, realTime: true, limits: this.#settings.limits },
      {
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
    this.dataset = dataset;
    this.#serve(dataset);
    this.#follow(dataset);
  }

  #serve(dataset: Dataset): void {
    const { disk, scheduler, random } = this.#dependencies;
    const { life } = this;
    const clock = scheduler.clock(life);
    const threads = { disk, scheduler, random: random.fork('threads'), life };
    const startThread = (data: Parameters<typeof startSimulatedThread>[0]) =>
      startSimulatedThread(data, threads);
    const options = { threadCount: 2, cacheBytesMax: 1 << 20 };
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

  #follow(dataset: Dataset): void {
    const { ledger, scheduler, random, sources, onFailed } = this.#dependencies;
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
          const state = sources.find((one) => one.name === name);
          if (state === undefined) throw new CodedError('dataset-missing', { dataset: name });
          return new SimulatedSource(state, { ledger, scheduler, random: asking, life });
        },
      },
    );
    const running = this.ingester.run(this.#stop.signal);
    running.catch((error: unknown) => {
      if (!life.isOver) onFailed(error);
    });
    this.#running = running.catch(() => undefined);
  }

  /** Connects a client to this process. */
  connect(client: Life): Connection {
    const connection = connect(this.#network, client, this.life);
    this.#connections.add(connection);
    connection.server.once('close', () => this.#connections.delete(connection));
    void this.#server.accept(connection.server);
    return connection;
  }

  /** Ends the process at once. Its connections break. */
  kill(): void {
    this.life.isOver = true;
    for (const { client } of this.#connections) client.destroy();
  }

  /** Stops as after SIGTERM. */
  async stop(): Promise<void> {
    const closed = this.#server.close();
    this.#stop.abort();
    await this.#running;
    await closed;
    await this.#pool?.stop();
    await this.dataset?.close();
    this.kill();
  }
}
