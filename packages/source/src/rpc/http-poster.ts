/** Sends POST requests to one server. Failures are returned as refusals, not thrown. */

import { gunzip } from 'node:zlib';
import { discard } from '@sluice/base/memory/discard';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { type Dispatcher, Pool } from 'undici';
import { refusal, refusalOfStatus, type SourceResult } from '../refusal.ts';
import { findResult, resultMarginBytes } from './find-result.ts';
import { scanResult } from './scan-result.ts';

export interface PosterOptions {
  readonly origin: string;
  readonly connectionCount: number;
}

export interface HttpPosterDependencies {
  /** Allocates memory for results. The memory is not necessarily zeroed. */
  readonly allocate?: (length: number) => Uint8Array;
}

export interface PostRequest {
  readonly path: string;
  /** May contain a key. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly replyBytesMax: number;
  /** The id of the call, if only the bytes of its result are needed and not the whole reply. */
  readonly resultOf?: number;
}

export interface PostReply {
  /** If a result was requested, the buffer contains nothing else. */
  readonly bytes: Uint8Array;
  /** Whether the bytes are the result alone. Otherwise they are the whole reply. */
  readonly isResult: boolean;
}

/** Sends requests from this thread or from another one. */
export interface Poster {
  post(request: PostRequest, signal: AbortSignal): Promise<SourceResult<PostReply>>;
  /** Returns the memory of a reply that is no longer used. */
  giveBack(bytes: Uint8Array): void;
}

const keepAliveMs = 30_000;

export class HttpPoster implements Poster {
  readonly #pool: Pool;
  readonly #allocate: (length: number) => Uint8Array;

  constructor(
    { origin, connectionCount }: PosterOptions,
    dependencies: HttpPosterDependencies = {},
  ) {
    this.#allocate = dependencies.allocate ?? Buffer.allocUnsafeSlow;
    this.#pool = new Pool(origin, { connections: connectionCount, keepAliveTimeout: keepAliveMs });
  }

  async post(request: PostRequest, signal: AbortSignal): Promise<SourceResult<PostReply>> {
    const { path, headers, body } = request;
    try {
      const response = await this.#pool.request({ method: 'POST', path, headers, body, signal });
      return await read(response, request, this.#allocate);
    } catch (error) {
      return refusal('outage', signal.aborted ? 'no response in time' : causeOf(error));
    }
  }

  giveBack(): void {
    // The memory is garbage-collected.
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

async function read(
  { statusCode, headers, body }: Dispatcher.ResponseData,
  { replyBytesMax, resultOf }: PostRequest,
  allocate: (length: number) => Uint8Array,
): Promise<SourceResult<PostReply>> {
  if (statusCode !== 200) {
    // The body is not read, so that a hostile server cannot keep us busy.
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
    ? refusal('malformed', 'the compressed reply is incomplete, damaged, or larger than the limit')
    : { kind: 'ok', value: cutLast([inflated], resultOf, allocate) };
}

/**
 * Cuts out the result and frees the pieces at once. The pieces of a block are about a hundred buffers, which would burden the
 * garbage collector. Short pieces can share a buffer, which is freed once.
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
    // Returning from the loop destroys the body.
    if (length > bytesMax) return undefined;
    pieces.push(piece);
  }
  return pieces;
}

/** Copies the result out of the pieces. A reply in a common layout is copied only once, because blocks have megabytes. */
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
  // The memory is not zeroed, because all of it is written.
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
  return systemErrorCode(error) ?? 'the connection failed';
}

/** Decompresses a gzip member. Returns `undefined` if it is incomplete, damaged or larger than `bytesMax`. */
function gunzipBounded(bytes: Uint8Array, bytesMax: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve) => {
    gunzip(bytes, { maxOutputLength: bytesMax }, (error, inflated) => {
      resolve(error === null ? inflated : undefined);
    });
  });
}
