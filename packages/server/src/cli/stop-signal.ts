/** Returns a signal that aborts on the first SIGINT or SIGTERM. The second one ends the process. */
export function stopSignal(): AbortSignal {
  if (listening !== undefined) return listening;
  const stop = new AbortController();
  const abort = () => {
    process.off('SIGINT', abort);
    process.off('SIGTERM', abort);
    listening = undefined;
    stop.abort();
  };
  process.on('SIGINT', abort);
  process.on('SIGTERM', abort);
  listening = stop.signal;
  return listening;
}

/** The same signal is returned for all callers. */
let listening: AbortSignal | undefined;

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
