import { type Clock, systemClock } from '@sluice/base/clock';

const factor = 20;
const beatMs = 2;

interface Sleeper {
  readonly endMs: number;
  readonly wake: () => void;
}

const sleepers = new Set<Sleeper>();
let nowMs = 0;
/** The clock stands still while no task sleeps. */
let beating = Promise.resolve();

/**
 * Each tick takes at least one turn of the event loop. The simulated node and its follower run in this process, so a pause of the process
 * must not make one appear late to the other.
 */
async function beat(): Promise<void> {
  while (sleepers.size > 0) {
    await systemClock.sleep(beatMs);
    nowMs += beatMs * factor;
    for (const { endMs, wake } of [...sleepers]) if (endMs <= nowMs) wake();
  }
}

/** A clock that runs twenty times as fast, so that a minute passes within seconds. */
export const fastClock: Clock = {
  nowMs: () => nowMs,
  unixMs: () => systemClock.unixMs(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const wake = () => {
        sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper: Sleeper = { endMs: nowMs + ms, wake };
      sleepers.add(sleeper);
      if (sleepers.size === 1) beating = beating.then(beat);
      signal?.addEventListener('abort', wake, { once: true });
    }),
};
