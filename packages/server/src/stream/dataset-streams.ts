import type { Clock } from '@sluice/base/clock';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { BlockEvaluator } from './block-evaluator.ts';
import { FinalizedHeadEvaluator } from './finalized-head-evaluator.ts';
import { Followers } from './followers.ts';
import type { StreamModules } from './line-stream.ts';
import { type OpenedStream, type OpenStreamOptions, openStream } from './open-stream.ts';
import { SharedEvaluations } from './shared-evaluations.ts';
import type { StreamLimits } from './stream-limits.ts';

export interface DatasetStreamsModules {
  readonly dataset: DatasetReader;
  readonly evaluator: BlockEvaluator;
  readonly clock: Clock;
  readonly reportFault: (error: unknown) => void;
}

/** The streams of one dataset and their shared state. */
export class DatasetStreams {
  readonly #modules: StreamModules;

  constructor(limits: StreamLimits, modules: DatasetStreamsModules) {
    const { dataset, clock } = modules;
    const evaluator = new FinalizedHeadEvaluator(modules.evaluator);
    const shared = new SharedEvaluations({ bytesMax: limits.sharedBytesMax }, evaluator);
    const followers = new Followers(limits, { dataset, clock, shared });
    const isFed = dataset.description.realTime;
    this.#modules = { ...modules, evaluator, followers, shared, limits, isFed };
  }

  get waiterCount(): number {
    return this.#modules.followers.count;
  }

  open(options: OpenStreamOptions): Promise<OpenedStream> {
    return openStream(options, this.#modules);
  }

  /** Wakes followers until the signal aborts. */
  run(signal: AbortSignal): Promise<void> {
    return this.#modules.followers.run(signal);
  }
}
