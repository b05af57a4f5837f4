import type { Clock } from '@sluice/base/clock';
import { isCodedError } from '@sluice/base/errors';
import type { Logger } from 'pino';
import type { FeedPosition } from './bucket-manifest.ts';
import type { Feed } from './feed.ts';

export interface FeedTrimmerDependencies {
  readonly feed: Feed;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Messages stay for readers that are this many manifests behind. */
const keptCount = 4;
/**
 * The interval between two attempts. A nearly full feed accepts no blocks, so without a new attempt after a failure there would be no
 * new manifest, and no blocks ever again.
 */
const trimEveryMs = 1_000;

/** Removes messages from a feed that no recent manifest needs. */
export class FeedTrimmer {
  readonly #dependencies: FeedTrimmerDependencies;
  /** The first message that each of the newest manifests needs, oldest first. */
  #needed: number[] = [];
  /** Messages below this sequence were removed. */
  #removedBelow = 0;

  constructor(dependencies: FeedTrimmerDependencies) {
    this.#dependencies = dependencies;
  }

  /** Records the position of a new manifest. */
  advance({ sequence, blocks }: FeedPosition): void {
    this.#needed.push(Math.min(sequence, ...blocks.map(([first]) => first)));
    this.#needed = this.#needed.slice(-keptCount - 1);
  }

  /** Removes messages at an interval until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.trim();
      await this.#dependencies.clock.sleep(trimEveryMs, signal);
    }
  }

  /** Removes the messages that are not needed now. A failure is logged. */
  async trim(): Promise<void> {
    const { feed, log } = this.#dependencies;
    // When the feed is nearly full, storing new blocks is more important than serving readers that lag behind.
    const first = this.#needed.at(feed.isNearlyFull ? -1 : -keptCount - 1);
    if (first === undefined || first <= this.#removedBelow) return;
    try {
      await feed.purgeBelow(first);
      this.#removedBelow = first;
    } catch (error) {
      if (!isCodedError(error)) throw error;
      log.warn({ code: error.code }, error.message);
    }
  }
}
