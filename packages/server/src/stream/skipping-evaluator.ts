import type { ChainSnapshot, SealedSegment } from '../chain/chain-snapshot.ts';
import { type MayHave, type ReadList, segmentsDownFrom } from '../chain/segment-lists.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { BlockEvaluator, EvaluatedBlocks, EvaluationJob } from './block-evaluator.ts';
import { conditionsOf, openHistoryFilter } from './history-filter.ts';

export interface SkippingEvaluatorDependencies {
  readonly dataset: DatasetReader;
  readonly evaluator: BlockEvaluator;
}

/**
 * After this many slots without a line, the indexes over segments are read. A query that selects something in most segments never pays for
 * them.
 */
const emptySlotsMax = 16;

/** Evaluates like another evaluator, but skips the segments in which the query can select nothing. */
export class SkippingEvaluator implements BlockEvaluator {
  readonly #dataset: DatasetReader;
  readonly #evaluator: BlockEvaluator;

  constructor({ dataset, evaluator }: SkippingEvaluatorDependencies) {
    this.#dataset = dataset;
    this.#evaluator = evaluator;
  }

  async *evaluate(job: EvaluationJob): AsyncGenerator<EvaluatedBlocks> {
    const isIndexed = !job.isUrgent && job.snapshot.indexes.length > 0;
    if (!isIndexed || conditionsOf(job.selection) === undefined) {
      yield* this.#evaluator.evaluate(job);
      return;
    }
    const next = yield* this.#untilEmpty(job);
    if (next === undefined) return;
    const mayHave = await openSegmentFilter(job, this.#dataset);
    yield* this.#evaluator.evaluate({ ...job, first: next, ...(mayHave && { mayHave }) });
  }

  /** Evaluates until there was no line for a while. Returns where to continue, or undefined if everything is evaluated. */
  async *#untilEmpty(job: EvaluationJob): AsyncGenerator<EvaluatedBlocks, number | undefined> {
    let emptyFrom = job.first;
    for await (const blocks of this.#evaluator.evaluate(job)) {
      yield blocks;
      const { number } = blocks.lastCovered;
      if (blocks.piece !== null) emptyFrom = number + 1;
      else if (number - emptyFrom >= emptySlotsMax) return number + 1;
    }
    return undefined;
  }
}

/**
 * Returns the function that says which segments of a range a query needs, or undefined if the indexes exclude none. The last segment is
 * needed in any case, because the last block of a range is always covered.
 */
export async function openSegmentFilter(
  { selection, snapshot, last }: Pick<EvaluationJob, 'selection' | 'snapshot' | 'last'>,
  dataset: Pick<DatasetReader, 'findSlots' | 'readList'>,
): Promise<MayHave | undefined> {
  const conditions = conditionsOf(selection);
  if (conditions === undefined) return undefined;
  const filter = await openHistoryFilter(conditions, snapshot, dataset);
  if (filter === undefined) return undefined;
  const final = await lastSegment(snapshot, last, dataset.readList);
  return (run) =>
    filter(run) ||
    (final !== undefined &&
      run.first.number <= final.first.number &&
      run.last.number >= final.last.number);
}

async function lastSegment(
  snapshot: ChainSnapshot,
  slot: number,
  readList: ReadList,
): Promise<SealedSegment | undefined> {
  for await (const segment of segmentsDownFrom(snapshot, slot, readList)) return segment;
  return undefined;
}
