/**
 * An HTTP client for one dataset of another Sluice. Failures are returned as refusals, not thrown. Streams are read line by
 * line; a line that is too long and a stream that stays silent end the stream.
 */

import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import type { BlockRef } from '@sluice/ledger/block';
import { parseBlockHash, parseSlot } from '@sluice/ledger/primitives';
import { DATASET_NAME } from '@sluice/protocol/dataset-name';
import { memberOf } from '@sluice/protocol/unknown-value';
import { type Dispatcher, Pool } from 'undici';
import { joinParts, LineTooLong, splitLines } from '../files/split-lines.ts';
import { type Refusal, refusal, refusalOfStatus, type SourceResult } from '../refusal.ts';
import { headersOf, type ObserveCall, parseSourceUrl } from '../rpc/rpc-client.ts';

export interface PortalClientOptions {
  /** The address of a dataset: `http://HOST/datasets/NAME`. */
  readonly url: string;
  /** Sent as `Authorization: Bearer`. */
  readonly key?: string | undefined;
  readonly lineBytesMax: number;
}

export interface PortalClientDependencies {
  readonly clock: Clock;
  /** Receives the time from each request to the headers of its response, also of requests that failed. */
  readonly observeCall?: ObserveCall;
}

export type PortalResponse =
  | { readonly kind: 'lines'; readonly lines: PortalLines }
  /** The whole range is above the head of the portal. */
  | { readonly kind: 'above' }
  /** The parent of the request is not on the chain of the portal. These are its own blocks below the range, ascending. */
  | { readonly kind: 'conflict'; readonly previousBlocks: readonly BlockRef[] }
  | Refusal;

/** A portal waits up to 5 s for a block before it responds. */
const headersMsMax = 12_000;
/** A portal sends a line at least every 5 s while its ledger grows. After this time the stream is opened again. */
const silenceMsMax = 10_000;
const replyBytesMax = 1024 * 1024;
const connectionCount = 16;
/** The pause after a refusal because of too many requests that does not say how long to wait. */
const limitPauseMs = 1_000;

export class PortalClient {
  readonly #pool: Pool;
  readonly #path: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #lineBytesMax: number;
  readonly #clock: Clock;
  readonly #observeCall: ObserveCall | undefined;
  /** The last refusal with a pause, and when the pause ends. No request is sent before. */
  #pause: { readonly refusal: Refusal; readonly endMs: number } | undefined;

  constructor(options: PortalClientOptions, dependencies: PortalClientDependencies) {
    const url = parsePortalUrl(options.url);
    this.#pool = new Pool(url.origin, { connections: connectionCount, keepAliveTimeout: 10_000 });
    this.#path = url.pathname.replace(/\/$/, '');
    const key = options.key === undefined ? {} : { authorization: `Bearer ${options.key}` };
    this.#headers = { ...headersOf(url), ...key };
    this.#lineBytesMax = options.lineBytesMax;
    this.#clock = dependencies.clock;
    this.#observeCall = dependencies.observeCall;
  }

  /** Returns a small JSON response. */
  async read(path: string, signal: AbortSignal): Promise<SourceResult<unknown>> {
    const response = await this.#request('GET', path, undefined, signal);
    if (response.kind === 'refused') return response;
    if (response.statusCode !== 200) return this.#refuse(response);
    const text = await collectText(response.body);
    if (text === undefined) return refusal('malformed', 'the response is incomplete or too large');
    const value = parseJson(text);
    return value === undefined
      ? refusal('malformed', 'the response is not JSON')
      : { kind: 'ok', value };
  }

  /** Returns a response of bytes, up to a length. */
  async readBytes(
    path: string,
    bytesMax: number,
    signal: AbortSignal,
  ): Promise<SourceResult<Uint8Array>> {
    const response = await this.#request('GET', path, undefined, signal);
    if (response.kind === 'refused') return response;
    if (response.statusCode !== 200) return this.#refuse(response);
    const value = await collectBytes(response.body, bytesMax);
    return value === undefined
      ? refusal('outage', 'the response is incomplete or too large')
      : { kind: 'ok', value };
  }

  /** Opens a stream of lines. The caller reads it to its end or calls `return`. */
  async open(path: string, query: string, signal: AbortSignal): Promise<PortalResponse> {
    const response = await this.#request('POST', path, query, signal);
    if (response.kind === 'refused') return response;
    if (response.statusCode === 200) return { kind: 'lines', lines: this.#linesOf(response) };
    if (response.statusCode === 204) {
      response.body.destroy();
      return { kind: 'above' };
    }
    if (response.statusCode !== 409) return this.#refuse(response);
    const body = parseJson((await collectText(response.body)) ?? '');
    const previousBlocks = parseBlocks(memberOf(body, 'previousBlocks'));
    if (previousBlocks === undefined)
      return refusal('malformed', 'the conflict response contains no blocks');
    return { kind: 'conflict', previousBlocks };
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #request(
    method: 'GET' | 'POST',
    path: string,
    query: string | undefined,
    signal: AbortSignal,
  ): Promise<OpenResponse | Refusal> {
    const pausedMs = (this.#pause?.endMs ?? 0) - this.#clock.nowMs();
    if (this.#pause !== undefined && pausedMs > 0)
      return { ...this.#pause.refusal, retryAfterMs: pausedMs };
    const stop = new AbortController();
    const onAbort = () => stop.abort();
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    const startMs = this.#clock.nowMs();
    const answered = new AbortController();
    const late = this.#clock.sleep(headersMsMax, answered.signal).then(() => {
      if (!answered.signal.aborted) stop.abort();
    });
    try {
      const { statusCode, headers, body } = await this.#pool.request({
        method,
        path: `${this.#path}${path}`,
        headers: this.#headers,
        body: query ?? null,
        signal: stop.signal,
      });
      // The listener is needed until the body is read.
      body.once('close', () => signal.removeEventListener('abort', onAbort));
      body.on('error', () => undefined);
      return { kind: 'open', statusCode, headers, body };
    } catch (error) {
      signal.removeEventListener('abort', onAbort);
      return stop.signal.aborted ? refusal('outage', 'no response in time') : faultOf(error);
    } finally {
      // The first part of the path is the name of the call. Later parts may be numbers.
      this.#observeCall?.(path.split('/')[1] ?? path, (this.#clock.nowMs() - startMs) / 1000);
      answered.abort();
      await late;
    }
  }

  async #refuse({ statusCode, headers, body }: OpenResponse): Promise<Refusal> {
    const reply = parseJson((await collectText(body)) ?? '');
    const code = String(memberOf(memberOf(reply, 'error'), 'code') ?? '').slice(0, 64);
    if (statusCode === 400) {
      const reason = code === 'range-unavailable' ? 'pruned' : 'request-wrong';
      return refusal(reason, `HTTP 400 ${/^[a-z-]*$/.test(code) ? code : ''}`.trim());
    }
    if (statusCode === 404) return refusal('incapable', 'the portal has no such dataset');
    const retryAfter = headers['retry-after'];
    const refused = refusalOfStatus(
      statusCode,
      Array.isArray(retryAfter) ? retryAfter[0] : retryAfter,
    );
    const pauseMs = refused.retryAfterMs ?? (statusCode === 429 ? limitPauseMs : 0);
    // Requests that were sent before the refusal must not shorten its pause.
    const endMs = Math.max(this.#clock.nowMs() + pauseMs, this.#pause?.endMs ?? 0);
    this.#pause = { refusal: refused, endMs };
    return refused;
  }

  #linesOf({ headers, body }: OpenResponse): PortalLines {
    const chunks =
      headers['content-encoding'] === 'gzip'
        ? pipeline(body, createGunzip(), () => undefined)
        : body;
    const slot = (name: string) => parseSlot(Number(headers[name] ?? Number.NaN));
    const hash = parseBlockHash(headers['x-ledger-finalized-head-hash']);
    const number = slot('x-ledger-finalized-head-number');
    return new PortalLines(chunks, {
      clock: this.#clock,
      lineBytesMax: this.#lineBytesMax,
      head: slot('x-ledger-head-number') ?? null,
      finalized: number === undefined || hash === undefined ? null : { number, hash },
    });
  }
}

const datasetPath = new RegExp(`/datasets/${DATASET_NAME}/?$`);

/** Rejects anything but the address of a dataset. The error does not repeat the address, because it may contain a key. */
export function parsePortalUrl(text: string): URL {
  const url = parseSourceUrl(text);
  if (datasetPath.test(url.pathname)) return url;
  throw new CodedError('portal-address-invalid');
}

interface OpenResponse {
  readonly kind: 'open';
  readonly statusCode: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly body: Readable;
}

interface PortalLinesOptions {
  readonly clock: Clock;
  readonly lineBytesMax: number;
  readonly head: number | null;
  readonly finalized: BlockRef | null;
}

/** The lines of one response. */
export class PortalLines implements AsyncIterableIterator<Uint8Array> {
  /** The heads of the portal when the response began. */
  readonly head: number | null;
  readonly finalized: BlockRef | null;
  /** The reason why the response broke off; undefined while it has not. */
  fault: Refusal | undefined;
  readonly #chunks: Readable;
  readonly #lines: AsyncGenerator<readonly Uint8Array[]>;
  readonly #clock: Clock;
  #isCut = false;

  constructor(chunks: Readable, options: PortalLinesOptions) {
    this.head = options.head;
    this.finalized = options.finalized;
    this.#chunks = chunks.on('error', () => undefined);
    this.#lines = splitLines(chunks, options.lineBytesMax);
    this.#clock = options.clock;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const came = new AbortController();
    const silence = this.#clock.sleep(silenceMsMax, came.signal).then(() => {
      if (!came.signal.aborted) this.#cut();
    });
    try {
      const next = await this.#lines.next();
      return next.done === true ? next : { value: joinParts(next.value) };
    } catch (error) {
      if (!this.#isCut) this.fault = faultOf(error);
      this.#cut();
      return { done: true, value: undefined };
    } finally {
      came.abort();
      await silence;
    }
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#cut();
    return { done: true, value: undefined };
  }

  /** Ends the response, also for a pending `next`. */
  #cut(): void {
    this.#isCut = true;
    this.#chunks.destroy();
  }
}

function faultOf(error: unknown): Refusal {
  if (error instanceof LineTooLong) return refusal('malformed', 'a line is longer than the limit');
  const code = systemErrorCode(error) ?? '';
  // A body that cannot be decompressed is wrong data, unless it is only truncated.
  if (code.startsWith('Z_') && code !== 'Z_BUF_ERROR') return refusal('malformed', code);
  return refusal('outage', code === '' ? 'the connection failed' : code);
}

async function collectText(body: Readable): Promise<string | undefined> {
  const bytes = await collectBytes(body, replyBytesMax);
  return bytes === undefined ? undefined : Buffer.from(bytes).toString('utf8');
}

async function collectBytes(body: Readable, bytesMax: number): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const piece of body as AsyncIterable<Uint8Array>) {
      length += piece.byteLength;
      // Returning from the loop destroys the body.
      if (length > bytesMax) return undefined;
      pieces.push(piece);
    }
  } catch {
    return undefined;
  }
  return new Uint8Array(Buffer.concat(pieces, length));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const previousBlockCountMax = 100;

function parseBlocks(value: unknown): BlockRef[] | undefined {
  if (!Array.isArray(value) || value.length === 0 || value.length > previousBlockCountMax) {
    return undefined;
  }
  const blocks: BlockRef[] = [];
  for (const entry of value) {
    const number = parseSlot(memberOf(entry, 'number'));
    const hash = parseBlockHash(memberOf(entry, 'hash'));
    if (number === undefined || hash === undefined) return undefined;
    blocks.push({ number, hash });
  }
  return blocks;
}
