/**
 * The loop of a stream: request, read, resume after every end, roll back on a fork.
 *
 *         ┌─────────────── request from `next` with the tip's hash ◄───────────────┐
 *         │ 200                 │ 204              │ 409                │ failure  │
 *   read lines, yield       wait a little    find common block,    wait, maybe     │
 *   blocks until the end         │           yield the rollback   another replica  │
 *         └──────────────────────┴──────────────────┴────────────────────┴─────────┘
 *
 * History is requested without the finalized head in every header, because then a service can send stored lines that were compressed
 * once. The headers of the response contain a finalized block, and everything up to it is final. When a response continues above it, the
 * client closes it, and the next request selects the finalized head in every line.
 */

import { CLOSING_KEY, type ClosingRecord } from '@sluice/protocol/closing-record';
import { type BlockRef, parseBlockRef } from '../base/block-ref.ts';
import type { OnEvent } from '../base/client-events.ts';
import type { Clock } from '../base/clock.ts';
import { SluiceError } from '../base/sluice-error.ts';
import type { Attempts, Endpoints } from '../http/endpoints.ts';
import { type LineGroup, type LineLimits, readLineGroups } from '../http/line-groups.ts';
import type { Backlog } from './backlog.ts';
import type { ParsedBlock } from './block-parser.ts';
import { findCommonBlock } from './find-common-block.ts';
import { finalizedHeadField, type QueryPlan } from './plan-query.ts';
import type { LinesResponse, StreamRequester, StreamResponse } from './stream-requester.ts';
import type { Batch, BlocksBatch } from './stream-types.ts';

export interface StreamDependencies {
  readonly requester: StreamRequester;
  readonly endpoints: Endpoints;
  readonly attempts: Attempts;
  readonly backlog: Backlog;
  readonly clock: Clock;
  readonly onEvent: OnEvent;
}

/** The minimum interval of requests to a service that responds immediately without new blocks. */
const idleMsMin = 1_000;
/** After this time without a new block, another replica is tried. */
const quietMsMax = 20_000;
/** History is requested separately if it has at least this many finalized slots. */
const historySlotsMin = 1_000;

export class BatchLoop {
  readonly #plan: QueryPlan;
  readonly #limits: LineLimits;
  readonly #dependencies: StreamDependencies;
  readonly #signal: AbortSignal;
  #finalizedHead: BlockRef | null = null;
  #newsAtMs: number;
  /** Whether the next blocks are above the last known finalized head. */
  #isAboveFinalized = false;
  /** Whether the last response to a bounded request was empty. A second empty response means that the range is complete. */
  #isEmptyOnce = false;

  constructor(
    options: {
      readonly plan: QueryPlan;
      readonly limits: LineLimits;
      readonly signal: AbortSignal;
    },
    dependencies: StreamDependencies,
  ) {
    this.#plan = options.plan;
    this.#limits = options.limits;
    this.#signal = options.signal;
    this.#dependencies = dependencies;
    this.#newsAtMs = dependencies.clock.nowMs();
  }

  async *run(): AsyncGenerator<Batch> {
    const { endpoints, attempts, requester, backlog } = this.#dependencies;
    const { toBlock } = this.#plan;
    while (toBlock === undefined || backlog.next <= toBlock) {
      const url = endpoints.current;
      try {
        const response = await requester.ask(url, {
          fromBlock: backlog.next,
          parentHash: backlog.tip?.hash ?? backlog.parentHash,
          isPlain: this.#isEmptyOnce,
          withFinalizedHead: !this.#isHistory(),
        });
        if (yield* this.#take(url, response)) return;
      } catch (error) {
        await attempts.failed(url, error, this.#signal);
      }
    }
  }

  #isHistory(): boolean {
    const finalized = this.#finalizedHead?.number ?? -1;
    if (finalized - this.#dependencies.backlog.next >= historySlotsMin)
      this.#isAboveFinalized = false;
    return !this.#isAboveFinalized;
  }

  /** Returns whether the range is complete. */
  async *#take(url: string, response: StreamResponse): AsyncGenerator<Batch, boolean> {
    switch (response.kind) {
      case 'lines':
        return yield* this.#readLines(url, response);
      case 'above':
        this.#dependencies.attempts.progressed();
        await this.#idle(url, response.startedAtMs);
        return false;
      case 'conflict':
        yield await this.#rollBack(url, response.previousBlocks);
        return false;
    }
  }

  async *#readLines(url: string, response: LinesResponse): AsyncGenerator<Batch, boolean> {
    const { clock, backlog } = this.#dependencies;
    const finalSlot = response.finalizedHead?.number ?? -1;
    let isEmpty = true;
    try {
      const dependencies = { clock, signal: this.#signal };
      for await (const read of readLineGroups(response.body, this.#limits, dependencies)) {
        const group = this.#takeClosing(url, read);
        if (group.lines.length === 0) continue;
        isEmpty = false;
        // The batch is not assigned to a variable, which would keep it in memory while the next one is read.
        yield this.#takeGroup(group, response.finalizedHead);
        this.#isAboveFinalized = backlog.next > finalSlot;
        if (this.#isAboveFinalized && response.lacksFinalizedHeads) break;
      }
    } finally {
      response.close();
    }
    return isEmpty ? await this.#judgeEmpty(url, response) : false;
  }

  /** Reports a closing record. Returns the other lines. */
  #takeClosing(url: string, group: LineGroup): LineGroup {
    const record = parseClosing(group.lines.at(-1) ?? '');
    if (record === undefined) return group;
    this.#dependencies.onEvent({ kind: 'closing', url, ...record });
    return { ...group, lines: group.lines.slice(0, -1) };
  }

  #takeGroup({ lines, bytes }: LineGroup, headFromHeaders: BlockRef | null): BlocksBatch {
    const { attempts, clock, onEvent, backlog } = this.#dependencies;
    const batch = this.#append(lines, headFromHeaders);
    attempts.progressed();
    this.#newsAtMs = clock.nowMs();
    const { blocks, finalizedHead } = batch;
    const tip = backlog.tip as BlockRef;
    onEvent({ kind: 'blocks', count: blocks.length, bytes, tip, finalizedHead });
    return batch;
  }

  /**
   * An empty response to a bounded request means that all remaining slots were skipped. A proxy that truncates a compressed body looks
   * the same, so the request is repeated without compression.
   */
  async #judgeEmpty(url: string, response: LinesResponse): Promise<boolean> {
    this.#dependencies.attempts.progressed();
    if (this.#plan.toBlock !== undefined) {
      if (this.#isEmptyOnce) return true;
      this.#isEmptyOnce = true;
      return false;
    }
    await this.#idle(url, response.startedAtMs);
    return false;
  }

  /** Converts lines to blocks. If one line is invalid, none is taken. */
  #append(lines: readonly string[], headFromHeaders: BlockRef | null): BlocksBatch {
    const { backlog } = this.#dependencies;
    const blocks = lines.map((line) => this.#plan.parse(line));
    const refs = blocks.map(({ header: { number, hash } }) => ({ number, hash }));
    this.#checkOrder(refs);
    const headFromLine = parseBlockRef(blocks.at(-1)?.header[finalizedHeadField]) ?? null;
    const heads = [headFromHeaders, headFromLine].filter((head) => head !== null);
    this.#checkFinalized(heads, refs);
    for (const ref of refs) backlog.append(ref);
    for (const head of heads) {
      backlog.finalize(head);
      // A replica may report an older finalized block.
      if (head.number > (this.#finalizedHead?.number ?? -1)) this.#finalizedHead = head;
    }
    this.#isEmptyOnce = false;
    const sent = this.#plan.addsFinalizedHead ? blocks.map(withoutFinalizedHead) : blocks;
    return {
      kind: 'blocks',
      // The types of the blocks depend on the query, which is not known here.
      blocks: sent as unknown as BlocksBatch['blocks'],
      finalizedHead: this.#finalizedHead,
      cursor: backlog.toState(),
    };
  }

  #checkOrder(refs: readonly BlockRef[]): void {
    let next = this.#dependencies.backlog.next;
    for (const { number } of refs) {
      if (number < next || number > (this.#plan.toBlock ?? Infinity)) {
        const detail = `block ${number} arrived where block ${next} or a later one was expected`;
        throw new SluiceError('response-malformed', { detail });
      }
      next = number + 1;
    }
  }

  #checkFinalized(heads: readonly BlockRef[], coming: readonly BlockRef[]): void {
    const other = heads.find((head) => this.#dependencies.backlog.contradicts(head, coming));
    if (other === undefined) return;
    const detail = `finalized block ${other.number} is not the block that was delivered`;
    throw new SluiceError('response-malformed', { detail });
  }

  async #rollBack(url: string, previousBlocks: readonly BlockRef[]): Promise<Batch> {
    const { backlog, requester, attempts, onEvent } = this.#dependencies;
    const from = backlog.tip ?? null;
    const to = await findCommonBlock(backlog, previousBlocks, (slot) =>
      requester.readPage(url, slot),
    );
    if (to.number === from?.number) {
      const detail = `a conflict names block ${to.number}, which was sent as the parent`;
      throw new SluiceError('response-malformed', { detail });
    }
    backlog.rollBackTo(to);
    attempts.progressed();
    this.#newsAtMs = this.#dependencies.clock.nowMs();
    onEvent({ kind: 'rollback', from, to });
    return { kind: 'rollback', to, finalizedHead: this.#finalizedHead, cursor: backlog.toState() };
  }

  /** Limits the request rate to a service that responds immediately, and leaves a replica that makes no progress. */
  async #idle(url: string, startedAtMs: number): Promise<void> {
    const { clock, endpoints } = this.#dependencies;
    const nowMs = clock.nowMs();
    if (nowMs - this.#newsAtMs > quietMsMax) {
      endpoints.leave(url);
      this.#newsAtMs = nowMs;
    }
    const waitMs = idleMsMin - (nowMs - startedAtMs);
    if (waitMs > 0) await clock.sleep(waitMs, this.#signal);
    this.#signal.throwIfAborted();
  }
}

const closingStart = `{"${CLOSING_KEY}":`;

/** Returns the closing record of a response, or undefined if the line is that of a block. */
function parseClosing(line: string): ClosingRecord | undefined {
  if (!line.startsWith(closingStart)) return undefined;
  try {
    const record: { readonly [CLOSING_KEY]: ClosingRecord } = JSON.parse(line);
    return record[CLOSING_KEY];
  } catch (cause) {
    const detail = `the closing record is not JSON: ${line.slice(0, 100)}`;
    throw new SluiceError('response-malformed', { detail, cause });
  }
}

/** Removes the finalized head that the consumer did not select. */
function withoutFinalizedHead(block: ParsedBlock): ParsedBlock {
  if (!(finalizedHeadField in block.header)) return block;
  const { [finalizedHeadField]: _, ...header } = block.header;
  return { ...block, header: header as ParsedBlock['header'] };
}
