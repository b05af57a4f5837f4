import { type Clock, systemClock } from '../base/clock.ts';

/** Returns a clock that runs faster by a factor, so that delays and timeouts keep their proportions. */
export function scaledClock(factor: number): Clock {
  return {
    nowMs: () => systemClock.nowMs() * factor,
    unixMs: systemClock.unixMs,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
  };
}
