/** The listener for operators: readiness, health, metrics, IDLs and sets of addresses. It listens on loopback by default. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { listeningPort } from '@sluice/base/listening-port';
import { type AdminIdls, type AdminReply, idlsPath, respondToIdlRequest } from './admin-idls.ts';
import { type AdminSets, respondToSetRequest, setsPath } from './admin-sets.ts';
import { buildErrorReply } from './error-reply.ts';
import { describeListenFailure } from './listen-failure.ts';
import type { Metrics } from './metrics/metrics.ts';

export interface AdminServerDependencies {
  readonly metrics: Metrics;
  /** Returns why the service should get no traffic; `null` if it is ready. */
  readonly notReadyReason: () => string | null;
  /** Returns the names of the datasets that cannot be served. */
  readonly unavailable: () => readonly string[];
  readonly newRequestId: () => string;
  readonly idls: AdminIdls;
  readonly sets: AdminSets;
  /** Receives the error of a request that failed, for example because a metric could not be computed. */
  readonly reportFault: (error: unknown) => void;
}

const headersMsMax = 5_000;
/** The largest set of addresses has 64 MB. */
const requestMsMax = 30_000;
const connectionCountMax = 64;

export class AdminServer {
  readonly #server: Server;
  readonly #dependencies: AdminServerDependencies;

  constructor(dependencies: AdminServerDependencies) {
    this.#dependencies = dependencies;
    this.#server = createServer(
      {
        headersTimeout: headersMsMax,
        requestTimeout: requestMsMax,
        connectionsCheckingInterval: 1_000,
      },
      (request, response) => void this.#respond(request, response),
    );
    this.#server.maxConnections = connectionCountMax;
  }

  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (cause) => reject(describeListenFailure(cause, { host, port })));
      this.#server.listen(port, host, resolve);
    });
    return listeningPort(this.#server);
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const requestId = this.#dependencies.newRequestId();
    const { method = '', url = '' } = request;
    const { idls, sets } = this.#dependencies;
    const reply = url.startsWith(idlsPath)
      ? respondToIdlRequest(request, idls)
      : url.startsWith(setsPath)
        ? respondToSetRequest(request, sets)
        : this.#replyTo(method, url, requestId);
    const { status, type, body } = await reply.catch((error: unknown) => {
      if (isCodedError(error)) return refuse(error, requestId);
      this.#dependencies.reportFault(error);
      return refuse(new CodedError('internal-error'), requestId);
    });
    response.writeHead(status, {
      'content-type': type,
      'x-request-id': requestId,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
    response.end(method === 'HEAD' ? undefined : body);
  }

  /** A dataset that cannot be opened is named, and does not keep traffic from the others. */
  #replyReadiness(reason: string | null): AdminReply {
    const unavailable = this.#dependencies.unavailable();
    const body = {
      ...(reason === null ? { status: 'ready' } : { status: 'not-ready', reason }),
      ...(unavailable.length === 0 ? {} : { unavailable }),
    };
    const status = reason === null ? 200 : 503;
    return { status, type: 'application/json', body: JSON.stringify(body) };
  }

  async #replyTo(method: string, url: string, requestId: string): Promise<AdminReply> {
    const path = url.split('?', 1)[0];
    const reason = this.#dependencies.notReadyReason();
    if (method !== 'GET' && method !== 'HEAD')
      return refuse(new CodedError('method-wrong'), requestId);
    switch (path) {
      case '/health':
        return { status: 200, type: 'application/json', body: '{"status":"alive"}' };
      case '/ready':
        return this.#replyReadiness(reason);
      case '/metrics':
        return {
          status: 200,
          type: this.#dependencies.metrics.contentType,
          body: await this.#dependencies.metrics.text(),
        };
      default:
        return refuse(new CodedError('operator-path-unknown'), requestId);
    }
  }
}

function refuse(error: CodedError, requestId: string): AdminReply {
  const { status, body } = buildErrorReply(error, requestId);
  return { status, type: 'application/json', body };
}
