/** POSTs to one server. What it says or fails to say is an answer, never an exception. */
import { type Dispatcher, Pool } from 'undici';
import { discard } from '../../base/discard.ts';
import { type Answer, refusal, refusalOfStatus } from '../refusal.ts';
import { findResult, resultMarginBytes } from './find-result.ts';
import { gunzipBounded } from './gunzip-bounded.ts';
import { scanResult } from './scan-result.ts';

export interface PosterOptions {
  readonly origin: string;
  readonly connectionCount: number;
}

export interface HttpPosterModules {
  /** Memory for results; it need not be zeroed. */
  readonly allocate?: (length: number) => Uint8Array;
}

export interface PostRequest {
  readonly path: string;
  /** They may hold a key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly replyBytesMax: number;
  /** The call whose result is wanted without what stands around it. */
  readonly resultOf?: number;
}

export interface PostReply {
  /** A buffer of their own where a result was wanted. */
  readonly bytes: Uint8Array;
  /** Whether that is the result alone; where there is none the reply is left as it is. */
  readonly isResult: boolean;
}

/** Who posts: this thread, or another one for it. */
export interface Poster {
  post(request: PostRequest, signal: AbortSignal): Promise<Answer<PostReply>>;
  /** Nobody reads the bytes of a reply any more. */
  giveBack(bytes: Uint8Array): void;
}

const keepAliveMs = 30_000;

export class HttpPoster implements Poster {
  readonly #pool: Pool;
  readonly #allocate: (length: number) => Uint8Array;

  constructor({ origin, connectionCount }: PosterOptions, modules: HttpPosterModules = {}) {
    this.#allocate = modules.allocate ?? Buffer.allocUnsafeSlow;
    this.#pool = new Pool(origin, { connections: connectionCount, keepAliveTimeout: keepAliveMs });
  }

  async post(request: PostRequest, signal: AbortSignal): Promise<Answer<PostReply>> {
    const { path, headers, body } = request;
    try {
      const response = await this.#pool.request({ method: 'POST', path, headers, body, signal });
      return await read(response, request, this.#allocate);
    } catch (error) {
      return refusal('outage', signal.aborted ? 'no answer in time' : causeOf(error));
    }
  }

  giveBack(): void {
    // It is collected.
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

async function read(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  { replyBytesMax, resultOf }: PostRequest,
  allocate: (length: number) => Uint8Array,
): Promise<Answer<PostReply>> {
  if (statusCode !== 200) {
    // The rest of it is of no interest, and reading on would let a hostile server keep us busy.
    body.on('error', () => undefined).destroy();
    const retryAfter = headers['retry-after'];
    return refusalOfStatus(statusCode, Array.isArray(retryAfter) ? retryAfter[0] : retryAfter);
  }
  const pieces = await collect(body, replyBytesMax);
  if (pieces === undefined) return refusal('malformed', 'the reply is larger than the limit');
  if (headers['content-encoding'] !== 'gzip') {
    return { kind: 'ok', value: cutLast(pieces, resultOf, allocate) };
  }
  const inflated = await gunzipBounded(join(pieces, 0, lengthOf(pieces)), replyBytesMax);
  return inflated === undefined
    ? refusal('malformed', 'the compressed reply is cut, damaged, or larger than the limit')
    : { kind: 'ok', value: cutLast([inflated], resultOf, allocate) };
}

/**
 * As `cut`, after which nobody reads the pieces: what a socket reads comes in a buffer each, and a block is a hundred. Short chunks of
 * a reply that came together are pieces of one buffer, which is gone once.
 */
function cutLast(...args: Parameters<typeof cut>): PostReply {
  const reply = cut(...args);
  const buffers = new Set(args[0].map(({ buffer }) => buffer));
  for (const buffer of buffers) discard(new Uint8Array(buffer));
  return reply;
}

async function collect(
  body: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<Uint8Array[] | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    length += piece.byteLength;
    if (length > bytesMax) return undefined; // Leaving the loop destroys the body.
    pieces.push(piece);
  }
  return pieces;
}

/** A block is megabytes: what is wanted of it is copied together once, where the reply is laid out as most are. */
function cut(
  pieces: readonly Uint8Array[],
  resultOf: number | undefined,
  allocate: (length: number) => Uint8Array,
): PostReply {
  const length = lengthOf(pieces);
  if (resultOf === undefined) return { bytes: Buffer.concat(pieces), isResult: false };
  const head = join(pieces, 0, Math.min(length, resultMarginBytes));
  const tail = join(pieces, Math.max(0, length - resultMarginBytes), length);
  const range = findResult({ head, tail, length }, resultOf);
  if (range !== undefined) {
    return { bytes: join(pieces, range.start, range.end, allocate), isResult: true };
  }
  const whole = join(pieces, 0, length);
  const found = scanResult(whole, resultOf);
  return found === undefined
    ? { bytes: whole, isResult: false }
    : { bytes: join([whole], found.start, found.end, allocate), isResult: true };
}

function lengthOf(pieces: readonly Uint8Array[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

function join(
  pieces: readonly Uint8Array[],
  start: number,
  end: number,
  allocate: (length: number) => Uint8Array = Buffer.allocUnsafeSlow,
): Uint8Array {
  // Memory that is not zeroed first: all of it is written.
  const joined = allocate(end - start);
  let at = 0;
  for (const piece of pieces) {
    const from = Math.max(start - at, 0);
    const to = Math.min(end - at, piece.length);
    if (from < to) joined.set(piece.subarray(from, to), at + from - start);
    at += piece.length;
  }
  return joined;
}

function causeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? 'the connection failed';
}
