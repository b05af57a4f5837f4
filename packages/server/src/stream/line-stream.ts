/**
 * The body of a response: stored blocks, then new blocks as they arrive, in pieces of whole lines.
 *
 *   scan ──► at the tip ──► wait ──► scan …       ends: complete, fork, time, quiet, closing, trimmed, fault
 *
 * A stream keeps a position (slot and hash) and no snapshot: each round takes the newest snapshot and continues only if the position
 * is on that chain. However the stream ends, its last line is the line of the last covered block.
 *
 * It is not a generator, because ten thousand streams wake at once, and nested generators took several times as long to pass on a
 * block.
 */
import type { Clock } from '@sluice/base/clock';
import type { ClosingRecord, StreamEnd } from '@sluice/protocol/closing-record';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { isStillOnChain } from '../chain/find-blocks.ts';
import type { DatasetReader, SnapshotLease } from '../dataset/dataset-reader.ts';
import type { TextForm } from '../engine/threads/engine-messages.ts';
import type { Selection } from '../query/query.ts';
import { batchBytesMax } from './block-collector.ts';
import type { BlockEvaluator, EvaluatedBlocks } from './block-evaluator.ts';
import { type StreamRange, tipOf } from './decide-start.ts';
import type { Followers } from './followers.ts';
import type { HeadNews, HeadPosition } from './head-groups.ts';
import { LinePiece } from './line-piece.ts';
import type { SharedEvaluations } from './shared-evaluations.ts';
import type { StreamLimits } from './stream-limits.ts';

export interface StreamDependencies {
  readonly dataset: DatasetReader;
  readonly evaluator: BlockEvaluator;
  readonly shared: SharedEvaluations;
  readonly followers: Followers;
  readonly clock: Clock;
  readonly limits: StreamLimits;
  /** Whether the dataset follows a source. Otherwise a response ends with the last block instead of waiting. */
  readonly isFed: boolean;
  /** Called with a failure after the status was sent, when it cannot be reported to the client any more. */
  readonly reportFault: (error: unknown) => void;
}

export interface LineStreamOptions {
  readonly selection: Selection;
  readonly range: StreamRange;
  /** Ends the response after a whole line. */
  readonly signal: AbortSignal;
  /** Whether the pieces are sent compressed. Compression starts as soon as there is a piece. */
  readonly isDeflated: boolean;
}

/** A running evaluation with the lease on its snapshot. */
interface Scan {
  readonly lease: SnapshotLease;
  readonly last: number;
  readonly startMs: number;
  readonly blocks: AsyncIterator<EvaluatedBlocks>;
}

/** Sends pieces while `next` waits. */
export interface PieceSink {
  /** Sends a piece at once. Returns false if that is impossible; then `next` returns the piece. */
  offer(piece: LinePiece): boolean;
}

export class LineStream {
  readonly #options: LineStreamOptions;
  readonly #dependencies: StreamDependencies;
  /** Pieces that `next` has not returned yet. */
  readonly #ready: LinePiece[] = [];
  readonly #startMs: number;
  #scan: Scan | null = null;
  #end: StreamEnd | null = null;
  #next: number;
  /** The version that is covered up to its tip; null while there are more blocks to scan. */
  #doneVersion: number | null = null;
  #covered: EvaluatedBlocks | null = null;
  /** Whether the last covered block has a line. */
  #isMarked = true;
  #isDelivering = false;
  #lineMs: number;
  #newsMs: number;
  #followSinceMs: number | null = null;
  #sink: PieceSink | undefined;

  constructor(options: LineStreamOptions, dependencies: StreamDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#next = options.range.fromBlock;
    this.#startMs = dependencies.clock.nowMs();
    this.#lineMs = this.#startMs;
    this.#newsMs = this.#startMs;
  }

  /**
   * Evaluates the first blocks, so that a failure can still be reported by a status. They come from the snapshot with which the
   * request was compared; its lease is released here. Returns null if there are lines, or else the reason of the end: `complete` if
   * all slots were skipped.
   */
  async start(lease: SnapshotLease): Promise<StreamEnd | null> {
    try {
      await this.#beginScan(lease);
      while (this.#covered === null && this.#end === null) await this.#step();
      return this.#covered === null ? this.#end : null;
    } catch (error) {
      await this.close();
      // An aborted evaluation may fail.
      if (this.#options.signal.aborted) return 'closing';
      throw error;
    }
  }

  /** Returns what the pieces so far have covered. */
  closingRecord(reason: StreamEnd): ClosingRecord {
    const covered = this.#covered?.lastCovered;
    return {
      reason,
      fromBlock: this.#options.range.fromBlock,
      toBlock: this.#next - 1,
      lastBlock: covered === undefined ? null : { number: covered.number, hash: covered.hash },
    };
  }

  /** Allows that new blocks are sent while `next` waits. */
  sendTo(sink: PieceSink): void {
    this.#sink = sink;
  }

  async next(): Promise<IteratorResult<LinePiece, StreamEnd>> {
    if (this.#isDelivering) this.#lineMs = this.#dependencies.clock.nowMs();
    this.#isDelivering = false;
    for (;;) {
      if (this.#ready.length > 0) {
        this.#isDelivering = true;
        return { done: false, value: this.#takeReady() };
      }
      if (this.#end !== null) {
        await this.#endScan();
        return { done: true, value: this.#end };
      }
      try {
        await this.#step();
      } catch (error) {
        const isAborted = this.#options.signal.aborted;
        if (!isAborted) this.#dependencies.reportFault(error);
        await this.#endScan();
        this.#finish(isAborted ? 'closing' : 'fault');
      }
    }
  }

  /** Returns the pieces for one write. */
  #takeReady(): LinePiece {
    let byteLength = 0;
    const count = this.#ready.findIndex((piece) => {
      byteLength += piece.byteLength;
      return byteLength > batchBytesMax;
    });
    return LinePiece.join(this.#ready.splice(0, count < 0 ? Infinity : Math.max(count, 1)));
  }

  /** Releases everything. A pending `next` ends by the signal. */
  async close(): Promise<void> {
    this.#end ??= 'closing';
    for (const piece of this.#ready.splice(0)) piece.release();
    await this.#endScan();
  }

  /** Returns a promise only if the stream must wait, so that a waiting follower has no suspended function of its own. */
  #step(): Promise<void> | undefined {
    if (this.#scan !== null) return this.#continueScan(this.#scan);
    const { dataset, isFed } = this.#dependencies;
    const { toBlock } = this.#options.range;
    if (toBlock !== undefined && this.#next > toBlock) {
      this.#finish('complete');
      return undefined;
    }
    if (this.#doneVersion === dataset.snapshot().version) {
      if (isFed) return this.#wait(this.#doneVersion);
      this.#finish('complete');
      return undefined;
    }
    const lease = dataset.acquire();
    const verdict = this.#judge(lease.snapshot);
    if (verdict === null) return this.#beginScan(lease);
    lease.release();
    this.#finish(verdict);
    return undefined;
  }

  /** Returns whether the position is on the newer chain and the next blocks are still stored. */
  #judge(snapshot: ChainSnapshot): StreamEnd | null {
    const covered = this.#covered?.lastCovered;
    if (covered === undefined) return null;
    if (snapshot.start === null || snapshot.start > covered.number + 1) return 'trimmed';
    return isStillOnChain(snapshot, covered) ? null : 'fork';
  }

  async #beginScan(lease: SnapshotLease): Promise<void> {
    const { snapshot } = lease;
    const { selection, range, signal, isDeflated } = this.#options;
    const { evaluator, clock, limits } = this.#dependencies;
    const tip = tipOf(snapshot, range.finalizedOnly)?.number ?? -1;
    const last = Math.min(tip, range.toBlock ?? Number.POSITIVE_INFINITY);
    // A short range far below the head is history; no other stream is likely to be there.
    if (tip - this.#next < limits.sharedSlotCountMax) return this.#coverShared(lease, last);
    const form: TextForm = isDeflated ? 'deflated' : 'plain';
    const job = { selection, snapshot, first: this.#next, last, signal, form, isUrgent: false };
    const blocks = evaluator.evaluate(job)[Symbol.asyncIterator]();
    this.#scan = { lease, last, startMs: clock.nowMs(), blocks };
  }

  /** Evaluates new blocks, once for all streams with the same query. */
  async #coverShared({ snapshot, release }: SnapshotLease, last: number): Promise<void> {
    const { selection, isDeflated } = this.#options;
    const { version } = snapshot;
    try {
      if (this.#next > last) return this.#reach(last, version);
      const range = { selection, snapshot, first: this.#next, last, isDeflated };
      const some = await this.#dependencies.shared.evaluateSome(range);
      for (const blocks of some.blocks) this.#cover(blocks);
      this.#reach(some.last, some.last === last ? version : null);
    } finally {
      release();
    }
  }

  async #continueScan(scan: Scan): Promise<void> {
    const { clock, limits } = this.#dependencies;
    const isOld = clock.nowMs() - scan.startMs >= limits.snapshotMsMax;
    if (isOld && this.#covered !== null) {
      this.#doneVersion = null;
      return this.#endScan();
    }
    const result = await scan.blocks.next();
    if (result.done !== true) this.#cover(result.value);
    else await this.#endScan();
    // An aborted evaluation may be incomplete.
    if (this.#options.signal.aborted) {
      await this.#endScan();
      this.#finish('closing');
    } else if (result.done === true) this.#reach(scan.last, scan.lease.snapshot.version);
  }

  async #endScan(): Promise<void> {
    const scan = this.#scan;
    if (scan === null) return;
    this.#scan = null;
    try {
      await scan.blocks.return?.();
    } finally {
      scan.lease.release();
    }
  }

  #cover(blocks: EvaluatedBlocks): void {
    this.#covered = blocks;
    this.#isMarked = blocks.endsWithLine;
    this.#next = blocks.lastCovered.number + 1;
    this.#newsMs = this.#dependencies.clock.nowMs();
    if (blocks.piece !== null) this.#makeReady(blocks.piece);
    this.#markIfDue();
    this.#endIfTooLong();
  }

  #makeReady(piece: LinePiece): void {
    this.#ready.push(piece);
    // The failure is handled where the promise is awaited.
    if (this.#options.isDeflated) piece.deflated().catch(() => undefined);
  }

  /** Marks the skipped slots between the last block and the end of a scan as covered. */
  #reach(last: number, version: number | null): void {
    this.#next = Math.max(this.#next, last + 1);
    this.#doneVersion = version;
  }

  async #wait(version: number): Promise<void> {
    const { clock, dataset, followers, limits } = this.#dependencies;
    const { signal } = this.#options;
    this.#followSinceMs ??= clock.nowMs();
    const position = this.#headPosition();
    const wait = { version, deadlineMs: this.#deadlineMs(), signal };
    const take = (news: HeadNews) => this.#take(news);
    await followers.wait(position === undefined ? wait : { ...wait, atHead: { position, take } });
    if (signal.aborted) return this.#finish('closing');
    this.#markIfDue();
    this.#endIfTooLong();
    // Blocks that arrive together with the deadline are still sent.
    const isNews = dataset.snapshot().version !== this.#doneVersion;
    const isQuiet = clock.nowMs() >= this.#newsMs + limits.quietMsMax;
    if (!isNews && isQuiet) this.#finish('quiet');
  }

  /** Returns the time of the next check without a new block. */
  #deadlineMs(): number {
    const { quietMsMax, markMs } = this.#dependencies.limits;
    const endMs = Math.min(this.#endMs(), this.#newsMs + quietMsMax);
    return this.#isMarked ? endMs : Math.min(endMs, this.#lineMs + markMs);
  }

  /** Takes new blocks and sends them at once if possible, so that the stream need not wake up. */
  #take(news: HeadNews): number | null {
    for (const blocks of news.blocks) this.#cover(blocks);
    this.#reach(news.last, news.version);
    while (this.#ready.length > 0) {
      const piece = this.#takeReady();
      if (this.#sink?.offer(piece) !== true) {
        this.#ready.unshift(piece);
        return null;
      }
      this.#lineMs = this.#dependencies.clock.nowMs();
    }
    return this.#end === null ? this.#deadlineMs() : null;
  }

  /** The position for a group of streams with the same next blocks; none for a bounded range. */
  #headPosition(): HeadPosition | undefined {
    const { selection, range, isDeflated } = this.#options;
    const { finalizedOnly, toBlock } = range;
    const covered = this.#covered?.lastCovered;
    if (covered === undefined || toBlock !== undefined) return undefined;
    return { selection, finalizedOnly, covered, next: this.#next, isDeflated };
  }

  #markIfDue(): void {
    const { clock, limits } = this.#dependencies;
    if (this.#covered === null || this.#isMarked || this.#ready.length > 0) return;
    if (clock.nowMs() - this.#lineMs < limits.markMs) return;
    this.#isMarked = true;
    this.#ready.push(this.#covered.headerLine());
  }

  #endIfTooLong(): void {
    if (this.#dependencies.clock.nowMs() >= this.#endMs()) this.#finish('time');
  }

  /** Returns when the response must end. In the dialect `ledger` a response that does not follow yet has no such time. */
  #endMs(): number {
    const { followMsMax, solanaResponseMsMax } = this.#dependencies.limits;
    const followEndMs = (this.#followSinceMs ?? Infinity) + followMsMax;
    if (this.#options.selection.dialect !== 'solana') return followEndMs;
    return Math.min(followEndMs, this.#startMs + solanaResponseMsMax);
  }

  #finish(end: StreamEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    if (this.#covered !== null && !this.#isMarked) this.#ready.push(this.#covered.headerLine());
    this.#isMarked = true;
  }
}
