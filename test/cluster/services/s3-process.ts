import { type Child, waitUntil } from './child.ts';

/** The process of an object store that answers requests. A test may break it. */
export interface S3Process {
  readonly port: number;
  signal(signal: NodeJS.Signals): void;
  /** Starts it again after it was killed. */
  restart(): void;
  stop(): Promise<void>;
}

/** Starts a process and waits until it answers requests of any kind. */
export async function startS3Process(
  what: string,
  port: number,
  start: () => Child,
): Promise<S3Process> {
  let child = start();
  await waitUntil(
    `${what} starts`,
    async () => (await fetch(`http://127.0.0.1:${port}`).catch(() => undefined)) !== undefined,
  );
  return {
    port,
    signal: (signal) => child.process.kill(signal),
    restart: () => {
      child = start();
    },
    stop: () => child.stop('SIGKILL'),
  };
}
