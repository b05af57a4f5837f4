import { setMaxListeners } from 'node:events';

/** What runs for as long as the process: started together, stopped together, and a failure of one is everyone's. */
export class Tasks {
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];

  constructor() {
    // Every loop of every task listens to it; that is no leak.
    setMaxListeners(0, this.#stop.signal);
  }

  run(task: (signal: AbortSignal) => Promise<void>): void {
    const running = task(this.#stop.signal);
    // It is awaited below; until then a failure is not unhandled, only not looked at yet.
    running.catch(() => undefined);
    this.#running.push(running);
  }

  /** Resolves when the signal aborts; rejects as soon as a task fails, which none may without ending the process. */
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
