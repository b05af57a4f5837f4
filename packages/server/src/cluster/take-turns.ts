/**
 * The life of a process that may write: it follows the feed until it has the lease, catches up, leads until it loses the
 * lease or is fenced, and then follows again.
 */
import type { Clock } from '@sluice/base/clock';
import { type CodedError, isCodedError } from '@sluice/base/errors';
import { linkedController } from '@sluice/base/linked-controller';
import type { Feed, Lease } from './feed.ts';
import type { Replica } from './replica.ts';

export interface TakeTurnsDependencies {
  readonly replica: Replica;
  readonly feed: Feed;
  readonly clock: Clock;
  /** The work of a leader. It ends soon after the signal aborts. */
  readonly work: (signal: AbortSignal) => Promise<void>;
  readonly onTurn: (isLeading: boolean) => void;
  /** Called when a turn ended with an error. */
  readonly onFault: (error: CodedError) => void;
}

/** The delay after a failed turn. It is longer than the interval at which other processes try, so one of them gets the lease. */
const restMs = 2_000;
/**
 * How long commits that wait at the end of a turn may still be published. A feed that responds needs milliseconds. With a slow one, the rest
 * is left to the next writer, which loads the blocks from the sources again.
 */
export const lastCommitsMsMax = 2_000;

/** Runs until the signal aborts. `holder` names this process among the writers. */
export async function takeTurns(
  holder: string,
  dependencies: TakeTurnsDependencies,
  signal: AbortSignal,
): Promise<void> {
  const { clock, onFault } = dependencies;
  while (!signal.aborted) {
    try {
      const lease = await followUntilLeased(holder, dependencies, signal);
      if (lease !== undefined) await lead(lease, dependencies, signal);
    } catch (error) {
      // Without the missing messages the process cannot continue. A restart uses a newer manifest.
      if (!isCodedError(error) || error.code === 'feed-gap') throw error;
      onFault(error);
      await clock.sleep(restMs, signal);
    }
  }
}

/** Follows the feed until this process gets the lease, which is returned; undefined if the signal aborted first. If following fails, it throws and holds no lease. */
async function followUntilLeased(
  holder: string,
  { replica, feed }: TakeTurnsDependencies,
  signal: AbortSignal,
): Promise<Lease | undefined> {
  const stop = linkedController(signal);
  const following = replica.follow(stop.signal);
  const acquiring = feed.acquireLease(holder, stop.signal);
  // If following fails, nothing awaits the lease.
  acquiring.catch(() => undefined);
  try {
    await Promise.race([acquiring, following]);
  } finally {
    stop.abort();
    await following.catch(async (error: unknown) => {
      const lease = await acquiring.catch(() => undefined);
      await lease?.release();
      throw error;
    });
  }
  return acquiring;
}

async function lead(
  lease: Lease,
  dependencies: TakeTurnsDependencies,
  signal: AbortSignal,
): Promise<void> {
  const { replica, clock, work, onTurn } = dependencies;
  const turn = linkedController(signal);
  const ended = new AbortController();
  const end = () => turn.abort();
  lease.signal.addEventListener('abort', end, { once: true });
  try {
    await replica.catchUp(turn.signal);
    if (turn.signal.aborted || lease.signal.aborted) return;
    await replica.lead(end);
    onTurn(true);
    turn.signal.addEventListener('abort', async () => {
      await clock.sleep(lastCommitsMsMax, ended.signal);
      if (!ended.signal.aborted) replica.unlead();
    });
    if (!turn.signal.aborted) await work(turn.signal);
  } finally {
    turn.abort();
    ended.abort();
    replica.unlead();
    onTurn(false);
    await lease.release();
  }
}
