/**
 * Invariants of our own code. A failed assertion is a bug. Faults of the environment (bad input, a full disk, a failing
 * source) are coded errors instead.
 *
 * A failure is reported before it is thrown, so that it is logged even where errors are caught. In the main thread, which has
 * the state of the service, it ends the process. A worker thread only computes results for a request, which fails.
 */
import { BroadcastChannel } from 'node:worker_threads';

/** Carries failures from worker threads to the main thread. */
const channelName = 'sluice-failed-assertions';

let report = (text: string): void => {
  const channel = new BroadcastChannel(channelName);
  channel.postMessage(text);
  channel.close();
};

export interface AssertionWatcher {
  /** Called with each failure in the thread of the caller. */
  readonly onFailed: (text: string) => void;
  /** Called with each failure in another thread. */
  readonly onFailedElsewhere: (text: string) => void;
}

/** Reports failed assertions of all threads, until the returned function is called. */
export function watchAssertions({ onFailed, onFailedElsewhere }: AssertionWatcher): () => void {
  const reportBefore = report;
  report = onFailed;
  const channel = new BroadcastChannel(channelName);
  channel.onmessage = ({ data }: { data: unknown }) => onFailedElsewhere(String(data));
  channel.unref();
  return () => {
    report = reportBefore;
    channel.close();
  };
}

/** Asserts an invariant. */
export function assert(condition: boolean, invariant: string): asserts condition {
  if (!condition) throw fail(invariant);
}

/**
 * Marks the unreachable default of a switch over a union. The compiler reports an error as soon as a member of the
 * union is not handled.
 */
export function unreachable(value: never): never {
  throw fail(`unreachable value ${String(value)}`);
}

export class AssertionError extends Error {
  override readonly name = 'AssertionError';
}

function fail(invariant: string): AssertionError {
  const error = new AssertionError(invariant);
  report(error.stack ?? error.message);
  return error;
}
