/** The time of the browser. No other file of the application reads a clock or sets a timer. */
export const clock = {
  /** Milliseconds since 1970. */
  unixMs: (): number => Date.now(),

  /** Milliseconds since the page was opened. */
  nowMs: (): number => performance.now(),

  /** Resolves after the time, or as soon as the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      signal?.addEventListener('abort', done, { once: true });
      if (signal?.aborted === true) done();
    });
  },
};
