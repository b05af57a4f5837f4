import type { Clock } from '@sluice/base/clock';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { BlockEvaluator } from './block-evaluator.ts';
import { FinalizedHeadEvaluator } from './finalized-head-evaluator.ts';
import { Followers } from './followers.ts';
import type { StreamDependencies } from './line-stream.ts';
import { type OpenedStream, type OpenStreamOptions, openStream } from './open-stream.ts';
import { SharedEvaluations } from './shared-evaluations.ts';
import type { StreamLimits } from './stream-limits.ts';

export interface DatasetStreamsDependencies {
  readonly dataset: DatasetReader;
  readonly evaluator: BlockEvaluator;
  readonly clock: Clock;
  readonly reportFault: (error: unknown) => void;
}

/** The streams of one dataset and their shared state. */
export class DatasetStreams {
  readonly #dependencies: StreamDependencies;

  constructor(limits: StreamLimits, dependencies: DatasetStreamsDependencies) {
    const { dataset, clock } = dependencies;
    const evaluator = new FinalizedHeadEvaluator(dependencies.evaluator);
    const shared = new SharedEvaluations({ bytesMax: limits.sharedBytesMax }, evaluator);
    const followers = new Followers(limits, { dataset, clock, shared });
    const isFed = dataset.description.realTime;
    this.#dependencies = { ...dependencies, evaluator, followers, shared, limits, isFed };
  }

  get waiterCount(): number {
    return this.#dependencies.followers.count;
  }

  open(options: OpenStreamOptions): Promise<OpenedStream> {
    return openStream(options, this.#dependencies);
  }

  /** Wakes followers until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#dependencies.followers.run(signal);
  }
}
