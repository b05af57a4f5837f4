/**
 * The public listener. Nothing here changes state.
 *
 *   bytes ─► parser (400, 408, 431) ─► checks (401, 404, 405, 429, 415) ─► body (413, 400) ─► answer (200, 204, 409, 503)
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { QueryLimits } from '@sluice/protocol/query-limits';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Clock } from '../base/clock.ts';
import { CodedError, isCodedError } from '../base/errors.ts';
import { type ApiKey, keyId } from './api-keys.ts';
import { ByteMeter } from './byte-meter.ts';
import { answerClientError, refuseOnSocket } from './client-error.ts';
import { buildErrorReply } from './error-reply.ts';
import { GET_ROUTES } from './get-routes.ts';
import type { HttpLimits } from './http-limits.ts';
import { buildHttpMetrics, type HttpMetrics } from './http-metrics.ts';
import { KeyBudgets, type KeyLimits } from './key-budgets.ts';
import { describeListenFailure } from './listen-failure.ts';
import { LookupSlots } from './lookup-slots.ts';
import type { Metrics } from './metrics.ts';
import { addPageRoutes, PAGE_ROUTES } from './page-routes.ts';
import {
  allowedMethods,
  type CheckedRequest,
  checkKey,
  checkRequest,
  type RequestChecksModules,
  type RouteRow,
} from './request-checks.ts';
import { answerRoute } from './routes/answer-route.ts';
import { LOOKUP_ROUTES } from './routes/lookup-routes.ts';
import type { DatasetDirectory } from './served-dataset.ts';
import { StallWatch } from './stall-watch.ts';
import { StreamPlaces } from './stream-places.ts';
import { answerStream, type StreamRouteModules } from './stream-route.ts';

/** The limits may change under way; after a change `refresh` is called. */
export interface PublicServerOptions {
  readonly limits: HttpLimits;
  readonly queryLimits: QueryLimits;
  readonly keyLimits: KeyLimits;
  /** Exact origins of pages that may read answers; none by default. */
  readonly corsOrigins: readonly string[];
  readonly version: string;
}

export interface PublicServerModules {
  readonly datasets: DatasetDirectory;
  /** `null` where none are configured. */
  readonly keys: () => readonly ApiKey[] | null;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly newRequestId: () => string;
}

const STREAM_ROUTES: readonly RouteRow[] = [
  { method: 'POST', url: '/datasets/:name/stream' },
  { method: 'POST', url: '/datasets/:name/finalized-stream' },
];

/** Every route there is; the description is checked against it. */
export const ROUTES: readonly RouteRow[] = [
  ...STREAM_ROUTES,
  ...GET_ROUTES,
  ...LOOKUP_ROUTES,
  ...PAGE_ROUTES,
];

/** To a tunnel, which asks for no path. */
const anyAllowed = allowedMethods([{ method: 'GET', url: '' }, ...STREAM_ROUTES.slice(0, 1)]);

const idleSweepMs = 50;

export class PublicServer {
  readonly #options: PublicServerOptions;
  readonly #modules: PublicServerModules;
  readonly #app: FastifyInstance;
  readonly #budgets: KeyBudgets;
  readonly #places: StreamPlaces;
  readonly #lookups: LookupSlots;
  readonly #unsent: ByteMeter;
  readonly #queries: ByteMeter;
  readonly #checks: RequestChecksModules;
  readonly #metrics: HttpMetrics;
  readonly #checked = new WeakMap<FastifyRequest, CheckedRequest>();
  #isClosing = false;

  constructor(options: PublicServerOptions, modules: PublicServerModules) {
    this.#options = options;
    this.#modules = modules;
    this.#budgets = new KeyBudgets(options.keyLimits, modules.clock);
    const { limits } = options;
    this.#unsent = new ByteMeter(() => limits.unsentBytesMax);
    this.#queries = new ByteMeter(() => limits.queryBytesMax);
    const meters = { unsent: this.#unsent, queries: this.#queries };
    this.#places = new StreamPlaces(limits, { budgets: this.#budgets, ...meters });
    this.#lookups = new LookupSlots(limits);
    this.#metrics = buildHttpMetrics(modules.metrics, {
      places: this.#places,
      lookups: this.#lookups,
      ...meters,
    });
    this.#checks = { ...modules, routes: ROUTES, budgets: this.#budgets };
    this.#app = this.#buildApp();
  }

  /** Resolves with the port, which differs from the one asked for if that was 0. */
  async listen(host: string, port: number): Promise<number> {
    try {
      await this.#app.listen({ host, port });
    } catch (error) {
      throw describeListenFailure(error, { host, port });
    }
    return (this.#app.server.address() as AddressInfo).port;
  }

  /** Takes over limits and keys that changed. Streams of a key that is gone end. */
  refresh(): void {
    this.#applyLimits(this.#app);
    const keys = this.#modules.keys();
    if (keys === null) return;
    const ids = new Set(keys.map(keyId));
    this.#places.endUnless((key) => key !== null && ids.has(keyId(key)));
    this.#budgets.keepOnly(ids);
  }

  #applyLimits({ server }: FastifyInstance): void {
    const { limits } = this.#options;
    server.headersTimeout = limits.headersMsMax;
    server.requestTimeout = limits.requestMsMax;
    server.keepAliveTimeout = limits.keepAliveMs;
    server.maxConnections = limits.connectionCountMax;
  }

  /** A response that ends after the close began leaves a connection that nobody else would end. */
  async #sweepIdle(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      await this.#modules.clock.sleep(idleSweepMs, over);
      this.#app.server.closeIdleConnections();
    }
  }

  /** Ends every stream on a line, answers who waits, and cuts what is left after the limit. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#places.close();
    const closed = this.#app.close();
    const over = new AbortController();
    const cut = this.#modules.clock.sleep(this.#options.limits.closeMsMax, over.signal).then(() => {
      if (!over.signal.aborted) this.#app.server.closeAllConnections();
    });
    const swept = this.#sweepIdle(over.signal);
    await closed;
    over.abort();
    await Promise.all([cut, swept]);
  }

  #buildApp(): FastifyInstance {
    const { limits } = this.#options;
    const app = Fastify({
      http: {
        connectionsCheckingInterval: limits.timeoutCheckMs,
        maxHeaderSize: limits.headerBytesMax,
        // Refused below, in our own words.
        requireHostHeader: false,
      },
      return503OnClosing: false,
      // A longer name is unknown like any other; the parser bounds it.
      routerOptions: { maxParamLength: limits.headerBytesMax },
      rewriteUrl: ({ url = '' }) => toPath(url),
      genReqId: (raw) => this.#requestId(raw),
      frameworkErrors: (error, request, reply) => this.#answerFrameworkError(error, request, reply),
      clientErrorHandler: (error, socket) => {
        this.#countStatus(answerClientError(error, socket, this.#modules.newRequestId()));
      },
    });
    this.#applyLimits(app);
    this.#answerOddRequests(app);
    app.removeAllContentTypeParsers();
    // A body is read where its query is parsed, under that route's own limits.
    app.addContentTypeParser('*', (_request, _payload, done) => done(null));
    app.addHook('onRequest', (request, reply, done) => {
      const isAllowedOrigin = this.#begin(request, reply);
      // A browser asks so before it posts; where no origin is listed this is a method like any other.
      if (isAllowedOrigin && request.method === 'OPTIONS') return void reply.code(204).send();
      const { httpVersion, headers } = request.raw;
      if (httpVersion === '1.1' && headers.host === undefined) {
        throw new CodedError('request-malformed', { missing: 'Host' });
      }
      this.#checked.set(request, checkRequest(request, this.#checks));
      done();
    });
    app.setErrorHandler((error, request, reply) => this.#answerError(error, request, reply));
    // The checks above refuse such a request before this is reached.
    app.setNotFoundHandler((request, reply) =>
      this.#answerError(new CodedError('path-unknown'), request, reply),
    );
    this.#addRoutes(app);
    return app;
  }

  /** What the server of the runtime would answer by itself, without a body and an id. */
  #answerOddRequests({ server }: FastifyInstance): void {
    // An expectation that nobody knows may be left alone.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    server.on('connect', (_request, socket) => {
      const refusal = new CodedError('method-wrong', { method: 'CONNECT', allowed: anyAllowed });
      this.#countStatus(refuseOnSocket(refusal, socket, this.#modules.newRequestId()));
    });
  }

  #addRoutes(app: FastifyInstance): void {
    const modules: StreamRouteModules = {
      ...this.#options,
      ...this.#modules,
      places: this.#places,
      unsent: this.#unsent,
      queries: this.#queries,
      stallWatch: new StallWatch(this.#options.limits, this.#modules.clock),
      metrics: this.#metrics,
    };
    for (const { url } of STREAM_ROUTES) {
      const finalizedOnly = url.endsWith('/finalized-stream');
      app.post(url, async (request, reply) => {
        const checked = this.#checkedOf(request);
        await answerStream({ request, reply, checked, finalizedOnly }, modules);
      });
    }
    for (const route of LOOKUP_ROUTES) {
      const { method, url } = route;
      const handler = (request: FastifyRequest, reply: FastifyReply) =>
        answerRoute(
          route,
          { request, reply, checked: this.#checkedOf(request) },
          { ...modules, lookups: this.#lookups },
        );
      app.route({ method, url, handler });
    }
    const context = { ...this.#options, ...this.#modules, routes: ROUTES };
    for (const route of GET_ROUTES) {
      const answer = route.build(context);
      app.get(route.url, async (request, reply) => {
        const { dataset } = this.#checkedOf(request);
        const { type, body } = await answer({ dataset, params: request.params });
        reply.header('content-type', type);
        reply.send(body);
      });
    }
    addPageRoutes(app);
  }

  #checkedOf(request: FastifyRequest): CheckedRequest {
    return this.#checked.get(request) ?? { key: null, dataset: null };
  }

  #requestId(raw: IncomingMessage): string {
    const sent = raw.headers['x-request-id'];
    if (typeof sent === 'string' && /^[\w-]{1,64}$/.test(sent)) return sent;
    return this.#modules.newRequestId();
  }

  /** The headers of every answer; tells whether a listed page of another origin asks. */
  #begin(request: FastifyRequest, reply: FastifyReply): boolean {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    reply.header('cache-control', 'no-store');
    if (this.#isClosing) reply.header('connection', 'close');
    const startMs = this.#modules.clock.nowMs();
    const { url: route = 'none' } = request.routeOptions;
    reply.raw.once('close', () => {
      const seconds = (this.#modules.clock.nowMs() - startMs) / 1000;
      this.#metrics.requestSeconds.observe({ route }, seconds);
      this.#countResponse(reply.raw);
    });
    return this.#allowOrigin(request, reply);
  }

  #allowOrigin(request: FastifyRequest, reply: FastifyReply): boolean {
    const { corsOrigins } = this.#options;
    if (corsOrigins.length === 0) return false;
    reply.header('vary', 'Origin');
    const { origin } = request.headers;
    if (origin === undefined || !corsOrigins.includes(origin)) return false;
    reply.header('access-control-allow-origin', origin);
    reply.header('access-control-expose-headers', exposedHeaders);
    reply.header('access-control-allow-headers', allowedHeaders);
    reply.header('access-control-allow-methods', 'GET, HEAD, POST');
    return true;
  }

  #countResponse(raw: ServerResponse): void {
    this.#countStatus(raw.headersSent ? raw.statusCode : null);
  }

  #countStatus(status: number | null): void {
    if (status !== null) this.#metrics.responses.inc({ status: String(status) });
  }

  #answerFrameworkError(error: Error, request: FastifyRequest, reply: FastifyReply): void {
    this.#begin(request, reply);
    try {
      checkKey(request, this.#modules);
      throw new CodedError('request-malformed', {}, { cause: error });
    } catch (refusal) {
      this.#answerError(refusal, request, reply);
    }
  }

  #answerError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const known = isCodedError(error) ? error : translate(error);
    const { status, headers, body } = buildErrorReply(known, request.id);
    if (status >= 500 && status !== 503) {
      const key = this.#checkedOf(request).key?.name;
      this.#modules.log.error({ err: error, requestId: request.id, key }, 'a request failed');
    }
    reply.code(status).headers(headers).send(body);
  }
}

/** A target may be a whole address, as proxies are sent; which host it names is nothing to us. */
function toPath(target: string): string {
  const [, rest] = /^https?:\/\/[^/?#]*(.*)$/is.exec(target) ?? [];
  if (rest === undefined) return target;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

const allowedHeaders = [
  'content-type',
  'content-encoding',
  'authorization',
  'x-api-key',
  'x-request-id',
].join(', ');

const exposedHeaders = ['X-Ledger', 'X-Sqd']
  .flatMap((prefix) =>
    ['Finalized-Head-Number', 'Finalized-Head-Hash', 'Head-Number'].map((n) => `${prefix}-${n}`),
  )
  .concat('X-Sqd-Data-Source', 'X-Request-Id', 'Retry-After')
  .join(', ');

/** What the framework refuses by itself, in the words of our catalogue. */
function translate(error: unknown): unknown {
  const status = (error as { statusCode?: number } | null)?.statusCode;
  if (status === 415) return new CodedError('content-type-wrong', {}, { cause: error });
  if (status === 413) return new CodedError('body-too-large', {}, { cause: error });
  if (status === 400) return new CodedError('request-malformed', {}, { cause: error });
  return error;
}
