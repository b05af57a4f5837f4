import { assert } from '@sluice/base/assert';
import { isCodedError } from '@sluice/base/errors';
import type { BlockRef } from '@sluice/ledger/block';
import { toBlockHash, toSlot } from '@sluice/ledger/primitives';
import type { HotBlock, SealedSegment } from '../chain/chain-snapshot.ts';
import { firstHotAtOrAfter } from '../chain/find-blocks.ts';
import { takeSegments, totalBelow } from '../chain/segment-lists.ts';
import {
  aheadBytesFloor,
  aheadBytesMax,
  type RunPiece,
} from '../engine/threads/engine-messages.ts';
import type { EnginePool } from '../engine/threads/engine-pool.ts';
import { SegmentFailure } from '../engine/threads/segment-failure.ts';
import type { BlockEvaluator, EvaluatedBlocks, EvaluationJob } from './block-evaluator.ts';
import type { DatasetSegments } from './dataset-segments.ts';
import { LinePiece } from './line-piece.ts';

export interface EngineEvaluatorDependencies {
  /** Shared with other datasets. */
  readonly pool: EnginePool;
  /** Shared with the lookups of the dataset. */
  readonly segments: DatasetSegments;
}

/**
 * The number of slots in the first run of a stream. One thread evaluates it while the others are idle, so that the first line arrives soon:
 * opening a segment in every thread would take the processor from the thread that writes this line. The run also shows how much text a
 * segment yields.
 */
const firstRunSlotCount = 4;
/**
 * The number of segments in the second run, unless the indexes of the first segment show that it has little text. The run is planned from the
 * few blocks of the first one, which may mislead.
 */
const secondRunCountMax = 2;
/**
 * The number of sealed segments in later runs. Between runs the threads wait until the reader has consumed the previous one; within a run
 * they open the next segment as soon as they reach it.
 */
const sealedRunCountMax = 8;
/** If segments yield less text than this, each is evaluated by a single thread, so that each thread opens only its share of them. */
const sparseBytesMax = aheadBytesMax;
/** The text of a part of a segment. A thread may be ahead of the reader by so much, so that no thread waits for another one. */
const partBytesGoal = aheadBytesFloor;
/** How many bytes of text a stored byte yields at most, about: all fields of all records take 14. */
const textExpansion = 16;

/** The number of hot blocks in one run: enough to keep the threads busy, few enough to read ahead. */
const hotRunCountMax = 8;

/** The segments or blocks of one run of the pool. */
interface RunPlan {
  readonly keys: readonly string[];
  readonly partCount?: number | undefined;
  readonly partBlocksMin: number;
  readonly turn: number;
  /** The first and the last slot that the run covers. */
  readonly first: number;
  readonly last: number;
  /** Reports damage of a sealed segment to its dataset. */
  readonly reportDamage?: (failure: SegmentFailure) => void;
  readonly release: () => void;
}

/** How a run is divided among the threads. */
type RunDivision = Pick<RunPlan, 'partBlocksMin' | 'turn'>;

/** Statistics of the finished runs of a stream. */
interface DoneRuns {
  count: number;
  /** How many bytes of text the last run wrote for each of its slots, on average. */
  slotBytes: number;
  /** Which share of the transactions in the last segment may match the query, from 0 to 1. */
  candidateShare: number;
}

interface RunEnd {
  /** The slot to continue from. */
  readonly next: number;
  readonly byteCount: number;
  readonly candidateShare: number;
}

function runCountMax({ count, candidateShare }: DoneRuns, next: SealedSegment | undefined): number {
  const textBytesMax = candidateShare * (next?.byteLength ?? 0) * textExpansion;
  return count <= 1 && textBytesMax > sparseBytesMax ? secondRunCountMax : sealedRunCountMax;
}

/** Evaluates with the engine's threads: sealed segments from their files, hot blocks from the journal. */
export class EngineEvaluator implements BlockEvaluator {
  readonly #pool: EnginePool;
  readonly #segments: DatasetSegments;
  /**
   * Queries of a single block alternate between threads. Loading the block in every thread costs less than evaluating all queries on one
   * thread.
   */
  #nextTurn = 0;

  constructor({ pool, segments }: EngineEvaluatorDependencies) {
    this.#pool = pool;
    this.#segments = segments;
  }

  async *evaluate(job: EvaluationJob): AsyncGenerator<EvaluatedBlocks> {
    let { first } = job;
    const done: DoneRuns = { count: 0, slotBytes: 0, candidateShare: 1 };
    while (first <= job.last) {
      const plan = await this.#plan({ ...job, first }, done);
      if (plan === undefined) return;
      try {
        const { next, byteCount, candidateShare } = yield* this.#runUntilCut(
          { ...job, first },
          plan,
        );
        if (next > plan.last) {
          done.count++;
          done.candidateShare = candidateShare;
          done.slotBytes = byteCount / (plan.last - plan.first + 1);
        }
        first = next;
      } finally {
        plan.release();
      }
    }
  }

  /** Returns the next run of the range, or undefined if the range has no more blocks. */
  async #plan(
    { snapshot, first, last, mayHave }: EvaluationJob,
    done: DoneRuns,
  ): Promise<RunPlan | undefined> {
    const { readList } = this.#segments;
    const wanted = { countMax: sealedRunCountMax, mayHave };
    const next = await takeSegments(snapshot, first, wanted, readList);
    const sealed = next
      .slice(0, runCountMax(done, next[0]))
      .filter((segment) => segment.first.number <= last);
    const [segment] = sealed;
    if (segment !== undefined) {
      // If a query selects little text, each segment is always evaluated by the same thread, so that only this thread opens it.
      const below = await totalBelow(snapshot, segment.first.number, readList);
      const alone = { partBlocksMin: Infinity, turn: below.segmentCount };
      const slotCount = segment.last.number - segment.first.number + 1;
      if (done.count === 0) return this.#planFirst(segment, first, alone);
      const isSparse = done.slotBytes * slotCount <= sparseBytesMax;
      const partBlocksMin = Math.max(1, Math.floor(partBytesGoal / done.slotBytes));
      return this.#planSealed(sealed, isSparse ? alone : { partBlocksMin, turn: 0 });
    }
    const hotFrom = firstHotAtOrAfter(snapshot, first);
    const blocks = snapshot.hot
      .slice(hotFrom, hotFrom + hotRunCountMax)
      .filter(({ header }) => header.number <= last);
    return blocks.length > 0 ? this.#planHot(blocks) : undefined;
  }

  /** Returns what the run did. The slot to continue from is inside the plan if the run was cut for other runs. */
  async *#runUntilCut(
    { selection, first, last, isUrgent, form, signal }: EvaluationJob,
    { keys, partCount, partBlocksMin, turn, last: planLast, reportDamage }: RunPlan,
  ): AsyncGenerator<EvaluatedBlocks, RunEnd> {
    const range = { first, last: Math.min(last, planLast) };
    let next = first;
    let byteCount = 0;
    let candidateShare = 1;
    // A line longer than the engine's buffer comes in several pieces. They are collected, because callers get whole lines.
    let begun: RunPiece[] = [];
    const how = { partCount, partBlocksMin, turn, isUrgent, form, signal };
    const run = this.#pool.run({ selection, range, keys, ...how });
    try {
      for await (const piece of run) {
        if (piece.bytes.length > 0 || piece.deflated !== undefined) begun.push(piece);
        else piece.release();
        byteCount += piece.bytes.length + (piece.deflated?.bytes.length ?? 0);
        if (piece.coverage === undefined) continue;
        const { slot, hash, endsWithLine, headerLine } = piece.coverage;
        candidateShare = piece.coverage.candidateShare;
        const lastCovered: BlockRef = { number: toSlot(slot), hash: toBlockHash(hash) };
        next = slot + 1;
        const lines = begun.length === 0 ? null : joined(begun);
        begun = [];
        yield {
          piece: lines,
          lastCovered,
          endsWithLine,
          headerLine: () => new LinePiece(headerLine),
        };
      }
    } catch (error) {
      if (isCodedError(error, 'engine-run-cut')) return { next, byteCount, candidateShare };
      if (error instanceof SegmentFailure) reportDamage?.(error);
      throw error;
    } finally {
      for (const piece of begun) piece.release();
    }
    assert(begun.length === 0, 'the engine ends on a line');
    return { next: planLast + 1, byteCount, candidateShare };
  }

  /** Returns a run over the first blocks of a stream by one thread. */
  #planFirst(segment: SealedSegment, from: number, how: RunDivision): RunPlan {
    const plan = this.#planSealed([segment], how);
    const first = Math.max(from, plan.first);
    const last = Math.min(plan.last, first + firstRunSlotCount - 1);
    return { ...plan, partCount: 1, first, last };
  }

  #planSealed(segments: readonly SealedSegment[], how: RunDivision): RunPlan {
    const { keys, reportDamage, release } = this.#segments.useSealed(segments);
    const first = segments[0]?.first.number ?? 0;
    const last = segments.at(-1)?.last.number ?? -1;
    return { keys, ...how, first, last, reportDamage, release };
  }

  async #planHot(blocks: readonly HotBlock[]): Promise<RunPlan> {
    const { keys, release } = await this.#segments.useHot(blocks);
    // A block is one row group.
    const parts = { keys, partCount: keys.length, partBlocksMin: 1, turn: this.#nextTurn++ };
    const first = blocks[0]?.header.number ?? 0;
    const last = blocks.at(-1)?.header.number ?? -1;
    return { ...parts, first, last, release };
  }
}

function joined(pieces: readonly RunPiece[]): LinePiece {
  const release = () => {
    for (const piece of pieces) piece.release();
  };
  const parts = pieces.map(({ bytes }) => bytes);
  const deflated = pieces.flatMap(({ deflated }) => deflated ?? []);
  return LinePiece.ofReusable(parts, { release, deflated });
}
