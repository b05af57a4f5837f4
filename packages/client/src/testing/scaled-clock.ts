import { type Clock, systemClock } from '../clock.ts';

/** Returns a clock on which a second passes in a fraction of one, so that waits and timeouts keep their proportions. */
export function scaledClock(factor: number): Clock {
  return {
    nowMs: () => systemClock.nowMs() * factor,
    unixMs: systemClock.unixMs,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
  };
}
