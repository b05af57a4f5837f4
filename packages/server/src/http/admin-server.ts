/** The operator's listener: on loopback unless told otherwise, and never on the public one. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CodedError } from '../base/errors.ts';
import { buildErrorReply } from './error-reply.ts';
import { describeListenFailure } from './listen-failure.ts';
import type { Metrics } from './metrics.ts';

export interface AdminServerModules {
  readonly metrics: Metrics;
  /** Why the service should get no traffic now; `null` if it should. */
  readonly notReadyReason: () => string | null;
  /** Datasets that cannot be served while the others are. */
  readonly unavailable: () => readonly string[];
  readonly newRequestId: () => string;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

const headersMsMax = 5_000;
const connectionCountMax = 64;

export class AdminServer {
  readonly #server: Server;
  readonly #modules: AdminServerModules;

  constructor(modules: AdminServerModules) {
    this.#modules = modules;
    this.#server = createServer(
      {
        headersTimeout: headersMsMax,
        requestTimeout: headersMsMax,
        connectionsCheckingInterval: 1_000,
      },
      (request, response) => {
        const requestId = this.#modules.newRequestId();
        const { status, type, body } = this.#answer(
          request.method ?? '',
          request.url ?? '',
          requestId,
        );
        response.writeHead(status, {
          'content-type': type,
          'x-request-id': requestId,
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
        });
        response.end(request.method === 'HEAD' ? undefined : body);
      },
    );
    this.#server.maxConnections = connectionCountMax;
  }

  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (cause) => reject(describeListenFailure(cause, { host, port })));
      this.#server.listen(port, host, resolve);
    });
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  /** A dataset that cannot be opened takes no traffic from the others, and is named. */
  #answerReady(reason: string | null): Answer {
    const unavailable = this.#modules.unavailable();
    const body = {
      ...(reason === null ? { status: 'ready' } : { status: 'not-ready', reason }),
      ...(unavailable.length === 0 ? {} : { unavailable }),
    };
    const status = reason === null ? 200 : 503;
    return { status, type: 'application/json', body: JSON.stringify(body) };
  }

  #answer(method: string, url: string, requestId: string): Answer {
    const path = url.split('?', 1)[0];
    const reason = this.#modules.notReadyReason();
    if (method !== 'GET' && method !== 'HEAD') return refuse('method-wrong', requestId);
    switch (path) {
      case '/health':
        return { status: 200, type: 'application/json', body: '{"status":"alive"}' };
      case '/ready':
        return this.#answerReady(reason);
      case '/metrics':
        return {
          status: 200,
          type: 'text/plain; version=0.0.4; charset=utf-8',
          body: this.#modules.metrics.text(),
        };
      default:
        return refuse('operator-path-unknown', requestId);
    }
  }
}

function refuse(code: 'method-wrong' | 'operator-path-unknown', requestId: string): Answer {
  const { status, body } = buildErrorReply(new CodedError(code), requestId);
  return { status, type: 'application/json', body };
}
