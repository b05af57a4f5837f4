/** Connections in memory: bytes take time, a reader may be slow, and either side may break the connection. */
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import type { Random } from '@sluice/base/random';
import type { Life, Scheduler } from './scheduler.ts';

export interface NetworkDependencies {
  readonly scheduler: Scheduler;
  readonly random: Random;
}

/** One end of a connection. */
class SimulatedSocket extends Duplex {
  peer: SimulatedSocket | undefined;
  readonly #network: NetworkDependencies;
  readonly #life: Life;
  #lastMs = 0;
  #whenRead: (() => void) | undefined;

  constructor(network: NetworkDependencies, life: Life) {
    super({ allowHalfOpen: true });
    this.#network = network;
    this.#life = life;
    // A broken connection is reported by `close`.
    this.on('error', () => undefined);
  }

  override _write(chunk: Uint8Array, _encoding: string, done: () => void): void {
    this.#deliver((peer) => peer.#take(chunk, done));
  }

  override _writev(chunks: { chunk: Uint8Array }[], done: () => void): void {
    const bytes = Buffer.concat(chunks.map(({ chunk }) => chunk));
    this.#deliver((peer) => peer.#take(bytes, done));
  }

  override _final(done: () => void): void {
    this.#deliver((peer) => peer.push(null));
    done();
  }

  override _read(): void {
    const whenRead = this.#whenRead;
    this.#whenRead = undefined;
    whenRead?.();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#deliver((peer) => peer.destroy());
    done(error);
  }

  /** Called by the service for a client that does not read. */
  resetAndDestroy(): void {
    this.destroy();
  }

  /** The writer learns that its bytes were accepted when the reader wants more. */
  #take(bytes: Uint8Array, done: () => void): void {
    if (this.push(bytes)) done();
    else this.#whenRead = done;
  }

  #deliver(act: (peer: SimulatedSocket) => void): void {
    const { scheduler, random } = this.#network;
    this.#lastMs = Math.max(this.#lastMs, scheduler.nowMs + random.unit() * 2);
    const life = this.peer?.life;
    if (life === undefined) return;
    scheduler.schedule(this.#lastMs - scheduler.nowMs, life, () => {
      if (this.peer !== undefined && !this.peer.destroyed) act(this.peer);
    });
  }

  get life(): Life {
    return this.#life;
  }
}

export interface Connection {
  readonly client: Duplex;
  readonly server: Duplex;
}

export function connect(network: NetworkDependencies, client: Life, server: Life): Connection {
  const [near, far] = [new SimulatedSocket(network, client), new SimulatedSocket(network, server)];
  near.peer = far;
  far.peer = near;
  return { client: near, server: far };
}

export interface SendOptions {
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** Sends a request over a connection. Resolves with the response when its head has arrived. */
export function send(
  socket: Duplex,
  { method, path, headers = {}, body }: SendOptions,
): { readonly request: ClientRequest; readonly response: Promise<IncomingMessage> } {
  const request = httpRequest({
    method,
    path,
    headers: { host: 'sluice', connection: 'close', ...headers },
    createConnection: () => socket,
  });
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve);
    request.on('error', reject);
    request.on('close', () => reject(new Error('the connection was closed')));
  });
  response.catch(() => undefined);
  request.end(body);
  return { request, response };
}
