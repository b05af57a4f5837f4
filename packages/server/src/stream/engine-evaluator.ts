import { assert } from '../base/assert.ts';
import { isCodedError } from '../base/errors.ts';
import type { HotBlock, SealedSegment } from '../chain/chain-snapshot.ts';
import { firstHotAtOrAfter, firstSegmentEndingAtOrAfter } from '../chain/find-blocks.ts';
import { aheadBytesMax, type PartUnit, type RunPiece } from '../engine/engine-messages.ts';
import type { EnginePool } from '../engine/engine-pool.ts';
import { SegmentFailure } from '../engine/segment-failure.ts';
import type { BlockRef } from '../ledger/block.ts';
import type { BlockHash, Slot } from '../ledger/primitives.ts';
import type { BlockEvaluator, EvaluatedBlocks, EvaluationJob } from './block-evaluator.ts';
import type { DatasetSegments } from './dataset-segments.ts';
import { LinePiece } from './line-piece.ts';

export interface EngineEvaluatorModules {
  /** Shared with other datasets. */
  readonly pool: EnginePool;
  /** Shared with the lookups of the dataset. */
  readonly segments: DatasetSegments;
}

/**
 * Sealed segments evaluated by one run. Between runs the threads wait until the reader has taken all of the one before; within
 * one they open a segment when they come to it. The first run of a stream has one segment: all threads work on it, so that its first
 * lines come soon, and it shows how much text a segment gives.
 */
const sealedRunCountMax = 8;
/** Segments that give less text than this are each done by one thread, which then opens half of them. */
const sparseBytesMax = aheadBytesMax;

/** Hot blocks evaluated by one run: enough to keep the threads busy, few enough to read ahead. */
const hotRunCountMax = 8;

/** What one run of the pool goes over. */
interface RunPlan {
  readonly keys: readonly string[];
  readonly partCount?: number | undefined;
  readonly unit: PartUnit;
  readonly turn: number;
  /** The last slot that it covers. */
  readonly last: number;
  /** Where a fault of a segment is one of the dataset. */
  readonly reportDamage?: (failure: SegmentFailure) => void;
  readonly release: () => void;
}

/** Answers by the engine's threads: sealed segments from their files, hot blocks from the bytes of the journal. */
export class EngineEvaluator implements BlockEvaluator {
  readonly #pool: EnginePool;
  readonly #segments: DatasetSegments;
  /** Queries of one block take turns: loading it in every thread is less than one thread's answers to all of them. */
  #nextTurn = 0;

  constructor({ pool, segments }: EngineEvaluatorModules) {
    this.#pool = pool;
    this.#segments = segments;
  }

  async *evaluate(job: EvaluationJob): AsyncGenerator<EvaluatedBlocks> {
    let { first } = job;
    let segmentBytes: number | undefined;
    while (first <= job.last) {
      const plan = await this.#plan({ ...job, first }, segmentBytes);
      if (plan === undefined) return;
      try {
        const { next, byteCount } = yield* this.#runUntilCut({ ...job, first }, plan);
        if (next > plan.last) segmentBytes = byteCount / plan.keys.length;
        first = next;
      } finally {
        plan.release();
      }
    }
  }

  /** What to run over first; undefined if there is nothing in the range. `segmentBytes` is what a segment gave in the run before. */
  async #plan(
    { snapshot, first, last }: EvaluationJob,
    segmentBytes: number | undefined,
  ): Promise<RunPlan | undefined> {
    const { segments, hot } = snapshot;
    const from = firstSegmentEndingAtOrAfter(snapshot, first);
    const countMax = segmentBytes === undefined ? 1 : sealedRunCountMax;
    const sealed = segments
      .slice(from, from + countMax)
      .filter((segment) => segment.first.number <= last);
    if (sealed.length > 0) {
      const isSparse = segmentBytes !== undefined && segmentBytes <= sparseBytesMax;
      // A segment is always done by the same thread.
      return this.#planSealed(
        sealed,
        isSparse ? { unit: 'segment', turn: from } : { unit: 'group', turn: 0 },
      );
    }
    const hotFrom = firstHotAtOrAfter(snapshot, first);
    const blocks = hot
      .slice(hotFrom, hotFrom + hotRunCountMax)
      .filter(({ header }) => header.number <= last);
    return blocks.length > 0 ? this.#planHot(blocks) : undefined;
  }

  /** Returns where to go on, which is within the plan if the run had to make room for others, and how many bytes came. */
  async *#runUntilCut(
    { selection, first, last, isUrgent, form, signal }: EvaluationJob,
    { keys, partCount, unit, turn, last: planLast, reportDamage }: RunPlan,
  ): AsyncGenerator<EvaluatedBlocks, { next: number; byteCount: number }> {
    const range = { first, last };
    let next = first;
    let byteCount = 0;
    // A line longer than the engine's buffer comes in several pieces; what is handed on is whole lines.
    let begun: RunPiece[] = [];
    const how = { partCount, unit, turn, isUrgent, form, signal };
    const run = this.#pool.run({ selection, range, keys, ...how });
    try {
      for await (const piece of run) {
        if (piece.bytes.length > 0 || piece.deflated !== undefined) begun.push(piece);
        else piece.release();
        byteCount += piece.bytes.length + (piece.deflated?.bytes.length ?? 0);
        if (piece.coverage === undefined) continue;
        const { slot, hash, endsWithLine, headerLine } = piece.coverage;
        const lastCovered: BlockRef = { number: slot as Slot, hash: hash as BlockHash };
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
      if (isCodedError(error, 'engine-run-cut')) return { next, byteCount };
      if (error instanceof SegmentFailure) reportDamage?.(error);
      throw error;
    } finally {
      for (const piece of begun) piece.release();
    }
    assert(begun.length === 0, 'the engine ends on a line');
    return { next: planLast + 1, byteCount };
  }

  #planSealed(segments: readonly SealedSegment[], how: Pick<RunPlan, 'unit' | 'turn'>): RunPlan {
    const { keys, reportDamage, release } = this.#segments.useSealed(segments);
    const last = segments.at(-1)?.last.number ?? -1;
    return { keys, ...how, last, reportDamage, release };
  }

  async #planHot(blocks: readonly HotBlock[]): Promise<RunPlan> {
    const { keys, release } = await this.#segments.useHot(blocks);
    // A block is one row group.
    const parts = { keys, partCount: keys.length, unit: 'group', turn: this.#nextTurn++ } as const;
    const last = blocks.at(-1)?.header.number ?? -1;
    return { ...parts, last, release };
  }
}

function joined(pieces: readonly RunPiece[]): LinePiece {
  const release = () => {
    for (const piece of pieces) piece.release();
  };
  const parts = pieces.map(({ bytes }) => bytes);
  const deflated = pieces.flatMap(({ deflated }) => deflated ?? []);
  return LinePiece.ofLent(parts, { release, deflated });
}
