/** The time source that components receive, so that a test can control time. */
export interface Clock {
  /** Returns monotonic milliseconds, for durations and deadlines only. */
  nowMs(): number;
  /**
   * Returns wall-clock milliseconds since the Unix epoch, for display and for comparison with ledger timestamps. Not
   * for ordering events.
   */
  unixMs(): number;
  /** Resolves after `ms` milliseconds, or immediately when the signal aborts. */
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
