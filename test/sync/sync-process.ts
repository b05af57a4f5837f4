import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { repositoryRoot } from '../repository-files.ts';

const command = join(repositoryRoot, 'packages/server/bin/sluice.js');

/** `sluice sync` as a process that can be killed and started again. */
export class SyncProcess {
  readonly #args: readonly string[];
  #child: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  output = '';
  errors = '';

  constructor(args: readonly string[]) {
    this.#args = args;
  }

  start(): this {
    const child = spawn(process.execPath, [command, 'sync', ...this.#args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stdout.on('data', (bytes) => {
      this.output += String(bytes);
    });
    child.stderr.on('data', (bytes) => {
      this.errors += String(bytes);
    });
    this.#ended = once(child, 'close');
    return this;
  }

  get hasEnded(): boolean {
    return this.#child?.exitCode !== null;
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    this.#child?.kill(signal);
    await this.#ended;
  }

  /** Resolves to the exit code. */
  async finish(): Promise<number | null> {
    await this.#ended;
    return this.#child?.exitCode ?? null;
  }
}
