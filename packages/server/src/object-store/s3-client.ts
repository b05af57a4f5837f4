/**
 * A client of S3-compatible object stores. It signs requests with aws4fetch and sends them with undici, so that
 * connections, timeouts and retries are under our control. It uses single PUTs only, because a segment is a few tens of
 * megabytes.
 */

import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Clock } from '@sluice/base/clock';
import { CodedError, isCodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { runInTimeSlices, type Steps } from '@sluice/base/time-slices';
import { messageOf } from '@sluice/protocol/unknown-value';
import { AwsV4Signer } from 'aws4fetch';
import { Agent, type Dispatcher, request } from 'undici';
import type { GetCredentials } from './credentials.ts';
import type { ByteRange, ObjectInfo, ObjectStore } from './object-store.ts';
import { parseListing, readTag } from './parse-listing.ts';
import { TransientFailure, withRetries } from './retry.ts';

export interface S3Options {
  readonly bucket: string;
  /** The prefix of all keys. Empty, or without a slash at either end. */
  readonly prefix: string;
  /** The address of the service, without the bucket. */
  readonly endpoint: string;
  readonly region: string;
  /** Whether the bucket is the first component of the path; otherwise it is part of the host name. */
  readonly pathStyle: boolean;
  /** How long a request may make no progress. */
  readonly requestMsMax: number;
  readonly connectionCountMax: number;
}

export interface S3Dependencies {
  readonly credentials: GetCredentials;
  readonly clock: Clock;
  readonly random: () => number;
}

interface S3Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
}

interface Send {
  readonly operation: string;
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

export class S3Client implements ObjectStore {
  readonly #options: S3Options;
  readonly #dependencies: S3Dependencies;
  readonly #agent: Agent;
  readonly #base: string;

  constructor(options: S3Options, dependencies: S3Dependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    const { requestMsMax, connectionCountMax } = options;
    this.#agent = new Agent({
      connections: connectionCountMax,
      connect: { timeout: Math.min(requestMsMax, 5_000) },
      // `#whileActive` limits the time without progress. This limit would include the time that a large body takes.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#base = baseUrl(options);
  }

  async get(key: string, range?: ByteRange): Promise<Uint8Array> {
    const headers: Record<string, string> = {};
    if (range !== undefined) headers['range'] = `bytes=${range.start}-${range.end - 1}`;
    const { body } = await this.#retried('get', key, async () => {
      const response = await this.#send({
        operation: 'get',
        method: 'GET',
        url: this.#url(key),
        headers,
      });
      if (range !== undefined && response.body.length !== range.end - range.start) {
        throw new TransientFailure(
          `got ${response.body.length} bytes of ${range.end - range.start}`,
        );
      }
      return response;
    });
    return body;
  }

  async head(key: string): Promise<ObjectInfo | undefined> {
    try {
      const { headers } = await this.#retried('head', key, () =>
        this.#send({ operation: 'head', method: 'HEAD', url: this.#url(key) }),
      );
      return {
        key,
        byteLength: Number(headers['content-length']),
        modifiedUnixMs: Date.parse(String(headers['last-modified'])),
      };
    } catch (error) {
      if (isCodedError(error, 'store-object-missing')) return undefined;
      throw error;
    }
  }

  async put(key: string, bytes: Uint8Array): Promise<void> {
    const checksums = await runInTimeSlices(checksumSteps(bytes));
    await this.#retried('put', key, () => this.#put(key, bytes, checksums));
  }

  async create(key: string, bytes: Uint8Array): Promise<boolean> {
    const headers = {
      'if-none-match': '*',
      ...(await runInTimeSlices(checksumSteps(bytes))),
    };
    const { status } = await this.#retried('create', key, () => this.#put(key, bytes, headers));
    if (status !== 412) return true;
    // The response to an earlier attempt may have been lost after the store had accepted it.
    const stored = await this.get(key);
    return Buffer.compare(stored, bytes) === 0;
  }

  async list(prefix: string): Promise<ObjectInfo[]> {
    const listed: ObjectInfo[] = [];
    const basePrefix = this.#key('');
    let token: string | undefined;
    do {
      const query = new URLSearchParams({ 'list-type': '2', prefix: this.#key(prefix) });
      if (token !== undefined) query.set('continuation-token', token);
      const url = `${this.#base}/?${query}`;
      const { body } = await this.#retried('list', prefix, () =>
        this.#send({ operation: 'list', method: 'GET', url }),
      );
      const page = parseListing(new TextDecoder().decode(body));
      for (const object of page.objects)
        listed.push({ ...object, key: object.key.slice(basePrefix.length) });
      token = page.nextToken;
    } while (token !== undefined);
    return listed;
  }

  async remove(key: string): Promise<void> {
    await this.#retried('remove', key, () =>
      this.#send({ operation: 'remove', method: 'DELETE', url: this.#url(key) }),
    );
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #put(
    key: string,
    body: Uint8Array,
    headers: Readonly<Record<string, string>>,
  ): Promise<S3Response> {
    const all = { ...headers, 'content-type': 'application/octet-stream' };
    return this.#send({ operation: 'put', method: 'PUT', url: this.#url(key), headers: all, body });
  }

  #retried(
    operation: string,
    key: string,
    attempt: () => Promise<S3Response>,
  ): Promise<S3Response> {
    return withRetries(`${operation} ${key}`, attempt, this.#dependencies);
  }

  async #send(send: Send): Promise<S3Response> {
    const { operation, method, body } = send;
    const { region } = this.#options;
    const { accessKeyId, secretAccessKey, sessionToken } = await this.#dependencies.credentials();
    const signer = new AwsV4Signer({
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      service: 's3',
      region,
      method,
      url: send.url,
      headers: { ...send.headers },
    });
    const signed = await signer.sign();
    const response = await this.#whileActive((onProgress, signal) => {
      const headers = Object.fromEntries(signed.headers);
      if (body !== undefined) headers['content-length'] = String(body.length);
      return receive(
        signed.url.href,
        {
          method,
          headers,
          body: body === undefined ? null : Readable.from(inPieces(body, onProgress)),
          dispatcher: this.#agent,
          signal,
        },
        onProgress,
      );
    });
    return judgeResponse(operation, response);
  }

  /** Aborts a request that makes no progress for too long. A slow one may take as long as it needs. */
  async #whileActive(
    run: (onProgress: OnProgress, signal: AbortSignal) => Promise<S3Response>,
  ): Promise<S3Response> {
    const { clock } = this.#dependencies;
    const { requestMsMax } = this.#options;
    const [idle, ended] = [new AbortController(), new AbortController()];
    let activeMs = clock.nowMs();
    const watch = async () => {
      while (!ended.signal.aborted) {
        const leftMs = activeMs + requestMsMax - clock.nowMs();
        if (leftMs <= 0) return idle.abort(new TransientFailure('no progress'));
        await clock.sleep(leftMs, ended.signal);
      }
    };
    const onProgress = (pauseMs = 0) => {
      activeMs = clock.nowMs() + pauseMs;
    };
    const watching = watch();
    try {
      return await run(onProgress, idle.signal);
    } finally {
      ended.abort();
      await watching;
    }
  }

  #key(key: string): string {
    const { prefix } = this.#options;
    return prefix === '' ? key : `${prefix}/${key}`;
  }

  #url(key: string): string {
    return `${this.#base}/${this.#key(key).split('/').map(encodeURIComponent).join('/')}`;
  }
}

function baseUrl({ endpoint, bucket, pathStyle }: S3Options): string {
  const url = new URL(endpoint);
  if (!pathStyle) url.hostname = `${bucket}.${url.hostname}`;
  const path = pathStyle ? `/${bucket}` : '';
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}${path}`;
}

async function receive(
  url: string,
  options: Parameters<typeof request>[1] & { dispatcher: Dispatcher },
  onProgress: OnProgress,
): Promise<S3Response> {
  try {
    const { statusCode, headers, body } = await request(url, options);
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) {
      onProgress();
      chunks.push(chunk);
    }
    const bytes = new Uint8Array(Buffer.concat(chunks));
    const expected = headers['content-length'];
    const isWhole = expected === undefined || options.method === 'HEAD';
    if (!isWhole && Number(expected) !== bytes.length) {
      throw new TransientFailure(`got ${bytes.length} bytes of ${expected}`);
    }
    return { status: statusCode, headers, body: bytes };
  } catch (error) {
    if (error instanceof TransientFailure) throw error;
    throw new TransientFailure(systemErrorCode(error) ?? messageOf(error), { cause: error });
  }
}

/** Called when bytes were sent or received. The next progress may come later by `pauseMs`. */
type OnProgress = (pauseMs?: number) => void;

/** The part of a body after which the connection is checked for progress. */
const pieceBytes = 1 << 16;
/** How much the system accepts before it is sent, and the slowest connection whose store is expected to respond in time. */
const systemBufferBytes = 4 << 20;
const slowestBytesPerMs = 64;

/** Yields each piece after the connection has accepted the previous one. */
async function* inPieces(body: Uint8Array, onProgress: OnProgress): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < body.length; start += pieceBytes) {
    yield body.subarray(start, start + pieceBytes);
    onProgress();
  }
  onProgress(Math.min(body.length, systemBufferBytes) / slowestBytesPerMs);
}

/** Statuses that may not occur again at the next attempt: overload, throttling (503 SlowDown), timeouts, a concurrent write. */
const transientStatuses: ReadonlySet<number> = new Set([408, 409, 425, 429, 500, 502, 503, 504]);

function judgeResponse(operation: string, response: S3Response): S3Response {
  const { status, body } = response;
  if (status < 300 || status === 412) return response;
  const reason = readTag(new TextDecoder().decode(body.subarray(0, 4_096)), 'Code') ?? '';
  if (status === 404 && reason !== 'NoSuchBucket') {
    if (operation === 'remove') return response;
    throw new CodedError('store-object-missing', { operation });
  }
  // A body that was damaged in transit is sent again.
  if (transientStatuses.has(status) || reason === 'BadDigest' || reason === 'RequestTimeout') {
    throw new TransientFailure(`HTTP ${status}${reason === '' ? '' : ` ${reason}`}`);
  }
  throw new CodedError('store-refused', { operation, status, reason });
}

/** A part that takes a millisecond. Both checksums of a segment of 256 MiB together take more than a second. */
const hashedBytes = 1 << 18;

/** Stores verify both checksums and refuse other bytes. The second one is part of the signature. */
function* checksumSteps(body: Uint8Array): Steps<Readonly<Record<string, string>>> {
  const [md5, sha256] = [createHash('md5'), createHash('sha256')];
  for (let at = 0; at < body.length; at += hashedBytes) {
    const part = body.subarray(at, at + hashedBytes);
    md5.update(part);
    sha256.update(part);
    yield;
  }
  return { 'content-md5': md5.digest('base64'), 'x-amz-content-sha256': sha256.digest('hex') };
}
