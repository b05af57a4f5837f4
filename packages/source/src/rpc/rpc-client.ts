/**
 * A JSON-RPC client for one node over HTTP. Failures are returned as refusals, not thrown. Addresses may contain keys and
 * therefore never appear in texts.
 */

import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { type BucketRate, TokenBucket } from '@sluice/base/token-bucket';
import { hasMembers, memberOf } from '@sluice/protocol/unknown-value';
import { type Refusal, refusal, refusalOfRpcError, type SourceResult } from '../refusal.ts';
import type { FetchThread } from './fetch-thread.ts';
import { HttpPoster, type Poster, type PostReply, type PostRequest } from './http-poster.ts';

export interface RpcClientOptions {
  readonly url: string;
  /** The limit of calls per second; unlimited if absent. */
  readonly callsPerSecond?: number;
  readonly replyBytesMax?: number;
  readonly connectionCount?: number;
  /** Sent with every request. May contain a key. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RpcClientDependencies {
  readonly clock: Clock;
  /** Reads large replies. Without it they are read in this thread. */
  readonly fetchThread?: FetchThread;
  /** Receives how long each call took, also of calls that failed. */
  readonly observeCall?: ObserveCall;
}

export type ObserveCall = (call: string, seconds: number) => void;

export interface CallOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Five times the largest real block. */
const replyBytesMaxDefault = 64 * 1024 * 1024;
const connectionCountDefault = 16;
const overReason = 'the call is over';

export class RpcClient {
  readonly #poster: HttpPoster;
  readonly #blockPoster: Poster;
  readonly #path: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #replyBytesMax: number;
  readonly #bucket: TokenBucket;
  /** Null means no limit. */
  readonly #rate: BucketRate | null;
  readonly #clock: Clock;
  readonly #observeCall: ObserveCall | undefined;
  #nextId = 1;

  constructor(options: RpcClientOptions, dependencies: RpcClientDependencies) {
    const url = parseSourceUrl(options.url);
    const { connectionCount = connectionCountDefault } = options;
    const server = { origin: url.origin, connectionCount };
    this.#poster = new HttpPoster(server);
    this.#blockPoster = dependencies.fetchThread?.poster(server) ?? this.#poster;
    this.#path = `${url.pathname}${url.search}`;
    this.#headers = { ...headersOf(url), ...lowerCaseNames(options.headers ?? {}) };
    this.#replyBytesMax = options.replyBytesMax ?? replyBytesMaxDefault;
    this.#rate = rateOf(options.callsPerSecond);
    this.#bucket = new TokenBucket(this.#rate?.burst ?? 0, dependencies.clock);
    this.#clock = dependencies.clock;
    this.#observeCall = dependencies.observeCall;
  }

  /** Calls a method with a small result and parses it. */
  async call(
    method: string,
    params: readonly unknown[],
    options: CallOptions,
  ): Promise<SourceResult<unknown>> {
    const id = this.#nextId++;
    const request = this.#request(id, method, params);
    const reply = await this.#time(method, this.#post(this.#poster, request, options));
    if (reply.kind !== 'ok') return reply;
    return parseReply(reply.value.bytes, id);
  }

  /** Calls a method and returns the bytes of its result, or null if the result is null. */
  async callForBytes(
    method: string,
    params: readonly unknown[],
    options: CallOptions,
  ): Promise<SourceResult<Uint8Array | null>> {
    const id = this.#nextId++;
    const request = { ...this.#request(id, method, params), resultOf: id };
    const reply = await this.#time(method, this.#post(this.#blockPoster, request, options));
    if (reply.kind !== 'ok') return reply;
    if (reply.value.isResult) return { kind: 'ok', value: reply.value.bytes };
    const parsed = parseReply(reply.value.bytes, id);
    this.giveBack(reply.value.bytes);
    if (parsed.kind !== 'ok') return parsed;
    if (parsed.value === null) return { kind: 'ok', value: null };
    return refusal('malformed', 'the result is not an object');
  }

  /** Returns the memory of a result that is no longer used. */
  giveBack(bytes: Uint8Array): void {
    this.#blockPoster.giveBack(bytes);
  }

  async close(): Promise<void> {
    await this.#poster.close();
  }

  async #time<Reply>(method: string, reply: Promise<Reply>): Promise<Reply> {
    const startMs = this.#clock.nowMs();
    try {
      return await reply;
    } finally {
      this.#observeCall?.(method, (this.#clock.nowMs() - startMs) / 1000);
    }
  }

  #request(id: number, method: string, params: readonly unknown[]): PostRequest {
    return {
      path: this.#path,
      headers: this.#headers,
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
      replyBytesMax: this.#replyBytesMax,
    };
  }

  async #post(
    poster: Poster,
    request: PostRequest,
    { timeoutMs, signal }: CallOptions,
  ): Promise<SourceResult<PostReply>> {
    // An aborted signal sends no further event.
    if (signal.aborted) return refusal('outage', overReason);
    const deadline = new AbortController();
    // A reason is given, because the default reason captures a stack trace.
    const stop = () => deadline.abort(overReason);
    signal.addEventListener('abort', stop, { once: true });
    const timer = this.#clock.sleep(timeoutMs, deadline.signal).then(stop);
    try {
      if (this.#rate !== null) await this.#bucket.take(1, this.#rate, deadline.signal);
      if (deadline.signal.aborted) return refusal('outage', 'no response in time');
      return await poster.post(request, deadline.signal);
    } finally {
      signal.removeEventListener('abort', stop);
      stop();
      await timer;
    }
  }
}

/** A burst has at most the calls of one second. */
function rateOf(callsPerSecond: number | undefined): BucketRate | null {
  if (callsPerSecond === undefined) return null;
  return { perSecond: callsPerSecond, burst: Math.max(1, callsPerSecond) };
}

/** Rejects anything but an HTTP address. The error does not repeat the address, because it may contain a key. */
export function parseSourceUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new CodedError('source-address-invalid');
  }
  return url;
}

export function headersOf(url: URL): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  // Compression is not worthwhile on the same machine.
  if (!isLoopback(url.hostname)) headers['accept-encoding'] = 'gzip';
  if (url.username !== '' || url.password !== '') {
    const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
    headers['authorization'] = `Basic ${Buffer.from(pair).toString('base64')}`;
  }
  return headers;
}

/** Header names in another case replace ours instead of being added. */
function lowerCaseNames(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}

function parseReply(bytes: Uint8Array, id: number): SourceResult<unknown> {
  let reply: unknown;
  try {
    reply = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return refusal('malformed', 'the reply is not JSON');
  }
  if (!hasMembers(reply)) return notJsonRpc;
  const { id: replied, result, error } = reply;
  if (error !== undefined && error !== null) return refusalOfError(error);
  if (replied !== id || result === undefined) return notJsonRpc;
  return { kind: 'ok', value: result };
}

const notJsonRpc = refusal('malformed', 'the reply is not a JSON-RPC reply to the call');

function refusalOfError(error: unknown): Refusal {
  const [code, message] = [memberOf(error, 'code'), memberOf(error, 'message')];
  if (typeof code !== 'number') return notJsonRpc;
  return refusalOfRpcError(code, typeof message === 'string' ? message : '');
}
