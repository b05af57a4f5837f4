import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { linkedController } from '@sluice/base/linked-controller';
import type { Feed, FeedMessage } from './feed.ts';

/** The server that keeps the position of a reader may fail. If no message arrives for this time, reading fails, and the caller tries again. */
const silentMsMax = 6_000;
const stepMs = 250;

/**
 * Yields messages that the feed has, up to `last`. Throws `feed-unreachable` if no message arrives for a while. Ends early if the signal
 * aborts.
 */
export async function* readKnown(
  { first, last }: { readonly first: number; readonly last: number },
  { feed, clock }: { readonly feed: Feed; readonly clock: Clock },
  signal: AbortSignal,
): AsyncGenerator<FeedMessage> {
  if (last < first) return;
  const reading = linkedController(signal);
  let waitingSinceMs = clock.nowMs();
  const watch = async () => {
    while (!reading.signal.aborted) {
      await clock.sleep(stepMs, reading.signal);
      if (clock.nowMs() - waitingSinceMs > silentMsMax) reading.abort();
    }
  };
  const watching = watch();
  try {
    for await (const message of feed.read(first, reading.signal)) {
      // The time that the caller needs for a message does not count.
      waitingSinceMs = Number.POSITIVE_INFINITY;
      yield message;
      waitingSinceMs = clock.nowMs();
      if (message.sequence >= last) return;
    }
  } finally {
    reading.abort();
    await watching;
  }
  if (signal.aborted) return;
  throw new CodedError('feed-unreachable', { operation: 'read', reason: 'no message came' });
}
