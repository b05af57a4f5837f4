/**
 * The body of a response: stored blocks, then new ones as they come, in pieces of whole lines.
 *
 *   scan ──► at the tip ──► wait ──► scan …       ends: complete, fork, time, quiet, closing, trimmed, fault
 *
 * It holds a position (slot and hash), not a state: each round takes the newest snapshot and goes on only if the position
 * is on that chain. However it ends, the last line is that of the last block covered.
 *
 * It is an object with a `next` and no generator, because ten thousand of these wake at once: nested generators took
 * several times as long to pass a block on.
 */
import type { Clock } from '../base/clock.ts';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { isStillOnChain } from '../chain/find-blocks.ts';
import type { DatasetReader, SnapshotLease } from '../dataset/dataset-reader.ts';
import type { TextForm } from '../engine/engine-messages.ts';
import type { Selection } from '../query/query.ts';
import type { BlockEvaluator, EvaluatedBlocks } from './block-evaluator.ts';
import { type StreamRange, tipOf } from './decide-start.ts';
import type { Followers } from './followers.ts';
import type { HeadNews, HeadPlace } from './head-groups.ts';
import { LinePiece } from './line-piece.ts';
import { batchBytesMax, type SharedEvaluations } from './shared-evaluations.ts';
import type { StreamLimits } from './stream-limits.ts';

export type StreamEnd = 'complete' | 'fork' | 'time' | 'quiet' | 'closing' | 'trimmed' | 'fault';

export interface StreamModules {
  readonly dataset: DatasetReader;
  readonly evaluator: BlockEvaluator;
  readonly shared: SharedEvaluations;
  readonly followers: Followers;
  readonly clock: Clock;
  readonly limits: StreamLimits;
  /** Whether any source brings new blocks; if not, a response ends with the last block instead of waiting. */
  readonly isFed: boolean;
  /** Told of what broke after the status was sent, when no client can be told any more. */
  readonly reportFault: (error: unknown) => void;
}

export interface LineStreamOptions {
  readonly selection: Selection;
  readonly range: StreamRange;
  /** Ends the response after a whole line. */
  readonly signal: AbortSignal;
  /** Whether the pieces are sent compressed: that begins as soon as there is one. */
  readonly isDeflated: boolean;
}

/** An evaluation under way, over one leased state. */
interface Scan {
  readonly lease: SnapshotLease;
  readonly last: number;
  readonly startMs: number;
  readonly blocks: AsyncIterator<EvaluatedBlocks>;
}

/** Where lines can be sent while somebody waits for the next piece. */
export interface PieceSink {
  /** Sends a piece at once; false if that cannot be, and it is to be asked for. */
  offer(piece: LinePiece): boolean;
}

export class LineStream {
  readonly #options: LineStreamOptions;
  readonly #modules: StreamModules;
  /** Pieces that are made and not taken yet. */
  readonly #ready: LinePiece[] = [];
  #scan: Scan | null = null;
  #end: StreamEnd | null = null;
  #next: number;
  /** The version of the state that is covered up to its tip; null while there is more to scan. */
  #doneVersion: number | null = null;
  #covered: EvaluatedBlocks | null = null;
  /** The covered block already has its line. */
  #isMarked = true;
  #isDelivering = false;
  #lineMs: number;
  #newsMs: number;
  #followSinceMs: number | null = null;
  #sink: PieceSink | undefined;

  constructor(options: LineStreamOptions, modules: StreamModules) {
    this.#options = options;
    this.#modules = modules;
    this.#next = options.range.fromBlock;
    this.#lineMs = modules.clock.nowMs();
    this.#newsMs = this.#lineMs;
  }

  /**
   * Evaluates the first blocks, so that what fails there can still be told by a status. They come from the state the request
   * was judged by, which is released here. Returns null if there are any, else how it ended without: `complete` where every
   * slot was skipped.
   */
  async start(lease: SnapshotLease): Promise<StreamEnd | null> {
    try {
      await this.#beginScan(lease);
      while (this.#covered === null && this.#end === null) await this.#step();
      return this.#covered === null ? this.#end : null;
    } catch (error) {
      await this.close();
      // An evaluation that was told to stop may say so by failing.
      if (this.#options.signal.aborted) return 'closing';
      throw error;
    }
  }

  /** From now on new blocks may be sent while `next` waits for them. */
  sendTo(sink: PieceSink): void {
    this.#sink = sink;
  }

  async next(): Promise<IteratorResult<LinePiece, StreamEnd>> {
    if (this.#isDelivering) this.#lineMs = this.#modules.clock.nowMs();
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
        const isTold = this.#options.signal.aborted;
        if (!isTold) this.#modules.reportFault(error);
        await this.#endScan();
        this.#finish(isTold ? 'closing' : 'fault');
      }
    }
  }

  /** All that one write should hold of what is ready. */
  #takeReady(): LinePiece {
    let byteLength = 0;
    const count = this.#ready.findIndex((piece) => {
      byteLength += piece.byteLength;
      return byteLength > batchBytesMax;
    });
    return LinePiece.join(this.#ready.splice(0, count < 0 ? Infinity : Math.max(count, 1)));
  }

  /** Lets go of everything. A `next` under way ends by the signal. */
  async close(): Promise<void> {
    this.#end ??= 'closing';
    for (const piece of this.#ready.splice(0)) piece.release();
    await this.#endScan();
  }

  /** What it has to wait for, if anything: no frame of its own for as long as a follower waits. */
  #step(): Promise<void> | undefined {
    if (this.#scan !== null) return this.#continueScan(this.#scan);
    const { dataset, isFed } = this.#modules;
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

  /** Whether the position is on a newer chain, and what follows it is still stored. */
  #judge(snapshot: ChainSnapshot): StreamEnd | null {
    const covered = this.#covered?.lastCovered;
    if (covered === undefined) return null;
    if (snapshot.start === null || snapshot.start > covered.number + 1) return 'trimmed';
    return isStillOnChain(snapshot, covered) ? null : 'fork';
  }

  async #beginScan(lease: SnapshotLease): Promise<void> {
    const { snapshot } = lease;
    const { selection, range, signal, isDeflated } = this.#options;
    const { evaluator, clock, limits } = this.#modules;
    const tip = tipOf(snapshot, range.finalizedOnly)?.number ?? -1;
    const last = Math.min(tip, range.toBlock ?? Number.POSITIVE_INFINITY);
    // A short range far below the head is history as a long one is: nobody else is just there.
    if (tip - this.#next < limits.sharedSlotCountMax) return this.#coverShared(lease, last);
    const form: TextForm = isDeflated ? 'deflated' : 'plain';
    const job = { selection, snapshot, first: this.#next, last, signal, form, isUrgent: false };
    const blocks = evaluator.evaluate(job)[Symbol.asyncIterator]();
    this.#scan = { lease, last, startMs: clock.nowMs(), blocks };
  }

  /** New blocks, which all who ask the same have evaluated once. */
  async #coverShared({ snapshot, release }: SnapshotLease, last: number): Promise<void> {
    const { selection, isDeflated } = this.#options;
    const { version } = snapshot;
    try {
      if (this.#next > last) return this.#reach(last, version);
      const range = { selection, snapshot, first: this.#next, last, isDeflated };
      const some = await this.#modules.shared.evaluateSome(range);
      for (const blocks of some.blocks) this.#cover(blocks);
      this.#reach(some.last, some.last === last ? version : null);
    } finally {
      release();
    }
  }

  async #continueScan(scan: Scan): Promise<void> {
    const { clock, limits } = this.#modules;
    const isOld = clock.nowMs() - scan.startMs >= limits.snapshotMsMax;
    if (isOld && this.#covered !== null) {
      this.#doneVersion = null;
      return this.#endScan();
    }
    const result = await scan.blocks.next();
    if (result.done !== true) this.#cover(result.value);
    else await this.#endScan();
    // An evaluation that was told to stop may have stopped short.
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
    this.#newsMs = this.#modules.clock.nowMs();
    if (blocks.piece !== null) this.#makeReady(blocks.piece);
    this.#markIfDue();
    this.#endIfFollowedTooLong();
  }

  #makeReady(piece: LinePiece): void {
    this.#ready.push(piece);
    // What fails here fails again where it is awaited.
    if (this.#options.isDeflated) piece.deflated().catch(() => undefined);
  }

  /** Slots without a block between the last one and the end of a scan are skipped, and covered with it. */
  #reach(last: number, version: number | null): void {
    this.#next = Math.max(this.#next, last + 1);
    this.#doneVersion = version;
  }

  async #wait(version: number): Promise<void> {
    const { clock, dataset, followers, limits } = this.#modules;
    const { signal } = this.#options;
    this.#followSinceMs ??= clock.nowMs();
    const place = this.#place();
    const wait = { version, deadlineMs: this.#deadlineMs(), signal };
    const take = (news: HeadNews) => this.#take(news);
    await followers.wait(place === undefined ? wait : { ...wait, atHead: { place, take } });
    if (signal.aborted) return this.#finish('closing');
    this.#markIfDue();
    this.#endIfFollowedTooLong();
    // What came together with the deadline is still delivered.
    const isNews = dataset.snapshot().version !== this.#doneVersion;
    const isQuiet = clock.nowMs() >= this.#newsMs + limits.quietMsMax;
    if (!isNews && isQuiet) this.#finish('quiet');
  }

  /** When to look what is due although nothing came. */
  #deadlineMs(): number {
    const { quietMsMax, markMs } = this.#modules.limits;
    const followEndMs = (this.#followSinceMs ?? this.#newsMs) + this.#followMsMax();
    const endMs = Math.min(followEndMs, this.#newsMs + quietMsMax);
    return this.#isMarked ? endMs : Math.min(endMs, this.#lineMs + markMs);
  }

  /** Covers what is new and sends it on where the reader can have it at once: then there is nothing to wake up for. */
  #take(news: HeadNews): number | null {
    for (const blocks of news.blocks) this.#cover(blocks);
    this.#reach(news.last, news.version);
    while (this.#ready.length > 0) {
      const piece = this.#takeReady();
      if (this.#sink?.offer(piece) !== true) {
        this.#ready.unshift(piece);
        return null;
      }
      this.#lineMs = this.#modules.clock.nowMs();
    }
    return this.#end === null ? this.#deadlineMs() : null;
  }

  /** Where others may be who will get the same; none for a range with an end of its own. */
  #place(): HeadPlace | undefined {
    const { selection, range, isDeflated } = this.#options;
    const { finalizedOnly, toBlock } = range;
    const covered = this.#covered?.lastCovered;
    if (covered === undefined || toBlock !== undefined) return undefined;
    return { selection, finalizedOnly, covered, next: this.#next, isDeflated };
  }

  #markIfDue(): void {
    const { clock, limits } = this.#modules;
    if (this.#covered === null || this.#isMarked || this.#ready.length > 0) return;
    if (clock.nowMs() - this.#lineMs < limits.markMs) return;
    this.#isMarked = true;
    this.#ready.push(this.#covered.headerLine());
  }

  #endIfFollowedTooLong(): void {
    if (this.#followSinceMs === null) return;
    const followedMs = this.#modules.clock.nowMs() - this.#followSinceMs;
    if (followedMs >= this.#followMsMax()) this.#finish('time');
  }

  #followMsMax(): number {
    const { followMsMax, solanaFollowMsMax } = this.#modules.limits;
    if (this.#options.selection.dialect !== 'solana') return followMsMax;
    return Math.min(followMsMax, solanaFollowMsMax);
  }

  #finish(end: StreamEnd): void {
    if (this.#end !== null) return;
    this.#end = end;
    if (this.#covered !== null && !this.#isMarked) this.#ready.push(this.#covered.headerLine());
    this.#isMarked = true;
  }
}
