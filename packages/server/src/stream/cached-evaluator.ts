import { createHash } from 'node:crypto';
import type { SealedSegment } from '../chain/chain-snapshot.ts';
import { findSegment, type ReadList, takeSegments } from '../chain/segment-lists.ts';
import { queryKey } from '../query/query-key.ts';
import type { AnswerCache } from './answer-cache.ts';
import { BlockCollector } from './block-collector.ts';
import type { BlockEvaluator, EvaluatedBlocks, EvaluationJob } from './block-evaluator.ts';
import { LinePiece } from './line-piece.ts';

export interface CachedEvaluatorDependencies {
  /** The name of the dataset, because datasets share the cache. */
  readonly dataset: string;
  readonly readList: ReadList;
  readonly answers: AnswerCache;
  /** A run of blocks that it returns must not cross the end of a sealed segment. */
  readonly evaluator: BlockEvaluator;
}

/** The maximum number of segments that are looked up at once. Those without a cached answer are evaluated together. */
const searchCountMax = 256;

/** An answer is kept if it is smaller than this share of its segment. A larger one would displace many that save more time. */
const answerShareMax = 1 / 2;

/** The next part of a job: blocks to evaluate, and the cached answer that follows them. */
interface Step {
  /** The last slot to evaluate. */
  readonly last: number;
  readonly cached?: {
    readonly segment: SealedSegment;
    readonly blocks: readonly EvaluatedBlocks[];
  };
}

/** Evaluates like another evaluator, but takes the answers of whole sealed segments from a cache. */
export class CachedEvaluator implements BlockEvaluator {
  readonly #dataset: string;
  readonly #readList: ReadList;
  readonly #answers: AnswerCache;
  readonly #evaluator: BlockEvaluator;
  /** The start of the chain when answers were last dropped. */
  #start = 0;

  constructor({ dataset, readList, answers, evaluator }: CachedEvaluatorDependencies) {
    this.#dataset = dataset;
    this.#readList = readList;
    this.#answers = answers;
    this.#evaluator = evaluator;
  }

  async *evaluate(job: EvaluationJob): AsyncGenerator<EvaluatedBlocks> {
    // `SharedEvaluations` shares the evaluations of streams at the head.
    if (job.isUrgent) {
      yield* this.#evaluator.evaluate(job);
      return;
    }
    this.#dropTrimmed(job.snapshot.start ?? 0);
    const keyOf = this.#makeKeys(job);
    let { first } = job;
    while (first <= job.last) {
      const { last, cached } = await this.#findStep({ ...job, first }, keyOf);
      if (first <= last) yield* this.#evaluateAndKeep({ ...job, first, last }, keyOf);
      if (cached !== undefined) yield* cached.blocks;
      // The range may be unbounded.
      else if (last === job.last) return;
      first = (cached?.segment.last.number ?? last) + 1;
    }
  }

  #dropTrimmed(start: number): void {
    if (start <= this.#start) return;
    this.#start = start;
    this.#answers.dropBelow(start, this.#dataset);
  }

  /** Returns the function that identifies the answer of a segment. The text of a query can be long, so it is hashed. */
  #makeKeys({ selection, form }: EvaluationJob): (segment: SealedSegment) => string {
    const query = createHash('sha256').update(queryKey(selection)).digest('base64');
    return ({ id }) => `${this.#dataset}/${id} ${form} ${query}`;
  }

  async #findStep(job: EvaluationJob, keyOf: (segment: SealedSegment) => string): Promise<Step> {
    const countMax = searchCountMax + 1;
    const { snapshot, first, mayHave } = job;
    const segments = await takeSegments(snapshot, first, { countMax, mayHave }, this.#readList);
    for (const segment of segments.slice(0, searchCountMax)) {
      if (segment.first.number > job.last) break;
      const blocks = isWhole(segment, job) ? this.#answers.get(keyOf(segment)) : undefined;
      if (blocks === undefined) continue;
      return { last: segment.first.number - 1, cached: { segment, blocks } };
    }
    const next = segments[searchCountMax];
    return { last: Math.min(job.last, next === undefined ? job.last : next.first.number - 1) };
  }

  /** Evaluates blocks, and keeps the answers of segments that were requested before. */
  async *#evaluateAndKeep(
    job: EvaluationJob,
    keyOf: (segment: SealedSegment) => string,
  ): AsyncGenerator<EvaluatedBlocks> {
    let segment: SealedSegment | undefined;
    let collector: BlockCollector | undefined;
    for await (const blocks of this.#evaluator.evaluate(job)) {
      const slot = blocks.lastCovered.number;
      if (segment === undefined || slot > segment.last.number) {
        segment = await findSegment(job.snapshot, slot, this.#readList);
        collector = this.#wants(segment, job, keyOf) ? new BlockCollector() : undefined;
      }
      if (segment === undefined || collector === undefined) {
        yield blocks;
        continue;
      }
      const kept = { ...blocks, piece: blocks.piece && LinePiece.keep([blocks.piece]) };
      collector.add(kept);
      if (collector.byteLength > segment.byteLength * answerShareMax) collector = undefined;
      else if (slot === segment.last.number) this.#answers.keep(keyOf(segment), collector.finish());
      yield kept;
    }
  }

  #wants(
    segment: SealedSegment | undefined,
    job: EvaluationJob,
    keyOf: (segment: SealedSegment) => string,
  ): boolean {
    return (
      segment !== undefined && isWhole(segment, job) && this.#answers.recordMiss(keyOf(segment))
    );
  }
}

/** Returns whether all blocks of a segment belong to the job. */
function isWhole({ first, last }: SealedSegment, job: EvaluationJob): boolean {
  return job.first <= first.number && last.number <= job.last;
}
