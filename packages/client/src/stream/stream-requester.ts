/** Sends one request of a stream, and interprets the status and the headers of its response. */
import { memberOf } from '@sluice/protocol/unknown-value';
import { type BlockRef, parseBlockRef, parseBlockRefs } from '../base/block-ref.ts';
import type { Clock } from '../base/clock.ts';
import { isSluiceError, SluiceError } from '../base/sluice-error.ts';
import type { Endpoints } from '../http/endpoints.ts';
import type { HttpClient, OpenResponse } from '../http/http-client.ts';
import { type LineLimits, readLineGroups } from '../http/line-groups.ts';
import { wrongHash } from './find-common-block.ts';
import { finalizedHeadField, type QueryPlan } from './plan-query.ts';

export interface StreamPosition {
  readonly fromBlock: number;
  readonly parentHash: string | undefined;
  readonly isPlain?: boolean;
  /** Whether headers should contain the finalized head, if the service supports it. */
  readonly withFinalizedHead: boolean;
}

export interface LinesResponse {
  readonly kind: 'lines';
  readonly body: ReadableStream<Uint8Array>;
  /** A finalized block on the chain of the blocks that follow. */
  readonly finalizedHead: BlockRef | null;
  /** Whether another request could get the finalized head in every header. */
  readonly lacksFinalizedHeads: boolean;
  readonly startedAtMs: number;
  close(): void;
}

export type StreamResponse =
  | LinesResponse
  /** The whole range is above the head of the service. */
  | { readonly kind: 'above'; readonly startedAtMs: number }
  /** The parent hash of the request is not on the chain. These are the blocks below, in ascending order. */
  | { readonly kind: 'conflict'; readonly previousBlocks: readonly BlockRef[] };

export interface RequesterOptions {
  readonly plan: QueryPlan;
  readonly limits: LineLimits;
  readonly isFinalized: boolean;
  readonly hasClosing: boolean;
  readonly signal: AbortSignal;
}

const headerPrefixes = { ledger: 'x-ledger-', solana: 'x-sqd-' } as const;

export class StreamRequester {
  readonly #options: RequesterOptions;
  readonly #dependencies: { http: HttpClient; endpoints: Endpoints; clock: Clock };

  constructor(
    options: RequesterOptions,
    dependencies: { http: HttpClient; endpoints: Endpoints; clock: Clock },
  ) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  async ask(url: string, position: StreamPosition): Promise<StreamResponse> {
    const { withoutFinalizedHead } = this.#dependencies.endpoints;
    if (withoutFinalizedHead.has(url)) {
      return await this.#send(url, { ...position, withFinalizedHead: false });
    }
    try {
      return await this.#send(url, position);
    } catch (error) {
      if (!isRefusedField(error)) throw error;
      // An older service or an SQD Portal sends the finalized head only in the headers of the response.
      withoutFinalizedHead.add(url);
      return await this.#send(url, { ...position, withFinalizedHead: false });
    }
  }

  /** Returns up to 100 blocks below a slot; `undefined` if the service returns none. */
  async readPage(url: string, fromBlock: number): Promise<readonly BlockRef[] | undefined> {
    const position = { fromBlock, parentHash: wrongHash, withFinalizedHead: false };
    const response = await this.ask(url, position).catch((error) => {
      if (isSluiceError(error, 'range-unavailable')) return undefined;
      throw error;
    });
    switch (response?.kind) {
      case 'conflict':
        return response.previousBlocks;
      case 'above':
        throw new SluiceError('service-unavailable', {
          detail: 'the chain became shorter while a fork was traced',
        });
      case 'lines':
        await this.#requireLines(response);
        return undefined;
      default:
        return undefined;
    }
  }

  /** Checks that a response with status 200 contains blocks: an empty one, below blocks that are known, confirms no parent hash. */
  async #requireLines(response: LinesResponse): Promise<void> {
    const { plan, limits, signal } = this.#options;
    try {
      const dependencies = { clock: this.#dependencies.clock, signal };
      for await (const { lines } of readLineGroups(response.body, limits, dependencies)) {
        plan.parse(lines[0] as string);
        return;
      }
    } finally {
      response.close();
    }
    throw new SluiceError('response-malformed', { detail: 'an empty response below known blocks' });
  }

  async #send(url: string, position: StreamPosition): Promise<StreamResponse> {
    const { plan, isFinalized, hasClosing, signal } = this.#options;
    const { http, clock, endpoints } = this.#dependencies;
    const { fromBlock, parentHash, withFinalizedHead, isPlain = false } = position;
    const isRefused = endpoints.withoutFinalizedHead.has(url);
    const startedAtMs = clock.nowMs();
    const opened = await http.open({
      url: `${url}/${isFinalized ? 'finalized-stream' : 'stream'}${hasClosing ? '?closing=true' : ''}`,
      body: plan.body({ fromBlock, parentBlockHash: parentHash, withFinalizedHead }),
      fromBlock,
      isPlain,
      signal,
    });
    const { response, close } = opened;
    switch (response.status) {
      case 200:
        return {
          kind: 'lines',
          body: response.body ?? new Response('').body ?? refuseBody(),
          finalizedHead: this.#finalizedHead(response),
          lacksFinalizedHeads: plan.addsFinalizedHead && !withFinalizedHead && !isRefused,
          startedAtMs,
          close,
        };
      case 204:
        close();
        return { kind: 'above', startedAtMs };
      case 409:
        return await this.#readConflict(opened, fromBlock);
      default:
        throw await http.refuse(opened, signal);
    }
  }

  async #readConflict(opened: OpenResponse, fromBlock: number): Promise<StreamResponse> {
    const text = await this.#dependencies.http.readText(opened, this.#options.signal);
    const previousBlocks = parseBlockRefs(memberOf(parseJson(text), 'previousBlocks'));
    if (previousBlocks === undefined || (previousBlocks.at(-1)?.number ?? Infinity) >= fromBlock) {
      const detail = `a conflict names no blocks below ${fromBlock}: ${text.slice(0, 100)}`;
      throw new SluiceError('response-malformed', { detail });
    }
    return { kind: 'conflict', previousBlocks };
  }

  #finalizedHead({ headers }: Response): BlockRef | null {
    const prefix = headerPrefixes[this.#options.plan.dialect];
    const number = headers.get(`${prefix}finalized-head-number`);
    const hash = headers.get(`${prefix}finalized-head-hash`);
    if (number === null || !/^\d{1,16}$/.test(number)) return null;
    return parseBlockRef({ number: Number(number), hash }) ?? null;
  }
}

function isRefusedField(error: unknown): boolean {
  return isSluiceError(error, 'query-invalid') && error.message.includes(finalizedHeadField);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function refuseBody(): never {
  throw new SluiceError('response-malformed', { detail: 'a response has no body' });
}
