import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * On a busy machine, niceness 5 leaves a thread about a third of the CPU time of a normal one. It must still make
 * progress.
 */
const niceness = 5;

/**
 * Lowers the scheduling priority of the calling thread. Threads whose work no reader waits for call this. Does nothing
 * on systems without per-thread priorities.
 */
export function lowerThreadPriority(): void {
  try {
    // The link reads `PID/task/ID`, where ID is the calling thread's.
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    setPriority(id, niceness);
  } catch {
    // Not Linux, or not permitted: the thread keeps the normal priority.
  }
}
