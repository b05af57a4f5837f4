import { type Clock, systemClock } from '../../base/clock.ts';

const factor = 20;

/** Time runs twenty times as fast, so that what takes a minute is seen within seconds. */
export const fastClock: Clock = {
  nowMs: () => systemClock.nowMs() * factor,
  unixMs: () => systemClock.unixMs(),
  sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
};
