import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import type { Clock } from '@sluice/base/clock';
import { numberOf } from '../faults/faults.ts';
import { type BodyFaults, sendAndDrop, sendSlowly, WireFaults } from '../faults/wire-faults.ts';
import { answerRequest, renderFailure } from './answer-request.ts';
import type { NodeLimits } from './limits.ts';
import { readBody } from './read-body.ts';
import { RpcFailure } from './rpc-failure.ts';
import type { RpcDependencies } from './rpc-methods.ts';
import { parseRpcRequest, type RpcRequest } from './rpc-request.ts';

const gzipAsync = promisify(gzip);
const gzipLevel = 1;

interface NodeServerDependencies extends RpcDependencies {
  readonly clock: Clock;
  readonly limits: NodeLimits;
}

/** Creates the server for a node's JSON-RPC over HTTP POST, at any path. */
export function createNodeServer(dependencies: NodeServerDependencies): Server {
  const server = createServer((request, response) => {
    new Exchange(request, response, dependencies)
      .run()
      .catch((error: unknown) => endBroken(response, error));
  });
  server.maxConnections = dependencies.limits.connectionCountMax;
  return server;
}

/** Ends a response after the client disconnected or our own code failed. A failure is reported if no response was started. */
function endBroken(response: ServerResponse, error: unknown): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const text = error instanceof Error ? error.message : String(error);
  response.writeHead(500, { 'Content-Type': 'application/json' });
  response.end(renderFailure(new RpcFailure(-32603, `Internal error: ${text}`), null));
}

class Exchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #dependencies: NodeServerDependencies;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    dependencies: NodeServerDependencies,
  ) {
    this.#request = request;
    this.#response = response;
    this.#dependencies = dependencies;
  }

  async run(): Promise<void> {
    const { method, headers } = this.#request;
    if (method !== 'POST') {
      return this.#sendText(405, 'Used HTTP Method is not allowed. POST is required');
    }
    if (!/^application\/json\s*(;|$)/i.test(headers['content-type'] ?? '')) {
      return this.#sendText(415, 'Content-Type: application/json is required');
    }
    const { bodyBytesMax, batchItemsMax } = this.#dependencies.limits;
    const body = await readBody(this.#request, bodyBytesMax);
    if (body === undefined) {
      // The rest of the body is not read, so the connection cannot be used again.
      this.#response.setHeader('Connection', 'close');
      return this.#sendText(413, `the body is larger than ${bodyBytesMax} bytes`);
    }
    await this.#answer(parseRpcRequest(body, batchItemsMax));
  }

  async #answer(request: RpcRequest): Promise<void> {
    const { faults, clock } = this.#dependencies;
    const wire = new WireFaults(faults, request);
    if (wire.take('stall')) return;
    const delay = wire.take('delay');
    if (delay) await clock.sleep(numberOf(delay, 'ms'));
    const limited = wire.take('rate-limit');
    if (limited) {
      const seconds = limited.parameters['retryAfterSeconds'];
      if (seconds !== undefined) this.#response.setHeader('Retry-After', seconds);
      return this.#sendText(429, 'Too Many Requests');
    }
    const broken = wire.take('http-status');
    if (broken) return this.#sendText(numberOf(broken, 'status'), 'out of order');
    this.#response.setHeader('Content-Type', 'application/json; charset=utf-8');
    const bodyFaults = wire.takeBodyFaults();
    const pieces = answerRequest(request, this.#dependencies);
    if (bodyFaults) return this.#sendFaulty(joinPieces(pieces), bodyFaults);
    if (request.kind === 'single') return this.#sendWhole([...pieces]);
    await this.#sendPieces(pieces);
  }

  get #wantsGzip(): boolean {
    const accepted = String(this.#request.headers['accept-encoding'] ?? '');
    return /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(accepted);
  }

  async #sendWhole(pieces: readonly (Uint8Array | string)[]): Promise<void> {
    if (this.#wantsGzip) {
      const body = joinPieces(pieces);
      const sent = await gzipAsync(body, { level: gzipLevel });
      this.#response.setHeader('Content-Encoding', 'gzip');
      this.#response.writeHead(200, { 'Content-Length': sent.length }).end(sent);
      return;
    }
    const buffers = [...toBuffers(pieces)];
    const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0);
    this.#response.cork();
    this.#response.writeHead(200, { 'Content-Length': length });
    for (const buffer of buffers) this.#response.write(buffer);
    this.#response.end();
  }

  async #sendPieces(pieces: Iterable<Uint8Array | string>): Promise<void> {
    const source = Readable.from(toBuffers(pieces), { objectMode: false });
    if (!this.#wantsGzip) return pipeline(source, this.#response);
    this.#response.setHeader('Content-Encoding', 'gzip');
    await pipeline(source, createGzip({ level: gzipLevel }), this.#response);
  }

  async #sendFaulty(clean: Buffer, faults: BodyFaults): Promise<void> {
    let body = clean;
    for (const edit of faults.edits) body = edit(body);
    if (faults.cutGzip || this.#wantsGzip) {
      this.#response.setHeader('Content-Encoding', 'gzip');
      body = await gzipAsync(body, { level: gzipLevel });
    }
    if (faults.cutGzip) body = body.subarray(0, Math.ceil(body.length / 2));
    const { dropAtByte, bytesPerSecond } = faults;
    if (dropAtByte !== undefined) return sendAndDrop(this.#response, body, dropAtByte);
    if (bytesPerSecond !== undefined) {
      return sendSlowly(this.#response, body, { bytesPerSecond, clock: this.#dependencies.clock });
    }
    this.#response.writeHead(200, { 'Content-Length': body.length }).end(body);
  }

  #sendText(status: number, text: string): void {
    this.#response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' });
    this.#response.end(`${text}\n`);
  }
}

/** The bytes of a block are several megabytes, so they are not copied. */
function* toBuffers(pieces: Iterable<Uint8Array | string>): Generator<Buffer> {
  for (const piece of pieces) {
    if (typeof piece === 'string') yield Buffer.from(piece);
    else yield Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
  }
}

function joinPieces(pieces: Iterable<Uint8Array | string>): Buffer {
  return Buffer.concat([...toBuffers(pieces)]);
}
