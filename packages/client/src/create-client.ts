import { memberOf } from '@sluice/protocol/unknown-value';
import { type BlockRef, parseBlockRef } from './base/block-ref.ts';
import { type Clock, systemClock } from './base/clock.ts';
import { isSluiceError, SluiceError } from './base/sluice-error.ts';
import { type ClientOptions, parseOptions } from './client-options.ts';
import { type ClientParts, createCaller } from './create-caller.ts';
import { Attempts, Endpoints } from './http/endpoints.ts';
import { HttpClient } from './http/http-client.ts';
import { type Random, systemRandom } from './http/retry-wait.ts';
import { buildLookups, type Lookups } from './lookups.ts';
import { Backlog } from './stream/backlog.ts';
import { CursorStream } from './stream/block-stream.ts';
import { planQuery } from './stream/plan-query.ts';
import type { Query, Strict } from './stream/query-types.ts';
import { BatchLoop } from './stream/stream-batches.ts';
import { StreamRequester } from './stream/stream-requester.ts';
import type { BlockStream, StreamOptions } from './stream/stream-types.ts';

export interface Metadata {
  readonly dataset: string;
  readonly aliases: readonly string[];
  /** Whether the dataset follows a ledger. */
  readonly real_time: boolean;
  /** The lowest slot that can be requested. */
  readonly start_block: number;
}

/** The response of `GET /status`. Services may add keys. */
export interface Status extends Metadata {
  readonly head: BlockRef | null;
  readonly finalized_head: BlockRef | null;
  readonly block_count: number;
  readonly head_lag_seconds: number | null;
  readonly [key: string]: unknown;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
}

/** A client of one dataset. It keeps no connection open and need not be closed. */
export interface Client extends Lookups {
  /** Returns the newest block, or null if the dataset has none. */
  head(options?: CallOptions): Promise<BlockRef | null>;
  finalizedHead(options?: CallOptions): Promise<BlockRef | null>;
  metadata(options?: CallOptions): Promise<Metadata>;
  status(options?: CallOptions): Promise<Status>;
  /** Returns the slot of the first block at or after a time, or null while every stored block is older. A number is unix seconds. */
  blockAt(time: Date | number | bigint, options?: CallOptions): Promise<number | null>;
  /** Streams the blocks of a query, endlessly or up to `toBlock`. */
  stream<const Q extends Query>(query: Q & Strict<Q>, options?: StreamOptions): BlockStream<Q>;
}

/** The clock and the random numbers, which tests replace. */
export interface ClientDependencies {
  readonly clock: Clock;
  readonly random: Random;
}

export const systemDependencies: ClientDependencies = { clock: systemClock, random: systemRandom };

export function createClient(
  options: ClientOptions,
  dependencies: ClientDependencies = systemDependencies,
): Client {
  const parts = buildParts(options, dependencies);
  const { call, get } = createCaller(parts);
  return {
    head: async ({ signal } = {}) => parseHead(await get('/head', signal)),
    finalizedHead: async ({ signal } = {}) => parseHead(await get('/finalized-head', signal)),
    metadata: async ({ signal } = {}) => (await get('/metadata', signal)) as Metadata,
    status: async ({ signal } = {}) => (await get('/status', signal)) as Status,
    blockAt: async (time, { signal } = {}) => {
      try {
        return parseSlot(await get(`/timestamps/${toSeconds(time)}/block`, signal));
      } catch (error) {
        if (isSluiceError(error) && error.reply?.code === 'time-not-reached') return null;
        throw error;
      }
    },
    ...buildLookups(call, parts),
    stream: <const Q extends Query>(query: Q, streamOptions: StreamOptions = {}) =>
      openStream(query, streamOptions, parts) as BlockStream<Q>,
  };
}

/** Returns the metadata of all datasets of a service; `url` is the address of the service itself. */
export async function listDatasets(
  options: ClientOptions,
  { signal }: CallOptions = {},
  dependencies: ClientDependencies = systemDependencies,
): Promise<readonly Metadata[]> {
  const { get } = createCaller(buildParts(options, dependencies));
  return (await get('/datasets', signal)) as readonly Metadata[];
}

function buildParts(options: ClientOptions, { clock, random }: ClientDependencies): ClientParts {
  const parsed = parseOptions(options);
  const onEvent = options.onEvent ?? (() => undefined);
  // The platform's `fetch` is called through a function, because it must not be called as a method of another object.
  const send: typeof fetch = options.fetch ?? ((input, init) => fetch(input, init));
  const endpoints = new Endpoints(parsed.urls, onEvent);
  const http = new HttpClient(parsed.http, { fetch: send, clock, onEvent });
  return { parsed, http, endpoints, attemptDependencies: { endpoints, clock, random, onEvent } };
}

function openStream(query: Query, options: StreamOptions, parts: ClientParts): BlockStream {
  const { parsed, http, endpoints, attemptDependencies } = parts;
  const { clock, onEvent } = attemptDependencies;
  const plan = planQuery(query);
  const backlogOptions = {
    fromBlock: plan.fromBlock,
    parentHash: plan.parentBlockHash,
    countMax: parsed.backlogCountMax,
  };
  return new CursorStream({
    cursor: options.cursor,
    signal: options.signal,
    clock,
    createBacklog: (state) => new Backlog(backlogOptions, state),
    run: (backlog, signal) => {
      const isFinalized = options.finalized === true;
      const hasClosing = options.closing === true;
      const limits = parsed.lines;
      const requester = new StreamRequester(
        { plan, limits, isFinalized, hasClosing, signal },
        { http, endpoints, clock },
      );
      const attempts = new Attempts(parsed.retry, attemptDependencies);
      const dependencies = { requester, endpoints, attempts, backlog, clock, onEvent };
      return new BatchLoop({ plan, limits, signal }, dependencies).run();
    },
  });
}

function parseHead(value: unknown): BlockRef | null {
  const ref = value === null ? null : parseBlockRef(value);
  if (ref !== undefined) return ref;
  throw new SluiceError('response-malformed', { detail: 'the response for a head is not a block' });
}

function parseSlot(value: unknown): number {
  const slot = memberOf(value, 'block_number');
  if (typeof slot === 'number' && Number.isSafeInteger(slot)) return slot;
  throw new SluiceError('response-malformed', {
    detail: 'the response for a time has no block_number',
  });
}

function toSeconds(time: Date | number | bigint): bigint {
  if (typeof time === 'bigint') return time;
  const seconds = time instanceof Date ? time.getTime() / 1000 : time;
  if (Number.isFinite(seconds)) return BigInt(Math.ceil(seconds));
  throw new SluiceError('option-invalid', { detail: 'the time is not a date' });
}
