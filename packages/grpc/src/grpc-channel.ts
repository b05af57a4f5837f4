/** A connection to a gRPC server over HTTP/2. */
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { encodeFrame, FrameReader } from './frame-reader.ts';
import { GRPC_CODES, type GrpcStatus, readStatus, statusOfHttp } from './grpc-status.ts';

/**
 * How many bytes the server may send before we have read them. With the default of 64 KB a connection waits for a round trip after every
 * 64 KB, which limits it to about 0.5 MB/s over long distances. This is more than the largest block.
 */
const windowBytes = 32 * 1024 * 1024;
/** Fewer and larger frames cost less processor time than the default of 16 KB. */
const frameBytes = 1024 * 1024;

export interface GrpcCallOptions {
  /** Such as `/geyser.Geyser/Subscribe`. */
  readonly path: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** A call with a larger message ends. */
  readonly messageBytesMax: number;
  readonly onMessage: (message: Uint8Array) => void;
}

export interface GrpcCall {
  /** Resolves with the status of the call when it has ended, for whatever reason. */
  readonly ended: Promise<GrpcStatus>;
  send(message: Uint8Array): void;
  /** States that no message follows. */
  endSending(): void;
  /** Ends the call with this status. */
  cancel(status?: GrpcStatus): void;
}

const cancelled: GrpcStatus = { code: GRPC_CODES.cancelled, message: 'cancelled' };

export class GrpcChannel {
  readonly #session: ClientHttp2Session;

  /** Connects to an address that starts with `http://` (HTTP/2 without TLS) or `https://`. */
  constructor(url: string) {
    const settings = { initialWindowSize: windowBytes, maxFrameSize: frameBytes };
    const session = connect(new URL(url).origin, { settings: { ...settings, enablePush: false } });
    session.once('connect', () => session.setLocalWindowSize(windowBytes));
    // Every call ends with the error of its connection.
    session.on('error', () => undefined);
    this.#session = session;
  }

  open(options: GrpcCallOptions): GrpcCall {
    const headers: OutgoingHttpHeaders = {
      ...options.metadata,
      ':method': 'POST',
      ':path': options.path,
      'content-type': 'application/grpc+proto',
      te: 'trailers',
      'user-agent': 'sluice',
    };
    return new ClientCall(this.#session.request(headers), options);
  }

  close(): void {
    this.#session.destroy();
  }
}

class ClientCall implements GrpcCall {
  readonly ended: Promise<GrpcStatus>;
  readonly #stream: ClientHttp2Stream;
  readonly #frames: FrameReader;
  /** The first reason for which the call ends. */
  #status: GrpcStatus | undefined;

  constructor(stream: ClientHttp2Stream, { messageBytesMax, onMessage }: GrpcCallOptions) {
    this.#stream = stream;
    this.#frames = new FrameReader(messageBytesMax, (message) => {
      if (this.#status === undefined) onMessage(message);
    });
    stream.on('response', (headers) => this.#readHeaders(headers));
    stream.on('trailers', (headers) => {
      this.#status ??= readStatus(headers);
    });
    stream.on('data', (chunk: Buffer) => {
      const fault = this.#frames.push(chunk);
      if (fault !== undefined) this.cancel(fault);
    });
    stream.on('error', (error) => {
      this.#status ??= { code: GRPC_CODES.unavailable, message: codeOf(error) };
    });
    // The server has sent everything, so our side of the stream need not stay open.
    stream.on('end', () => stream.close());
    this.ended = new Promise((resolve) => {
      stream.once('close', () => resolve(this.#status ?? this.#brokenOff()));
    });
  }

  send(message: Uint8Array): void {
    if (!this.#stream.destroyed && !this.#stream.writableEnded) {
      this.#stream.write(encodeFrame(message));
    }
  }

  endSending(): void {
    this.#stream.end();
  }

  cancel(status = cancelled): void {
    this.#status ??= status;
    this.#stream.destroy();
  }

  #readHeaders(headers: IncomingHttpHeaders): void {
    const status = readStatus(headers);
    if (status !== undefined) this.#status ??= status;
    else if (headers[':status'] !== undefined && Number(headers[':status']) !== 200) {
      this.cancel(statusOfHttp(Number(headers[':status'])));
    }
  }

  #brokenOff(): GrpcStatus {
    const where = this.#frames.isAtEnd ? 'without a status' : 'inside a message';
    return { code: GRPC_CODES.unavailable, message: `the stream ended ${where}` };
  }
}

/** Returns the code of an error, or that of the connection's error which has caused it. Texts of errors contain addresses. */
function codeOf(error: NodeJS.ErrnoException): string {
  const { cause } = error;
  const isOfConnection = cause instanceof Error && 'code' in cause;
  return String(isOfConnection ? cause.code : (error.code ?? 'the call failed'));
}
