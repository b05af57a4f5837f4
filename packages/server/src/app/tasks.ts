import { setMaxListeners } from 'node:events';

/** Tasks that run until the process ends. They stop together, and a failure of one ends all. */
export class Tasks {
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];

  constructor() {
    // Every loop of every task listens to the signal, which is not a leak.
    setMaxListeners(0, this.#stop.signal);
  }

  run(task: (signal: AbortSignal) => Promise<void>): void {
    const running = task(this.#stop.signal);
    // The failure is handled below, where the promise is awaited.
    running.catch(() => undefined);
    this.#running.push(running);
  }

  /** Resolves when the signal aborts. Rejects as soon as a task fails, which ends the process. */
  async untilFailed(signal: AbortSignal): Promise<void> {
    const failed = Promise.all(this.#running).then(() => undefined);
    const stopped = new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.race([failed, stopped]);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }
}
