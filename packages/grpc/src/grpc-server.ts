/** A gRPC server over HTTP/2 without TLS, for simulated nodes and for tests. */
import {
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { encodeFrame, FrameReader } from './frame-reader.ts';
import { GRPC_CODES, type GrpcStatus, writeStatus } from './grpc-status.ts';

/** Requests are small. */
const requestBytesMax = 1024 * 1024;

/** A call that a client has opened. */
export interface ServedCall {
  readonly path: string;
  readonly metadata: IncomingHttpHeaders;
  /** Aborts when the call has ended. */
  readonly signal: AbortSignal;
  /** The bytes that wait for the client to read. */
  readonly waitingBytes: number;
  /** Called for each message of the client. */
  onMessage: (message: Uint8Array) => void;
  send(message: Uint8Array): void;
  end(status: GrpcStatus): void;
  /** Breaks the connection off without a status. */
  destroy(): void;
}

export interface GrpcServer {
  readonly server: Http2Server;
  /** Ends all connections. */
  stop(): Promise<void>;
}

/** Creates a server that is not listening yet. `serve` is called for each new call, and sets `onMessage`. */
export function createGrpcServer(serve: (call: ServedCall) => void): GrpcServer {
  const server = createServer();
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    session.on('error', () => undefined);
  });
  server.on('stream', (stream, headers) => serve(new HttpCall(stream, headers)));
  const stop = () =>
    new Promise<void>((resolve) => {
      for (const session of sessions) session.destroy();
      if (server.listening) server.close(() => resolve());
      else resolve();
    });
  return { server, stop };
}

class HttpCall implements ServedCall {
  readonly path: string;
  readonly metadata: IncomingHttpHeaders;
  readonly signal: AbortSignal;
  onMessage: (message: Uint8Array) => void = () => undefined;
  readonly #stream: ServerHttp2Stream;
  #status: GrpcStatus = { code: GRPC_CODES.ok, message: '' };

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders) {
    this.#stream = stream;
    this.path = headers[':path'] ?? '';
    this.metadata = headers;
    const ended = new AbortController();
    this.signal = ended.signal;
    const frames = new FrameReader(requestBytesMax, (message) => this.onMessage(message));
    stream.on('data', (chunk: Buffer) => {
      const fault = frames.push(chunk);
      if (fault !== undefined) this.end(fault);
    });
    stream.on('error', () => undefined);
    stream.on('close', () => ended.abort());
    stream.on('wantTrailers', () => stream.sendTrailers(writeStatus(this.#status)));
  }

  get waitingBytes(): number {
    return this.#stream.writableLength;
  }

  send(message: Uint8Array): void {
    if (this.#stream.destroyed || this.#stream.writableEnded) return;
    this.#respond();
    this.#stream.write(encodeFrame(message));
  }

  end(status: GrpcStatus): void {
    if (this.#stream.destroyed || this.#stream.writableEnded) return;
    this.#status = status;
    this.#respond();
    this.#stream.end();
  }

  destroy(): void {
    this.#stream.session?.destroy();
  }

  #respond(): void {
    if (this.#stream.headersSent) return;
    const headers = { ':status': 200, 'content-type': 'application/grpc+proto' };
    this.#stream.respond(headers, { waitForTrailers: true });
  }
}
