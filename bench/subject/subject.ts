/** Starts and controls the process in which one side is measured. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { workerUrl } from '@sluice/base/worker-url';
import type { Corpus } from './corpus.ts';

export interface SubjectOptions {
  readonly corpus: Corpus;
  readonly side: 'sluice' | 'duckdb';
  readonly threadCount: number;
  readonly cacheBytesMax: number;
}

export interface Task {
  /** The query as JSON. */
  readonly body: object;
  /** The number of blocks per DuckDB statement, or null for all at once. */
  readonly rangeBlockCount: number | null;
  /** The minimum number and duration of timed runs, whose responses are discarded. */
  readonly runCount: number;
  readonly secondsMin: number;
  /** Whether an additional run before them is hashed. */
  readonly isHashed: boolean;
}

export interface Sample {
  readonly wallMs: number;
  /** The CPU time of all threads of the process. */
  readonly cpuMs: number;
  /** The part of the wall-clock time in which the result rows of DuckDB were converted to lines of text; 0 for Sluice. */
  readonly joiningMs: number;
}

export interface TaskResult {
  readonly samples: readonly Sample[];
  readonly answerBytes: number;
  readonly checksum: string;
}

export type SubjectMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly result: TaskResult }
  | { readonly kind: 'failed'; readonly reason: string };

class SubjectFailure extends Error {}

export class Subject {
  readonly #process: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#process = child;
  }

  static async start(options: SubjectOptions): Promise<Subject> {
    const file = fileURLToPath(workerUrl(import.meta.url, './subject-process.ts'));
    const child = fork(file, [JSON.stringify(options)], { stdio: ['ignore', 2, 2, 'ipc'] });
    const subject = new Subject(child);
    await subject.#next('ready');
    return subject;
  }

  async run(task: Task): Promise<TaskResult> {
    const answer = this.#next('done');
    this.#process.send(task);
    return (await answer).result;
  }

  stop(): void {
    this.#process.kill();
  }

  #next<Kind extends 'ready' | 'done'>(
    kind: Kind,
  ): Promise<Extract<SubjectMessage, { kind: Kind }>> {
    return new Promise((resolve, reject) => {
      const child = this.#process;
      const end = (code: number | null) =>
        reject(new SubjectFailure(`the measured process ended with code ${code}`));
      child.once('exit', end);
      child.once('message', (message: SubjectMessage) => {
        child.off('exit', end);
        if (message.kind === kind) resolve(message as Extract<SubjectMessage, { kind: Kind }>);
        else reject(new SubjectFailure('reason' in message ? message.reason : message.kind));
      });
    });
  }
}
