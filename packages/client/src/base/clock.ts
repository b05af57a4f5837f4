/** The clock that a client uses, which tests replace. */
export interface Clock {
  /** Monotonic milliseconds, for durations and deadlines. */
  nowMs(): number;
  /** Milliseconds since 1970, for dates in `Retry-After`. */
  unixMs(): number;
  /** Resolves after `ms`, or immediately when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  nowMs: () => performance.now(),
  unixMs: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const finish = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', finish);
        resolve();
      };
      const timer = setTimeout(finish, ms);
      signal?.addEventListener('abort', finish, { once: true });
    }),
};
