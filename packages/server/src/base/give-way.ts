import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/** About a third of what others get, where there is not enough for all: it must not come to a halt either. */
const niceness = 5;

/**
 * Lets all other threads go first on a machine that is busy: for work that no reader waits for. Where the system has no priority of a
 * thread it does nothing.
 */
export function giveWay(): void {
  try {
    // Of the thread that asks: what is read is `PID/task/ID`.
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    setPriority(id, niceness);
  } catch {
    // Not Linux, or not allowed: it takes turns as any other.
  }
}
