import type { Logger } from 'pino';
import { isCodedError } from '../base/errors.ts';
import type { FeedPosition } from './bucket-manifest.ts';
import type { Feed } from './feed.ts';

/** Messages stay for readers that are this many manifests behind. */
const keptCount = 4;

/** Removes messages from a feed that no recent manifest needs. */
export class FeedTrimmer {
  readonly #feed: Feed;
  readonly #log: Logger;
  /** The first message that each of the newest manifests needs, oldest first. */
  #needed: number[] = [];

  constructor(feed: Feed, log: Logger) {
    this.#feed = feed;
    this.#log = log;
  }

  /** Called with the position of each new manifest. A failure is logged, because the next manifest removes more. */
  async advance({ sequence, blocks }: FeedPosition): Promise<void> {
    this.#needed.push(Math.min(sequence, ...blocks.map(([one]) => one)));
    // When the feed is nearly full, storing new blocks is more important than serving readers that lag behind.
    const count = this.#feed.isNearlyFull ? 1 : keptCount + 1;
    this.#needed = this.#needed.slice(-keptCount - 1);
    const first = this.#needed.at(-count);
    if (first === undefined) return;
    try {
      await this.#feed.purgeBelow(first);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      this.#log.warn({ code: error.code }, error.message);
    }
  }
}
