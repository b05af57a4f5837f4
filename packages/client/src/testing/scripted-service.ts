/** An HTTP server that responds from a model chain, with a scripted fault for each request. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { type ModelChain, type ModelQuery, type ModelResponse, modelLine } from './model-chain.ts';

export interface Behavior {
  /** The fault that replaces a response. */
  readonly instead?:
    | 'destroy'
    | 'unavailable'
    | 'failed'
    | 'over-limit'
    | 'above'
    | 'stall'
    | 'html';
  /** The maximum number of lines of a response. */
  readonly lineCountMax?: number;
  /** The maximum number of blocks in a conflict. */
  readonly pageLength?: number;
  readonly isGzip?: boolean;
  /** The share of the bytes that is sent. */
  readonly cutAt?: number;
  /** How a truncated response ends: with a broken connection, or like a complete one. */
  readonly cutHow?: 'destroy' | 'end';
  readonly headers?: 'true' | 'none' | 'half' | 'garbage' | 'older';
}

export interface SeenRequest {
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: ModelQuery & Readonly<Record<string, unknown>>;
}

export class ScriptedService {
  readonly chain: ModelChain;
  readonly requests: SeenRequest[] = [];
  /** Called before each response. It may change the chain. */
  next: (request: SeenRequest) => Behavior = () => ({});
  prefix = 'x-ledger-';
  readonly #server: Server;

  private constructor(chain: ModelChain) {
    this.chain = chain;
    this.#server = createServer((request, response) => {
      void this.#answer(request, response);
    });
  }

  static async start(chain: ModelChain): Promise<ScriptedService> {
    const service = new ScriptedService(chain);
    await new Promise<void>((resolve) => service.#server.listen(0, '127.0.0.1', resolve));
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/datasets/model`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += piece;
    const seen = {
      path: request.url ?? '',
      headers: request.headers,
      body: (text === '' ? {} : JSON.parse(text)) as SeenRequest['body'],
    };
    this.requests.push(seen);
    const behavior = this.next(seen);
    if (behavior.instead !== undefined) this.#misbehave(behavior.instead, response);
    else if (request.method === 'GET') sendJson(response, 200, this.chain.head ?? null);
    else {
      const accepted = String(request.headers['accept-encoding'] ?? '');
      const isGzip = behavior.isGzip === true && accepted.includes('gzip');
      const answer = this.chain.answer(seen.body, behavior.pageLength);
      this.#send(answer, { ...behavior, isGzip }, response);
    }
  }

  #misbehave(what: NonNullable<Behavior['instead']>, response: ServerResponse): void {
    switch (what) {
      case 'destroy':
        response.destroy();
        return;
      case 'stall':
        return;
      case 'above':
        response.writeHead(204).end();
        return;
      case 'html':
        response.writeHead(200).end('<html>a page of a proxy</html>\n');
        return;
      default: {
        const status = { unavailable: 503, failed: 500, 'over-limit': 429 }[what];
        response.setHeader('retry-after', '1');
        sendJson(response, status, {
          error: { code: what, message: 'as scripted', requestId: 'r' },
        });
      }
    }
  }

  #send(answer: ModelResponse, behavior: Behavior, response: ServerResponse): void {
    if (answer.kind === 'conflict') {
      const previousBlocks = answer.previousBlocks.map(({ number, hash }) => ({ number, hash }));
      sendJson(response, 409, { previousBlocks });
      return;
    }
    this.#setHeads(response, behavior.headers ?? 'true');
    if (answer.kind === 'above') {
      response.writeHead(204).end();
      return;
    }
    const lines = answer.blocks.slice(0, behavior.lineCountMax).map(modelLine).join('');
    const plain = Buffer.from(lines);
    const bytes = behavior.isGzip === true ? gzipSync(plain) : plain;
    response.writeHead(200, {
      'content-type': 'application/jsonl',
      ...(behavior.isGzip === true ? { 'content-encoding': 'gzip' } : {}),
    });
    if (behavior.cutAt === undefined) {
      response.end(bytes);
      return;
    }
    // An uncompressed empty response that ends normally means "all skipped", so at least one byte is sent.
    const least = behavior.cutHow === 'end' && behavior.isGzip !== true ? 1 : 0;
    const part = bytes.subarray(0, Math.max(least, Math.floor(bytes.length * behavior.cutAt)));
    if (behavior.cutHow === 'end') response.end(part);
    else response.write(part, () => response.destroy());
  }

  #setHeads(response: ServerResponse, how: NonNullable<Behavior['headers']>): void {
    const { finalized } = this.chain;
    const number = `${this.prefix}finalized-head-number`;
    const hash = `${this.prefix}finalized-head-hash`;
    const older = this.chain.blocks[0];
    if (how === 'garbage') response.setHeader(number, '-7e3').setHeader(hash, '');
    if (how === 'half' && finalized) response.setHeader(number, finalized.number);
    if (how === 'older' && finalized && older) {
      response.setHeader(number, older.number).setHeader(hash, older.hash);
    }
    if (how === 'true' && finalized) {
      response.setHeader(number, finalized.number).setHeader(hash, finalized.hash);
    }
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
