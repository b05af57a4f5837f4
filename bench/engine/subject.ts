/** The process in which one side is measured, and the door to it. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { workerUrl } from '@sluice/server/dist/base/worker-url.js';
import type { Corpus } from './corpus.ts';

export interface SubjectOptions {
  readonly corpus: Corpus;
  readonly side: 'sluice' | 'duckdb';
  /** Cold: nothing is open or decoded when a task comes. Warm: the rival's tables are in memory. */
  readonly mode: 'cold' | 'warm';
  readonly threadCount: number;
  readonly cacheBytesMax: number;
}

export interface Task {
  /** The JSON of the query. */
  readonly body: object;
  /** Blocks a statement of the rival; null for all at once. */
  readonly rangeBlockCount: number | null;
  /** Timed runs, the answer thrown away: as many, and for as long. */
  readonly runCount: number;
  readonly secondsMin: number;
  /** Whether a run before those is hashed. */
  readonly isHashed: boolean;
}

export interface Sample {
  readonly wallMs: number;
  /** Of all threads of the process. */
  readonly cpuMs: number;
  /** The part of the wall time in which arrays of records were joined to lines. */
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

export class SubjectFailure extends Error {}

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
      const end = (code: number | null) => reject(new SubjectFailure(`a subject ended: ${code}`));
      child.once('exit', end);
      child.once('message', (message: SubjectMessage) => {
        child.off('exit', end);
        if (message.kind === kind) resolve(message as Extract<SubjectMessage, { kind: Kind }>);
        else reject(new SubjectFailure('reason' in message ? message.reason : message.kind));
      });
    });
  }
}
