/**
 * The public listener. Nothing here changes state.
 *
 *   bytes ─► parser (400, 408, 431) ─► checks (401, 404, 405, 429, 415) ─► body (413, 400) ─► response (200, 204, 409, 503)
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '@sluice/base/clock';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { listeningPort } from '@sluice/base/listening-port';
import type { IdlRegistry } from '@sluice/decode/idl-registry';
import type { QueryLimits } from '@sluice/protocol/query-limits';
import { memberOf } from '@sluice/protocol/unknown-value';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { AddressSets } from '../query/address-set.ts';
import { ByteMeter } from './byte-meter.ts';
import { refuseOnSocket, respondToClientError } from './client-error.ts';
import { buildErrorReply } from './error-reply.ts';
import type { HttpLimits } from './http-limits.ts';
import { type ApiKey, keyId } from './keys/api-keys.ts';
import { KeyBudgets, type KeyLimits } from './keys/key-budgets.ts';
import { describeListenFailure } from './listen-failure.ts';
import { buildHttpMetrics, type HttpMetrics } from './metrics/http-metrics.ts';
import type { Metrics } from './metrics/metrics.ts';
import { PAGE_ROUTES, WebPages } from './page-routes.ts';
import { discardBody } from './read-body.ts';
import {
  allowedMethods,
  type CheckedRequest,
  checkKey,
  checkRequest,
  type RequestChecksDependencies,
  type RouteRow,
} from './request-checks.ts';
import { LookupSlots } from './routes/lookup-slots.ts';
import { respondWithBody } from './routes/response-route.ts';
import type { AnyRoute } from './routes/route.ts';
import { ROUTES } from './routes/routes.ts';
import type { DatasetDirectory } from './served-dataset.ts';
import { StallWatch } from './streaming/stall-watch.ts';
import { StreamPermits } from './streaming/stream-permits.ts';
import { respondWithStream, type StreamRouteDependencies } from './streaming/stream-route.ts';

/** A reload may change the limits and then calls `refresh`. */
export interface PublicServerOptions {
  readonly limits: HttpLimits;
  readonly queryLimits: QueryLimits;
  readonly keyLimits: KeyLimits;
  /** The origins whose pages may read responses; none by default. */
  readonly corsOrigins: readonly string[];
  readonly version: string;
  /** False if this process only writes: streams and lookups get 503, and the state of datasets is still reported. */
  readonly servesQueries?: boolean;
}

export interface PublicServerDependencies {
  readonly datasets: DatasetDirectory;
  /** Returns the current keys; `null` if none are configured. */
  readonly keys: () => readonly ApiKey[] | null;
  /** Returns the IDLs with the names of instructions. Default: those of the ledger's own programs. */
  readonly idls?: () => IdlRegistry;
  /** The sets of addresses that queries can refer to. Default: none. */
  readonly sets?: AddressSets;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly newRequestId: () => string;
  /** The web application. Default: that of the build. */
  readonly pages?: WebPages;
}

/** Everything that the router knows: the interface and the pages. */
const ALL_ROUTES: readonly RouteRow[] = [...ROUTES, ...PAGE_ROUTES];

/** The methods in the response to CONNECT, which names no path. */
const anyAllowed = allowedMethods([
  { method: 'GET', url: '' },
  { method: 'POST', url: '' },
]);

const idleSweepMs = 50;

export class PublicServer {
  readonly #options: PublicServerOptions;
  readonly #dependencies: PublicServerDependencies;
  readonly #app: FastifyInstance;
  readonly #budgets: KeyBudgets;
  readonly #permits: StreamPermits;
  readonly #lookups: LookupSlots;
  readonly #unsent: ByteMeter;
  readonly #queries: ByteMeter;
  readonly #checks: RequestChecksDependencies;
  readonly #pages: WebPages;
  readonly #metrics: HttpMetrics;
  readonly #checked = new WeakMap<FastifyRequest, CheckedRequest>();
  #isClosing = false;

  constructor(options: PublicServerOptions, dependencies: PublicServerDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#budgets = new KeyBudgets(options.keyLimits, dependencies.clock);
    const { limits } = options;
    this.#unsent = new ByteMeter(() => limits.unsentBytesMax);
    this.#queries = new ByteMeter(() => limits.queryBytesMax);
    const meters = { unsent: this.#unsent, queries: this.#queries };
    this.#permits = new StreamPermits(limits, { budgets: this.#budgets, ...meters });
    this.#lookups = new LookupSlots(limits);
    this.#metrics = buildHttpMetrics(dependencies.metrics, {
      permits: this.#permits,
      lookups: this.#lookups,
      ...meters,
    });
    this.#checks = { ...dependencies, routes: ALL_ROUTES, budgets: this.#budgets };
    this.#pages = dependencies.pages ?? new WebPages();
    this.#app = this.#buildApp();
  }

  /** Resolves with the port, which the system chooses if 0 is given. */
  async listen(host: string, port: number): Promise<number> {
    try {
      await this.#app.listen({ host, port });
    } catch (error) {
      throw describeListenFailure(error, { host, port });
    }
    return listeningPort(this.#app.server);
  }

  /** Serves a connection that was not accepted by a listening socket. */
  async accept(connection: Duplex): Promise<void> {
    await this.#app.ready();
    // For a connection that is closed already, Node would create an HTTP parser and never free it.
    if (!connection.destroyed) this.#app.server.emit('connection', connection);
  }

  /** Applies changed limits and keys. Ends the streams of removed keys. */
  refresh(): void {
    this.#applyLimits(this.#app);
    const keys = this.#dependencies.keys();
    if (keys === null) return;
    const ids = new Set(keys.map(keyId));
    this.#permits.endUnless((key) => key !== null && ids.has(keyId(key)));
    this.#budgets.keepOnly(ids);
  }

  #applyLimits({ server }: FastifyInstance): void {
    const { limits } = this.#options;
    server.headersTimeout = limits.headersMsMax;
    server.requestTimeout = limits.requestMsMax;
    server.keepAliveTimeout = limits.keepAliveMs;
    server.maxConnections = limits.connectionCountMax;
  }

  /** Closes idle connections during shutdown. A response that ends after `close` began leaves its connection open. */
  async #sweepIdle(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      await this.#dependencies.clock.sleep(idleSweepMs, over);
      this.#app.server.closeIdleConnections();
    }
  }

  /** Ends every stream after a whole line, then destroys the connections that remain after the time limit. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#permits.close();
    const closed = this.#app.close();
    const over = new AbortController();
    const cut = this.#dependencies.clock
      .sleep(this.#options.limits.closeMsMax, over.signal)
      .then(() => {
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
        // Rejected below with an error of the catalogue.
        requireHostHeader: false,
      },
      return503OnClosing: false,
      // The limit of the router is not needed: the HTTP parser limits the length of a path.
      routerOptions: { maxParamLength: limits.headerBytesMax },
      rewriteUrl: ({ url = '' }) => toPath(url),
      genReqId: (raw) => this.#requestId(raw),
      frameworkErrors: (error, request, reply) =>
        this.#respondToFrameworkError(error, request, reply),
      clientErrorHandler: (error, socket) => {
        this.#countStatus(respondToClientError(error, socket, this.#dependencies.newRequestId()));
      },
    });
    this.#applyLimits(app);
    this.#respondToOddRequests(app);
    app.removeAllContentTypeParsers();
    // Routes read the body themselves, within their own limits.
    app.addContentTypeParser('*', (_request, _payload, done) => done(null));
    app.addHook('onRequest', (request, reply, done) => {
      const isAllowedOrigin = this.#begin(request, reply);
      // The preflight request of a browser. Without listed origins, OPTIONS is a method like any other.
      if (isAllowedOrigin && request.method === 'OPTIONS') return void reply.code(204).send();
      const { httpVersion, headers } = request.raw;
      if (httpVersion === '1.1' && headers.host === undefined) {
        throw new CodedError('request-malformed', { missing: 'Host' });
      }
      if (this.#pages.isMissing(request, ALL_ROUTES)) {
        return void this.#pages.sendMissing(request, reply);
      }
      this.#checked.set(request, checkRequest(request, this.#checks));
      done();
    });
    app.setErrorHandler((error, request, reply) => this.#respondToError(error, request, reply));
    // The checks above reject such requests before this is reached.
    app.setNotFoundHandler((request, reply) =>
      this.#respondToError(new CodedError('path-unknown'), request, reply),
    );
    this.#addRoutes(app);
    return app;
  }

  /** Handles requests that the HTTP server of the runtime would answer itself, without a body and an id. */
  #respondToOddRequests({ server }: FastifyInstance): void {
    // Unknown values of the header `Expect` may be ignored.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    server.on('connect', (_request, socket) => {
      const refusal = new CodedError('method-wrong', { method: 'CONNECT', allowed: anyAllowed });
      this.#countStatus(refuseOnSocket(refusal, socket, this.#dependencies.newRequestId()));
    });
  }

  #addRoutes(app: FastifyInstance): void {
    const dependencies: StreamRouteDependencies = {
      ...this.#options,
      ...this.#dependencies,
      permits: this.#permits,
      unsent: this.#unsent,
      queries: this.#queries,
      stallWatch: new StallWatch(this.#options.limits, this.#dependencies.clock),
      metrics: this.#metrics,
    };
    const context = { ...this.#options, ...this.#dependencies, routes: ROUTES };
    for (const route of ROUTES) {
      const { method, url } = route;
      const isRefused = isQueryRoute(route) && this.#options.servesQueries === false;
      const handler = (request: FastifyRequest, reply: FastifyReply) => {
        if (isRefused) throw new CodedError('queries-elsewhere');
        const routed = { request, reply, checked: this.#checkedOf(request) };
        const parts = { context, lookups: this.#lookups, budgets: this.#budgets };
        return route.kind === 'stream'
          ? respondWithStream({ ...routed, finalizedOnly: route.finalizedOnly }, dependencies)
          : respondWithBody(route, routed, { ...dependencies, ...parts });
      };
      app.route({ method, url, handler });
    }
    this.#pages.addRoutes(app);
  }

  #checkedOf(request: FastifyRequest): CheckedRequest {
    return this.#checked.get(request) ?? { key: null, dataset: null };
  }

  #requestId(raw: IncomingMessage): string {
    const sent = raw.headers['x-request-id'];
    if (typeof sent === 'string' && /^[\w-]{1,64}$/.test(sent)) return sent;
    return this.#dependencies.newRequestId();
  }

  /** Sets the headers of every response. Returns whether the request comes from a listed origin. */
  #begin(request: FastifyRequest, reply: FastifyReply): boolean {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    reply.header('cache-control', 'no-store');
    if (this.#isClosing) reply.header('connection', 'close');
    const startMs = this.#dependencies.clock.nowMs();
    const { url: route = 'none' } = request.routeOptions;
    reply.raw.once('close', () => {
      const seconds = (this.#dependencies.clock.nowMs() - startMs) / 1000;
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

  #respondToFrameworkError(error: Error, request: FastifyRequest, reply: FastifyReply): void {
    this.#begin(request, reply);
    try {
      checkKey(request, this.#dependencies);
      throw new CodedError('request-malformed', {}, { cause: error });
    } catch (refusal) {
      this.#respondToError(refusal, request, reply);
    }
  }

  #respondToError(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const known = isCodedError(error) ? error : translate(error);
    const { status, headers, body } = buildErrorReply(known, request.id);
    if (status >= 500 && status !== 503) {
      const key = this.#checkedOf(request).key?.name;
      this.#dependencies.log.error({ err: error, requestId: request.id, key }, 'a request failed');
    }
    const send = () => reply.code(status).headers(headers).send(body);
    if (status === 413) void discardBody(request.raw, this.#dependencies.clock).then(send);
    else send();
  }
}

/** Returns the path of a request target. The target is a whole URL if the client treats this service as a proxy. */
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
  .concat('X-Sqd-Data-Source', 'Sluice-Sets', 'X-Request-Id', 'Retry-After')
  .join(', ');

/** Translates errors of the framework into errors of the catalogue. */
function translate(error: unknown): unknown {
  const status = memberOf(error, 'statusCode');
  if (status === 415) return new CodedError('content-type-wrong', {}, { cause: error });
  if (status === 413) return new CodedError('body-too-large', {}, { cause: error });
  if (status === 400) return new CodedError('request-malformed', {}, { cause: error });
  return error;
}

function isQueryRoute(route: AnyRoute): boolean {
  return route.kind === 'stream' || route.isLookup === true || route.takesQuery === true;
}
