import { Worker } from 'node:worker_threads';
import { workerUrl } from '@sluice/base/worker-url';
import { refusal, type SourceResult } from '../refusal.ts';
import type { Poster, PosterOptions, PostReply, PostRequest } from './http-poster.ts';

export type ToFetchThread =
  | {
      readonly kind: 'post';
      readonly id: number;
      readonly server: PosterOptions;
      readonly request: PostRequest;
    }
  | { readonly kind: 'cancel'; readonly id: number }
  /** The memory of a reply that is no longer used. */
  | { readonly kind: 'spare'; readonly buffer: SharedArrayBuffer };

export interface FromFetchThread {
  readonly id: number;
  readonly result: SourceResult<PostReply>;
}

const threadEnded = refusal('outage', 'the fetch thread has ended');

/** The thread has few objects: those of the open requests. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 } as const;

type Settle = (result: SourceResult<PostReply>) => void;

/** Sends requests from a worker thread that all sources share. The thread starts with the first request and after a crash. */
export class FetchThread {
  #worker: Worker | undefined;
  readonly #waiting = new Map<number, Settle>();
  #nextId = 0;
  #isClosed = false;

  /** Returns a poster for one server. */
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

  /** Ends the thread. Open requests fail as an outage. */
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
  ): Promise<SourceResult<PostReply>> {
    if (this.#isClosed) return Promise.resolve(threadEnded);
    const id = this.#nextId++;
    this.#worker ??= this.#start();
    const worker = this.#worker;
    worker.postMessage({ kind: 'post', id, server, request } satisfies ToFetchThread);
    return new Promise((resolve) => {
      const cancel = () => {
        worker.postMessage({ kind: 'cancel', id } satisfies ToFetchThread);
        settle(refusal('outage', 'no response in time'));
      };
      const settle: Settle = (result) => {
        signal.removeEventListener('abort', cancel);
        this.#waiting.delete(id);
        resolve(result);
      };
      this.#waiting.set(id, settle);
      signal.addEventListener('abort', cancel, { once: true });
      if (signal.aborted) cancel();
    });
  }

  #start(): Worker {
    // The thread does not inherit the environment and the options of the process.
    const url = workerUrl(import.meta.url, './fetch-worker.ts');
    const worker = new Worker(url, { env: {}, execArgv: [], resourceLimits });
    worker.on('message', ({ id, result }: FromFetchThread) => {
      const settle = this.#waiting.get(id);
      if (settle !== undefined) settle(result);
      // The reply came after the timeout.
      else if (result.kind === 'ok') this.#giveBack(result.value.bytes);
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
