/**
 * Normalizes blocks in worker threads, so that blocks do not delay the main thread.
 *
 *   normalize(slot, bytes) ─► waiting (bounded) ─► a free worker, one block at a time ─► the caller's promise
 *
 * If a worker dies, only its current block fails. The worker is replaced on demand.
 */
import { Worker } from 'node:worker_threads';
import { assert } from '@sluice/base/assert';
import { CodedError, knownDetail } from '@sluice/base/errors';
import { workerUrl } from '@sluice/base/worker-url';
import type { Slot } from '@sluice/ledger/primitives';
import type { BlockFormat } from '../source.ts';
import type { NormalizedBlock } from './normalize-block.ts';
import type { NormalizeOptions } from './normalize-options.ts';
import type { NormalizeReply, NormalizeRequest } from './serve-normalizer.ts';

export interface NormalizerPoolOptions {
  readonly workerCount: number;
  /** Limits of the blocks that wait for a worker. More blocks are rejected. */
  readonly waitingCountMax: number;
  readonly waitingBytesMax: number;
  readonly normalize: Partial<NormalizeOptions>;
  /** A file that calls `serveNormalizer`; by default the one that returns records. */
  readonly workerUrl: URL;
  /** Passed to that file as `workerData`. */
  readonly workerData?: unknown;
}

const normalizerPoolDefaults: NormalizerPoolOptions = {
  workerCount: 1,
  waitingCountMax: 256,
  waitingBytesMax: 256 * 1024 * 1024,
  normalize: {},
  workerUrl: workerUrl(import.meta.url, './normalize-worker.ts'),
};

/**
 * Workers create few objects, which die young. A small young generation stays in the processor's caches and is collected often
 * enough to free the bytes of the blocks.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 16 } as const;

/** More than the number of blocks that are processed at the same time. */
const spareCountMax = 32;

interface Task<Value> {
  readonly slot: Slot;
  readonly bytes: Uint8Array;
  readonly format: BlockFormat;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: Error) => void;
}

interface PoolWorker<Value> {
  worker: Worker | undefined;
  task: Task<Value> | undefined;
}

export class NormalizerPool<Value = NormalizedBlock> {
  readonly #options: NormalizerPoolOptions;
  readonly #workers: PoolWorker<Value>[];
  readonly #waiting: Task<Value>[] = [];
  /** Shared memory that can be reused for results. */
  readonly #spares: SharedArrayBuffer[] = [];
  #waitingBytes = 0;
  #isClosed = false;

  constructor(options: Partial<NormalizerPoolOptions> = {}) {
    this.#options = { ...normalizerPoolDefaults, ...options };
    const { workerCount } = this.#options;
    assert(workerCount >= 1, 'a pool has at least one worker');
    this.#workers = Array.from({ length: workerCount }, () => ({
      worker: undefined,
      task: undefined,
    }));
  }

  /**
   * Normalizes a block. Bytes that fill their buffer are transferred to the worker, and the caller must not use them any more. Shared
   * memory can be reused when the promise settles. Rejects with the coded error if the block is invalid.
   */
  normalize(slot: Slot, bytes: Uint8Array, format: BlockFormat = 'node'): Promise<Value> {
    if (this.#isClosed) return Promise.reject(new CodedError('block-pool-closed', { slot }));
    const { waitingCountMax, waitingBytesMax } = this.#options;
    const isFull =
      this.#waiting.length >= waitingCountMax ||
      (this.#waiting.length > 0 && this.#waitingBytes + bytes.length > waitingBytesMax);
    if (isFull) {
      const waiting = this.#waiting.length;
      return Promise.reject(new CodedError('block-pool-full', { slot, waiting }));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ slot, bytes, format, resolve, reject });
      this.#waitingBytes += bytes.length;
      this.#assign();
    });
  }

  /** Takes back the shared memory of a result that is no longer used, so that a worker can reuse it. */
  giveBack({ buffer }: Uint8Array): void {
    if (buffer instanceof SharedArrayBuffer && this.#spares.length < spareCountMax) {
      this.#spares.push(buffer);
    }
  }

  /** Ends the threads. Unfinished blocks are rejected. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { slot, reject } of this.#waiting.splice(0)) {
      reject(new CodedError('block-pool-closed', { slot }));
    }
    this.#waitingBytes = 0;
    await Promise.all(
      this.#workers.map(async (entry) => {
        const { worker } = entry;
        entry.worker = undefined;
        this.#fail(entry, (slot) => new CodedError('block-pool-closed', { slot }));
        await worker?.terminate();
      }),
    );
  }

  #assign(): void {
    for (const entry of this.#workers) {
      if (this.#isClosed || entry.task !== undefined) continue;
      const task = this.#waiting.shift();
      if (task === undefined) return;
      this.#waitingBytes -= task.bytes.length;
      entry.task = task;
      entry.worker ??= this.#start(entry);
      const bytes = ownBytes(task.bytes);
      const request: NormalizeRequest = {
        slot: task.slot,
        bytes,
        format: task.format,
        options: this.#options.normalize,
        spare: this.#spares.pop(),
      };
      const { buffer } = bytes;
      entry.worker.postMessage(request, buffer instanceof ArrayBuffer ? [buffer] : []);
    }
  }

  #start(entry: PoolWorker<Value>): Worker {
    // The worker does not inherit the environment of the process.
    const { workerUrl: url, workerData } = this.#options;
    const worker = new Worker(url, { env: {}, execArgv: [], workerData, resourceLimits });
    worker.on('message', (reply: NormalizeReply<Value>) => {
      this.#settle(entry, reply);
    });
    worker.on('error', (cause) => {
      if (entry.worker === worker) entry.worker = undefined;
      this.#fail(entry, (slot) => new CodedError('block-worker-died', { slot }, { cause }));
    });
    worker.on('exit', (exitCode) => {
      if (entry.worker === worker) {
        entry.worker = undefined;
        this.#fail(entry, (slot) => new CodedError('block-worker-died', { slot, exitCode }));
      }
    });
    return worker;
  }

  #settle(entry: PoolWorker<Value>, reply: NormalizeReply<Value>): void {
    const { task } = entry;
    // The pool was closed meanwhile, and the task is already rejected.
    if (task === undefined) return;
    entry.task = undefined;
    if (reply.kind === 'done') task.resolve(reply.value);
    else task.reject(new CodedError(reply.code, ...knownDetail(reply.detail)));
    this.#assign();
  }

  #fail(entry: PoolWorker<Value>, errorOf: (slot: Slot) => CodedError): void {
    const { task } = entry;
    entry.task = undefined;
    if (task !== undefined) task.reject(errorOf(task.slot));
    this.#assign();
  }
}

/** Returns the bytes, or a copy if they are only a part of a buffer, which then cannot be transferred. */
function ownBytes(bytes: Uint8Array): Uint8Array {
  const { buffer, byteLength } = bytes;
  const isWhole = !(buffer instanceof ArrayBuffer) || buffer.byteLength === byteLength;
  return isWhole ? bytes : new Uint8Array(bytes);
}
