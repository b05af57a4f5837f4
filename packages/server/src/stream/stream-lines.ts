/**
 * The body of a response: stored blocks, then new ones as they come, in pieces of whole lines.
 *
 *   scan ──► at the tip ──► wait ──► scan …       ends: complete, fork, time, quiet, closing, trimmed, fault
 *
 * It holds a position (slot and hash), not a state: each round takes the newest snapshot and goes on only if the position
 * is on that chain. However it ends, the last line is that of the last block covered.
 */
import type { Clock } from '../base/clock.ts';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { isStillOnChain } from '../chain/find-blocks.ts';
import type { DatasetReader, SnapshotLease } from '../dataset/dataset-reader.ts';
import type { Selection } from '../query/query.ts';
import type { BlockEvaluator, EvaluatedBlocks } from './block-evaluator.ts';
import { type StreamRange, tipOf } from './decide-start.ts';
import type { Followers } from './followers.ts';
import { LinePiece } from './line-piece.ts';
import type { SharedEvaluations } from './shared-evaluations.ts';
import type { StreamLimits } from './stream-limits.ts';

export type StreamEnd = 'complete' | 'fork' | 'time' | 'quiet' | 'closing' | 'trimmed' | 'fault';

export interface StreamModules {
  readonly dataset: DatasetReader;
  readonly evaluator: BlockEvaluator;
  readonly shared: SharedEvaluations;
  readonly followers: Followers;
  readonly clock: Clock;
  readonly limits: StreamLimits;
  /** Told of what broke after the status was sent, when no client can be told any more. */
  readonly reportFault: (error: unknown) => void;
}

export interface StreamLinesOptions {
  readonly selection: Selection;
  readonly range: StreamRange;
  /** The state the request was judged by; the first blocks come from it. Released here. */
  readonly lease: SnapshotLease;
  /** Ends the response after a whole line. */
  readonly signal: AbortSignal;
}

/** How far a response is. */
interface Progress {
  next: number;
  covered: EvaluatedBlocks | null;
  /** The covered block already has its line. */
  isMarked: boolean;
  lineMs: number;
  newsMs: number;
  followSinceMs: number | null;
}

/** Tells that the first run was read and verified, where it gave no line: the status can go out. */
const nothingYet = new LinePiece(new Uint8Array(0));

export async function* streamLines(
  options: StreamLinesOptions,
  modules: StreamModules,
): AsyncGenerator<LinePiece, StreamEnd> {
  const nowMs = modules.clock.nowMs();
  const progress: Progress = {
    next: options.range.fromBlock,
    covered: null,
    isMarked: true,
    lineMs: nowMs,
    newsMs: nowMs,
    followSinceMs: null,
  };
  let end: StreamEnd;
  try {
    end = yield* advance(options, modules, progress);
  } catch (error) {
    // Before the first run the request can still be refused; after it there is only an early end.
    if (progress.covered === null) throw error;
    modules.reportFault(error);
    end = 'fault';
  }
  if (progress.covered !== null && !progress.isMarked) yield progress.covered.headerLine();
  return end;
}

async function* advance(
  options: StreamLinesOptions,
  modules: StreamModules,
  progress: Progress,
): AsyncGenerator<LinePiece, StreamEnd> {
  let { lease } = options;
  for (;;) {
    const end =
      (yield* scanLeased(lease, options, { modules, progress })) ??
      (yield* waitAtTip(lease.snapshot, options, { modules, progress }));
    if (end !== undefined) return end;
    lease = modules.dataset.acquire();
    const verdict = judge(lease.snapshot, progress);
    if (verdict === undefined) continue;
    lease.release();
    return verdict;
  }
}

/** The last slot that a response may cover in a state; -1 if there is none. */
function lastOf(snapshot: ChainSnapshot, range: StreamRange): number {
  const tip = tipOf(snapshot, range.finalizedOnly)?.number ?? -1;
  return range.toBlock === undefined ? tip : Math.min(tip, range.toBlock);
}

interface Work {
  readonly modules: StreamModules;
  readonly progress: Progress;
}

async function* scanLeased(
  lease: SnapshotLease,
  options: StreamLinesOptions,
  { modules, progress }: Work,
): Pieces {
  try {
    const { snapshot } = lease;
    const last = lastOf(snapshot, options.range);
    if (progress.next > last) return undefined;
    return yield* scan(options, modules, { snapshot, progress, last });
  } finally {
    lease.release();
  }
}

async function* waitAtTip(
  snapshot: ChainSnapshot,
  options: StreamLinesOptions,
  work: Work,
): Pieces {
  const { range } = options;
  if (work.progress.next <= lastOf(snapshot, range)) return undefined;
  if (range.toBlock !== undefined && work.progress.next > range.toBlock) return 'complete';
  return yield* waitForNews(snapshot.version, options, work);
}

/** Whether the position of a response is on a newer chain, and what follows it is still stored. */
function judge(snapshot: ChainSnapshot, progress: Progress): StreamEnd | undefined {
  const covered = progress.covered?.lastCovered;
  if (covered === undefined) return undefined;
  if (snapshot.start === null || snapshot.start > covered.number + 1) return 'trimmed';
  return isStillOnChain(snapshot, covered) ? undefined : 'fork';
}

interface ScanPart {
  readonly snapshot: ChainSnapshot;
  readonly progress: Progress;
  readonly last: number;
}

type Pieces = AsyncGenerator<LinePiece, StreamEnd | undefined>;

/** Covers up to `last`, or less if a newer state should be taken first. */
async function* scan(options: StreamLinesOptions, modules: StreamModules, part: ScanPart): Pieces {
  const { clock, limits } = modules;
  const { progress, last } = part;
  const startMs = clock.nowMs();
  for await (const blocks of evaluate(options, modules, part)) {
    const isFirst = progress.covered === null;
    progress.covered = blocks;
    progress.isMarked = blocks.endsWithLine;
    progress.next = blocks.lastCovered.number + 1;
    progress.newsMs = clock.nowMs();
    if (blocks.piece !== null) {
      yield blocks.piece;
      progress.lineMs = clock.nowMs();
    } else if (isFirst) yield nothingYet;
    yield* markProgress(modules, progress);
    if (options.signal.aborted) return 'closing';
    if (isFollowedTooLong(modules, progress)) return 'time';
    if (clock.nowMs() - startMs >= limits.snapshotMsMax && progress.next <= last) return undefined;
  }
  // An evaluation that was told to stop may have stopped short.
  if (options.signal.aborted) return 'closing';
  // The slots between the last block and the end of the range are skipped, and covered with it.
  progress.next = last + 1;
  return undefined;
}

async function* evaluate(
  { selection, signal }: StreamLinesOptions,
  { evaluator, shared, limits }: StreamModules,
  { snapshot, progress, last }: ScanPart,
): AsyncGenerator<EvaluatedBlocks> {
  const job = { selection, snapshot, first: progress.next, last };
  const isNearHead = last - progress.next < limits.sharedSlotCountMax;
  if (isNearHead && progress.followSinceMs !== null) yield* await shared.evaluate(job);
  else yield* evaluator.evaluate({ ...job, signal });
}

async function* markProgress(
  { clock, limits }: StreamModules,
  progress: Progress,
): AsyncGenerator<LinePiece, void> {
  if (progress.covered === null || progress.isMarked) return;
  if (clock.nowMs() - progress.lineMs < limits.markMs) return;
  progress.isMarked = true;
  yield progress.covered.headerLine();
  progress.lineMs = clock.nowMs();
}

function isFollowedTooLong({ clock, limits }: StreamModules, progress: Progress): boolean {
  if (progress.followSinceMs === null) return false;
  return clock.nowMs() - progress.followSinceMs >= limits.followMsMax;
}

async function* waitForNews(
  version: number,
  { signal }: StreamLinesOptions,
  { modules, progress }: Work,
): Pieces {
  const { clock, dataset, followers, limits } = modules;
  progress.followSinceMs ??= clock.nowMs();
  const quietEndMs = progress.newsMs + limits.quietMsMax;
  const endMs = Math.min(progress.followSinceMs + limits.followMsMax, quietEndMs);
  const markMs = progress.isMarked ? endMs : progress.lineMs + limits.markMs;
  await followers.wait({ version, deadlineMs: Math.min(endMs, markMs), signal });
  yield* markProgress(modules, progress);
  if (signal.aborted) return 'closing';
  if (isFollowedTooLong(modules, progress)) return 'time';
  // What came together with the deadline is still delivered.
  const isNews = dataset.snapshot().version !== version;
  return !isNews && clock.nowMs() >= quietEndMs ? 'quiet' : undefined;
}
