import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Clock } from '@sluice/base/clock';
import type { Dialect } from '@sluice/protocol/dialect';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { pino } from 'pino';
import type { BlockEvaluator } from '../../stream/block-evaluator.ts';
import { DatasetStreams } from '../../stream/dataset-streams.ts';
import type { DatasetLookups } from '../../stream/lookups/dataset-lookups.ts';
import { STREAM_LIMITS, type StreamLimits } from '../../stream/stream-limits.ts';
import { MATCH } from '../../stream/testing/make-block.ts';
import { ManualClock } from '../../stream/testing/manual-clock.ts';
import { MemoryDataset } from '../../stream/testing/memory-dataset.ts';
import { ReferenceEvaluator } from '../../stream/testing/reference-evaluator.ts';
import { HTTP_LIMITS, type HttpLimits } from '../http-limits.ts';
import type { ApiKey } from '../keys/api-keys.ts';
import { KEY_LIMITS, type KeyLimits } from '../keys/key-budgets.ts';
import { Metrics } from '../metrics/metrics.ts';
import { PublicServer } from '../public-server.ts';
import { DatasetDirectory } from '../served-dataset.ts';

export interface FixtureOptions {
  readonly dataset?: MemoryDataset;
  readonly dialects?: readonly Dialect[];
  readonly limits?: Partial<HttpLimits>;
  readonly streamLimits?: Partial<StreamLimits>;
  /** Read at each request, so that a test can change it. */
  keys?: readonly ApiKey[];
  readonly keyLimits?: Partial<KeyLimits>;
  readonly corsOrigins?: readonly string[];
  readonly servesQueries?: boolean;
  /** The manual clock by default. */
  readonly clock?: Clock;
  /** By default the reference evaluator, which needs no threads. */
  readonly evaluator?: BlockEvaluator;
  /** Undefined by default, because it needs the engine's threads. */
  readonly lookups?: DatasetLookups;
}

/** A chain of slots 100 to 110 without 104 and 105, finalized up to 103. */
export function makeChain(): MemoryDataset {
  const dataset = new MemoryDataset({ anchor: 98, aliases: ['ledger-alias'] });
  dataset.extend([100, 101, 102, 103, 106, 107, 108, 109, 110]);
  dataset.finalize(103);
  return dataset;
}

/** The public server over a dataset in memory, on a real socket. */
export class HttpFixture {
  readonly manualClock = new ManualClock();
  readonly dataset: MemoryDataset;
  readonly server: PublicServer;
  readonly streams: DatasetStreams;
  readonly metrics = new Metrics();
  readonly errors: string[] = [];
  /** The limits of the server, which a test can change as a reload does. */
  readonly limits: { -readonly [Name in keyof HttpLimits]: HttpLimits[Name] };
  port = 0;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  private constructor(options: FixtureOptions) {
    const { dataset = makeChain(), dialects = ['ledger'] } = options;
    const clock = options.clock ?? this.manualClock;
    this.dataset = dataset;
    this.limits = { ...HTTP_LIMITS, ...options.limits };
    const { decodeSegment } = dataset;
    const evaluator = options.evaluator ?? new ReferenceEvaluator({ dataset, decodeSegment });
    const log = pino({ level: 'error' }, { write: (line: string) => void this.errors.push(line) });
    this.streams = new DatasetStreams(
      { ...STREAM_LIMITS, ...options.streamLimits },
      { dataset, evaluator, clock, reportFault: (error) => log.error(error) },
    );
    this.#running = this.streams.run(this.#stop.signal);
    const served = {
      reader: dataset,
      streams: this.streams,
      lookups: options.lookups ?? ({} as DatasetLookups),
      dialects,
      ledgerUnixMs: () => 1_738_368_112_000,
      ingest: () => null,
    };
    const datasets = new DatasetDirectory();
    datasets.expect({ ...dataset.description, dialects }).become(served);
    let requestCount = 0;
    this.server = new PublicServer(
      {
        limits: this.limits,
        queryLimits: QUERY_LIMITS,
        keyLimits: { ...KEY_LIMITS, ...options.keyLimits },
        corsOrigins: options.corsOrigins ?? [],
        version: '0.0.0-test',
        servesQueries: options.servesQueries ?? true,
      },
      {
        datasets,
        keys: () => options.keys ?? null,
        clock,
        log,
        metrics: this.metrics,
        newRequestId: () => `r${++requestCount}`,
      },
    );
  }

  static async start(options: FixtureOptions = {}): Promise<HttpFixture> {
    const fixture = new HttpFixture(options);
    fixture.port = await fixture.server.listen('127.0.0.1', 0);
    return fixture;
  }

  send(options: SendOptions): Promise<HttpResponse> {
    return send(this.port, options);
  }

  get(path: string, headers: Record<string, string> = {}): Promise<HttpResponse> {
    return this.send({ method: 'GET', path, headers });
  }

  /** A query for the matching records of the test chain. */
  query(
    body: Record<string, unknown>,
    { headers = {}, path = '/datasets/ledger-test/stream' }: Partial<SendOptions> = {},
  ): Promise<HttpResponse> {
    return this.send({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(matchBody(body)),
    });
  }

  connect(): Promise<Socket> {
    return new Promise((resolve) => {
      const socket = connect(this.port, '127.0.0.1', () => resolve(socket));
      socket.on('error', () => undefined);
    });
  }

  async close(): Promise<void> {
    await this.server.close();
    this.#stop.abort();
    await this.#running;
  }
}

export function matchBody(body: Record<string, unknown>): Record<string, unknown> {
  return {
    fields: { block: { number: true, hash: true }, reward: { pubKey: true } },
    rewards: [{ pubkey: [MATCH] }],
    ...body,
  };
}

export interface SendOptions {
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Whether the whole body was received. */
  readonly isComplete: boolean;
}

export function send(
  port: number,
  { method, path, headers, body }: SendOptions,
): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(
      { host: '127.0.0.1', port, method, path, headers: headers ?? {}, agent: false },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', () => undefined);
        incoming.on('close', () =>
          resolve({
            status: incoming.statusCode ?? 0,
            headers: incoming.headers,
            body: Buffer.concat(chunks),
            isComplete: incoming.complete,
          }),
        );
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

/** Returns everything that a socket receives until it closes. */
export function readToEnd(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('close', () => resolve(text));
  });
}

export function errorOf(response: HttpResponse): { code: string; message: string; path?: string } {
  return (JSON.parse(response.body.toString()) as { error: { code: string; message: string } })
    .error;
}
