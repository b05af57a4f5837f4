import { Worker } from 'node:worker_threads';
import { CodedError } from '@sluice/base/errors';
import { workerUrl } from '@sluice/base/worker-url';
import type { BlockHeader } from '@sluice/ledger/block';
import type { BuiltSegment } from './built-segment.ts';

export type MergeRequest =
  | {
      readonly kind: 'append';
      readonly bytes: Uint8Array;
      readonly headers: readonly BlockHeader[] | undefined;
    }
  | { readonly kind: 'append-draft'; readonly bytes: Uint8Array; readonly header: BlockHeader }
  | { readonly kind: 'finish' };

export interface MergeReply {
  /** The bytes written so far. A row group is written when it is full. */
  readonly byteLength: number;
  /** Whether the segment has reached one of its limits and should get no more blocks. */
  readonly isFull: boolean;
}

export interface MergeWorkerData {
  /**
   * Full if nothing else is more urgent. Low runs at a low priority, because the process also serves requests. Paced also rests most of the
   * time.
   */
  readonly speed: 'full' | 'low' | 'paced';
}

/** The thread allocates few objects. A small young generation is collected before much garbage accumulates. */
const resourceLimits = { maxYoungGenerationSizeMb: 8 } as const;

interface PendingReply {
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: CodedError) => void;
}

/**
 * Merges short segments into long ones in a worker thread, incrementally: the thread holds little more than the growing
 * segment itself.
 */
export class SegmentMerger {
  readonly #data: MergeWorkerData;
  #worker: Worker | undefined;
  #pending: PendingReply[] = [];

  constructor(data: MergeWorkerData) {
    this.#data = data;
  }

  /** Appends a segment's blocks, with these headers if given. Takes ownership of the bytes. */
  append(bytes: Uint8Array, headers?: readonly BlockHeader[]): Promise<MergeReply> {
    return this.#request({ kind: 'append', bytes, headers }, bytes.buffer as ArrayBuffer);
  }

  /** Appends the block of a draft in shared memory. The caller may reuse the memory after the reply. */
  appendDraft(bytes: Uint8Array, header: BlockHeader): Promise<MergeReply> {
    return this.#request({ kind: 'append-draft', bytes, header });
  }

  /** Returns the segment of all blocks appended since the last call. */
  finish(): Promise<BuiltSegment> {
    return this.#request({ kind: 'finish' });
  }

  /** Ends the thread. Pending calls are rejected. */
  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #request<Reply>(request: MergeRequest, transferred?: ArrayBuffer): Promise<Reply> {
    this.#worker ??= this.#start();
    this.#worker.postMessage(request, transferred === undefined ? [] : [transferred]);
    return new Promise<Reply>((resolve, reject) => {
      this.#pending.push({ resolve: resolve as (reply: unknown) => void, reject });
    });
  }

  #start(): Worker {
    const worker = new Worker(workerUrl(import.meta.url, './merge-worker.ts'), {
      env: {},
      // Options of the parent process, such as a test runner's, do not apply to the thread.
      execArgv: [],
      workerData: this.#data,
      resourceLimits,
    });
    worker.on('message', (reply: unknown) => this.#pending.shift()?.resolve(reply));
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
    for (const { reject } of this.#pending.splice(0)) reject(error);
  }
}
