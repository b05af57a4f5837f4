import { readlinkSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';

/**
 * On a busy machine, a niceness of 5 more leaves a thread about a third of the CPU time of a normal one. It must still make
 * progress.
 */
const nicenessStep = 5;
/** The lowest priority of the system. */
const nicenessMax = 19;

/**
 * Lowers the scheduling priority of the calling thread. Threads whose work no reader waits for call this. Does nothing
 * on systems without per-thread priorities.
 */
export function lowerThreadPriority(): void {
  try {
    // The link reads `PID/task/ID`, where ID is the id of the calling thread.
    const id = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    setPriority(id, Math.min(nicenessMax, getPriority(id) + nicenessStep));
  } catch {
    // On other systems than Linux, or without the permission, the thread keeps the normal priority.
  }
}
