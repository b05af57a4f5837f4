import { type Clock, systemClock } from '../../base/clock.ts';

const factor = 20;
const beatMs = 2;

interface Sleeper {
  readonly endMs: number;
  readonly wake: () => void;
}

const sleepers = new Set<Sleeper>();
let nowMs = 0;
/** It stands still while nobody sleeps. */
let beating = Promise.resolve();

/**
 * Each beat is one round of the loop at least, so that whatever else takes the processor away for a while takes little of this time: the node
 * and who follows it are of this process, and neither may find the other late for what a machine does.
 */
async function beat(): Promise<void> {
  while (sleepers.size > 0) {
    await systemClock.sleep(beatMs);
    nowMs += beatMs * factor;
    for (const { endMs, wake } of [...sleepers]) if (endMs <= nowMs) wake();
  }
}

/** Time runs twenty times as fast, so that what takes a minute is seen within seconds. */
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
