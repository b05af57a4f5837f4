import { Worker } from 'node:worker_threads';
import { workerUrl } from '../../base/worker-url.ts';
import { type Answer, refusal } from '../refusal.ts';
import type { Poster, PosterOptions, PostReply, PostRequest } from './http-poster.ts';

export type ToFetchThread =
  | {
      readonly kind: 'post';
      readonly id: number;
      readonly server: PosterOptions;
      readonly request: PostRequest;
    }
  | { readonly kind: 'cancel'; readonly id: number }
  /** Memory of a reply that nobody reads any more. */
  | { readonly kind: 'spare'; readonly buffer: SharedArrayBuffer };

export interface FromFetchThread {
  readonly id: number;
  readonly answer: Answer<PostReply>;
}

const threadEnded = refusal('outage', 'the thread that fetches has ended');

/** Its objects are those of requests under way, which are few. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 } as const;

type Settle = (answer: Answer<PostReply>) => void;

/** Posts from a thread of its own, one for all sources. It starts with the first post; one that died starts again. */
export class FetchThread {
  #worker: Worker | undefined;
  readonly #waiting = new Map<number, Settle>();
  #nextId = 0;
  #isClosed = false;

  /** The way to one server. The thread is closed as a whole. */
  poster(server: PosterOptions): Poster {
    return {
      post: (request, signal) => this.#post(server, request, signal),
      giveBack: (bytes) => this.#giveBack(bytes),
    };
  }

  #giveBack({ buffer }: Uint8Array): void {
    if (!(buffer instanceof SharedArrayBuffer)) return;
    this.#worker?.postMessage({ kind: 'spare', buffer } satisfies ToFetchThread);
  }

  /** What is under way is an outage. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const worker = this.#worker;
    this.#worker = undefined;
    this.#fail();
    await worker?.terminate();
  }

  #post(
    server: PosterOptions,
    request: PostRequest,
    signal: AbortSignal,
  ): Promise<Answer<PostReply>> {
    if (this.#isClosed) return Promise.resolve(threadEnded);
    const id = this.#nextId++;
    this.#worker ??= this.#start();
    const worker = this.#worker;
    worker.postMessage({ kind: 'post', id, server, request } satisfies ToFetchThread);
    return new Promise((resolve) => {
      const cancel = () => {
        worker.postMessage({ kind: 'cancel', id } satisfies ToFetchThread);
        settle(refusal('outage', 'no answer in time'));
      };
      const settle: Settle = (answer) => {
        signal.removeEventListener('abort', cancel);
        this.#waiting.delete(id);
        resolve(answer);
      };
      this.#waiting.set(id, settle);
      signal.addEventListener('abort', cancel, { once: true });
      if (signal.aborted) cancel();
    });
  }

  #start(): Worker {
    // Neither the environment nor the options of whoever started us are a thread's business.
    const url = workerUrl(import.meta.url, './fetch-worker.ts');
    const worker = new Worker(url, { env: {}, execArgv: [], resourceLimits });
    worker.on('message', ({ id, answer }: FromFetchThread) => {
      const settle = this.#waiting.get(id);
      if (settle !== undefined) settle(answer);
      // It came too late.
      else if (answer.kind === 'ok') this.#giveBack(answer.value.bytes);
    });
    const lose = () => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#fail();
    };
    worker.on('error', lose).on('exit', lose);
    return worker;
  }

  #fail(): void {
    for (const settle of [...this.#waiting.values()]) settle(threadEnded);
  }
}
