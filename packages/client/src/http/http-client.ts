/** Sends one request to one base URL with the key and a timeout, and converts error statuses to coded errors. The caller decides about retries. */
import { memberOf, messageOf } from '@sluice/protocol/unknown-value';
import type { OnEvent } from '../base/client-events.ts';
import type { Clock } from '../base/clock.ts';
import { SluiceError } from '../base/sluice-error.ts';
import { timedOut, waitFor } from '../base/wait-for.ts';
import { buildReplyError } from './http-reply.ts';

export interface HttpOptions {
  readonly key: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** How long to wait for the status line, and for a small body. */
  readonly timeoutMs: number;
}

export interface HttpDependencies {
  readonly fetch: typeof fetch;
  readonly clock: Clock;
  readonly onEvent: OnEvent;
}

export interface HttpRequest {
  readonly url: string;
  /** A JSON body. A request with a body is a POST. */
  readonly body?: string;
  readonly fromBlock?: number;
  /** Whether to refuse compression, on platforms that allow it. */
  readonly isPlain?: boolean;
  readonly signal: AbortSignal;
}

/** A response whose body is not read yet. Closing it twice is harmless. */
export interface OpenResponse {
  readonly response: Response;
  close(): void;
}

/** The maximum size of an error body or a small response. A longer one is truncated, because it is only shown. */
const smallBodyBytesMax = 1024 * 1024;

export class HttpClient {
  readonly #options: HttpOptions;
  readonly #dependencies: HttpDependencies;

  constructor(options: HttpOptions, dependencies: HttpDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  /** Resolves with the response when its status has arrived. Rejects with a coded error, or with the signal's reason. */
  async open(request: HttpRequest): Promise<OpenResponse> {
    const { clock, onEvent } = this.#dependencies;
    const { url, signal, fromBlock } = request;
    const connection = new AbortController();
    const close = () => connection.abort();
    onEvent({ kind: 'request', url, ...(fromBlock === undefined ? {} : { fromBlock }) });
    const startMs = clock.nowMs();
    try {
      const sent = this.#dependencies.fetch(url, this.#init(request, connection.signal));
      const response = await waitFor(sent, { clock, signal, ms: this.#options.timeoutMs });
      if (response === timedOut) {
        throw new SluiceError('timeout', { detail: `${url}, ${this.#options.timeoutMs} ms` });
      }
      onEvent({ kind: 'response', url, status: response.status, ms: clock.nowMs() - startMs });
      return { response, close };
    } catch (cause) {
      close();
      signal.throwIfAborted();
      throw cause instanceof SluiceError ? cause : networkError(url, cause);
    }
  }

  /** Resolves with the whole text of a small body and closes the response. */
  async readText(opened: OpenResponse, signal: AbortSignal): Promise<string> {
    const bytes = await this.readBytes(opened, { bytesMax: smallBodyBytesMax, signal });
    return new TextDecoder().decode(bytes);
  }

  /** Resolves with the body, truncated at the end of the chunk that exceeds `bytesMax`, and closes the response. */
  async readBytes(
    { response, close }: OpenResponse,
    { bytesMax, signal }: { readonly bytesMax: number; readonly signal: AbortSignal },
  ): Promise<Uint8Array> {
    const { clock } = this.#dependencies;
    try {
      const ms = this.#options.timeoutMs;
      const bytes = await waitFor(collectBytes(response, bytesMax), { clock, signal, ms });
      if (bytes === timedOut) throw new SluiceError('timeout', { detail: response.url });
      return bytes;
    } catch (cause) {
      signal.throwIfAborted();
      throw cause instanceof SluiceError ? cause : networkError(response.url, cause);
    } finally {
      close();
    }
  }

  /** Reads the body of an error response and returns the error. */
  async refuse(opened: OpenResponse, signal: AbortSignal): Promise<SluiceError> {
    const text = await this.readText(opened, signal);
    return buildReplyError(opened.response, text, this.#dependencies.clock);
  }

  #init({ body, isPlain }: HttpRequest, signal: AbortSignal): RequestInit {
    const { key, headers } = this.#options;
    return {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...(isPlain === true ? { 'accept-encoding': 'identity' } : {}),
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      // Redirects are not followed: a redirected POST becomes a GET, and the key must not be sent to another host.
      redirect: 'manual',
      cache: 'no-store',
      signal,
    };
  }
}

function networkError(url: string, cause: unknown): SluiceError {
  const inner = memberOf(cause, 'cause');
  const reason = memberOf(inner, 'code') ?? memberOf(inner, 'message') ?? messageOf(cause);
  return new SluiceError('network-failed', { detail: `${url}, ${String(reason)}`, cause });
}

async function collectBytes({ body }: Response, bytesMax: number): Promise<Uint8Array> {
  if (body === null) return new Uint8Array(0);
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let length = 0;
  while (length < bytesMax) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.byteLength;
    chunks.push(value);
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  return bytes;
}
