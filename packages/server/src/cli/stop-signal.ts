/** Aborts on the first SIGINT or SIGTERM. The second one finds nobody listening and ends the process. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  const abort = () => {
    process.off('SIGINT', abort);
    process.off('SIGTERM', abort);
    stop.abort();
  };
  process.on('SIGINT', abort);
  process.on('SIGTERM', abort);
  return stop.signal;
}

export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
