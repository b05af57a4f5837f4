import { Worker } from 'node:worker_threads';
import { CodedError } from '../base/errors.ts';
import { workerUrl } from '../base/worker-url.ts';
import type { BlockHeader } from '../ledger/block.ts';
import type { MadeSegment } from './made-segment.ts';

export type MergeRequest =
  | {
      readonly kind: 'append';
      readonly bytes: Uint8Array;
      readonly headers: readonly BlockHeader[] | undefined;
    }
  | { readonly kind: 'finish' };

/** How far the segment has come. */
export interface MergeReply {
  /** What is written of it already; a row group is, once it is full. */
  readonly byteLength: number;
  /** It has reached a bound of its own and should take no more. */
  readonly isFull: boolean;
}

export interface MergeWorkerData {
  /** Whether others are served meanwhile: they go first. */
  readonly givesWay: boolean;
}

/** It makes few objects. A young space that is small is collected before much has gathered. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 } as const;

interface Waiting {
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: CodedError) => void;
}

/**
 * Makes long segments from short ones in a thread of its own, block by block as they come: what is held of a segment
 * that grows is little more than what it will be.
 */
export class SegmentMerger {
  readonly #data: MergeWorkerData;
  #worker: Worker | undefined;
  #waiting: Waiting[] = [];

  constructor(data: MergeWorkerData) {
    this.#data = data;
  }

  /** Appends a segment's blocks, under these headers if given. The bytes are handed over. */
  append(bytes: Uint8Array, headers?: readonly BlockHeader[]): Promise<MergeReply> {
    return this.#ask({ kind: 'append', bytes, headers }, bytes.buffer as ArrayBuffer);
  }

  /** The segment of all that was appended since the last one. */
  finish(): Promise<MadeSegment> {
    return this.#ask({ kind: 'finish' });
  }

  /** Ends the thread. What it has not answered yet is rejected. */
  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #ask<Reply>(request: MergeRequest, moved?: ArrayBuffer): Promise<Reply> {
    this.#worker ??= this.#start();
    this.#worker.postMessage(request, moved === undefined ? [] : [moved]);
    return new Promise<Reply>((resolve, reject) => {
      this.#waiting.push({ resolve: resolve as (reply: unknown) => void, reject });
    });
  }

  #start(): Worker {
    const worker = new Worker(workerUrl(import.meta.url, './merge-worker.ts'), {
      env: {},
      workerData: this.#data,
      resourceLimits,
    });
    worker.on('message', (reply: unknown) => this.#waiting.shift()?.resolve(reply));
    worker.on('error', (cause) =>
      this.#fail(new CodedError('segment-merge-failed', {}, { cause })),
    );
    worker.on('exit', (exitCode) => {
      if (this.#worker === worker) this.#worker = undefined;
      this.#fail(new CodedError('segment-merge-failed', { exitCode }));
    });
    return worker;
  }

  #fail(error: CodedError): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
}
