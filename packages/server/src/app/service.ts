/** The composition of the read side: datasets in, two listeners out. */
import { randomUUID } from 'node:crypto';
import type { Dialect } from '@sluice/protocol/dialect';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import { ENGINE_LIMITS } from '../engine/engine-limits.ts';
import { EnginePool } from '../engine/engine-pool.ts';
import { AdminServer } from '../http/admin-server.ts';
import type { ApiKey } from '../http/api-keys.ts';
import { HTTP_LIMITS } from '../http/http-limits.ts';
import { KEY_LIMITS } from '../http/key-budgets.ts';
import { Metrics } from '../http/metrics.ts';
import { PublicServer } from '../http/public-server.ts';
import { DatasetDirectory, type ServedDataset } from '../http/served-dataset.ts';
import type { IngestStatus } from '../ingest/ingester.ts';
import { DatasetStreams } from '../stream/dataset-streams.ts';
import { EngineEvaluator } from '../stream/engine-evaluator.ts';
import { STREAM_LIMITS } from '../stream/stream-limits.ts';
import { addDatasetMetrics } from './dataset-metrics.ts';
import { addProcessMetrics } from './process-metrics.ts';

export interface ServiceOptions {
  readonly host: string;
  readonly port: number;
  readonly adminHost: string;
  /** One above the public port unless it is given. */
  readonly adminPort?: number | undefined;
  readonly keys: readonly ApiKey[] | null;
  readonly dialects: readonly Dialect[];
  readonly version: string;
}

export interface ServiceDataset {
  readonly reader: DatasetReader;
  readonly ingest: () => IngestStatus | null;
  /** Of a simulated ledger; the calendar's by default. */
  readonly ledgerUnixMs?: () => number;
}

export interface ServiceModules {
  readonly datasets: readonly ServiceDataset[];
  readonly clock: Clock;
  readonly log: Logger;
}

export class Service {
  /** Threads that all datasets' queries share. */
  readonly #pool = new EnginePool(ENGINE_LIMITS);
  readonly #datasets: readonly ServedDataset[];
  readonly #public: PublicServer;
  readonly #admin: AdminServer;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;
  #isClosing = false;
  port = 0;
  adminPort = 0;

  private constructor(options: ServiceOptions, modules: ServiceModules) {
    const { clock, log } = modules;
    const metrics = new Metrics();
    this.#datasets = modules.datasets.map((dataset) =>
      serveDataset(dataset, options, { ...modules, pool: this.#pool }),
    );
    this.#running = Promise.all(
      this.#datasets.map(({ streams }) => streams.run(this.#stop.signal)),
    );
    addProcessMetrics(metrics, options.version);
    addDatasetMetrics(metrics, this.#datasets);
    this.#public = new PublicServer(
      {
        limits: HTTP_LIMITS,
        queryLimits: QUERY_LIMITS,
        keyLimits: KEY_LIMITS,
        corsOrigins: [],
        version: options.version,
      },
      {
        datasets: new DatasetDirectory(this.#datasets),
        keys: () => options.keys,
        clock,
        log,
        metrics,
        newRequestId: randomUUID,
      },
    );
    const notReadyReason = () => this.notReadyReason();
    this.#admin = new AdminServer({ metrics, notReadyReason, newRequestId: randomUUID });
  }

  /** Listens on both addresses, or on none. */
  static async start(options: ServiceOptions, modules: ServiceModules): Promise<Service> {
    const service = new Service(options, modules);
    try {
      service.port = await service.#public.listen(options.host, options.port);
      const adminPort = options.adminPort ?? (options.port === 0 ? 0 : options.port + 1);
      service.adminPort = await service.#admin.listen(options.adminHost, adminPort);
      return service;
    } catch (error) {
      await service.close();
      throw error;
    }
  }

  /** Why the service should get no traffic; `null` if it should. */
  notReadyReason(): string | null {
    if (this.#isClosing) return 'closing';
    const starting = this.#datasets.find(({ reader }) => reader.snapshot().head === null);
    return starting === undefined ? null : `starting ${starting.reader.description.name}`;
  }

  /** Not ready at once; then every response ends on a line. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await this.#public.close();
    this.#stop.abort();
    await this.#running;
    await this.#admin.close();
    await this.#pool.stop();
  }
}

function serveDataset(
  { reader, ingest, ledgerUnixMs }: ServiceDataset,
  { dialects }: ServiceOptions,
  { clock, log, pool }: ServiceModules & { readonly pool: EnginePool },
): ServedDataset {
  const evaluator = new EngineEvaluator({ dataset: reader, pool });
  const { name } = reader.description;
  const reportFault = (error: unknown) => log.error({ err: error, dataset: name }, 'stream ended');
  const streams = new DatasetStreams(STREAM_LIMITS, {
    dataset: reader,
    evaluator,
    clock,
    reportFault,
  });
  return {
    reader,
    streams,
    dialects,
    ingest,
    ledgerUnixMs: ledgerUnixMs ?? (() => clock.unixMs()),
  };
}
