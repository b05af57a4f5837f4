/**
 * Normalizes blocks in worker threads, so that no block holds the main loop.
 *
 *   normalize(slot, bytes) ─► waiting (bounded) ─► a free worker, one block at a time ─► the caller's promise
 *
 * A worker that dies takes only its own block with it and is replaced when the next one needs it.
 */
import { Worker } from 'node:worker_threads';
import { assert } from '../../base/assert.ts';
import { CodedError } from '../../base/errors.ts';
import { workerUrl } from '../../base/worker-url.ts';
import type { Slot } from '../../ledger/primitives.ts';
import type { BlockFormat } from '../source.ts';
import type { NormalizedBlock } from './normalize-block.ts';
import type { NormalizeOptions } from './normalize-options.ts';
import type { NormalizeReply, NormalizeRequest } from './serve-normalizer.ts';

export interface NormalizerPoolOptions {
  readonly workerCount: number;
  /** Blocks that wait for a worker, in number and bytes; more are refused, so that memory stays bounded. */
  readonly waitingCountMax: number;
  readonly waitingBytesMax: number;
  readonly normalize: Partial<NormalizeOptions>;
  /** A file that calls `serveNormalizer`; by default the one that sends back the records. */
  readonly workerUrl: URL;
  /** What that file finds as its `workerData`. */
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
 * What a kernel reads makes few objects, and those of the others die young. A small young space stays in the processor's
 * caches, and is collected often enough to give back the bytes of the blocks that were read.
 */
const resourceLimits = { maxYoungGenerationSizeMb: 16 } as const;

/** More than blocks are under way at once. */
const spareCountMax = 32;

interface Task<Value> {
  readonly slot: Slot;
  readonly bytes: Uint8Array;
  readonly format: BlockFormat;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: Error) => void;
}

interface Seat<Value> {
  worker: Worker | undefined;
  task: Task<Value> | undefined;
}

export class NormalizerPool<Value = NormalizedBlock> {
  readonly #options: NormalizerPoolOptions;
  readonly #seats: Seat<Value>[];
  readonly #waiting: Task<Value>[] = [];
  /** Shared memory of values that were read, for values to come. */
  readonly #spares: SharedArrayBuffer[] = [];
  #waitingBytes = 0;
  #isClosed = false;

  constructor(options: Partial<NormalizerPoolOptions> = {}) {
    this.#options = { ...normalizerPoolDefaults, ...options };
    const { workerCount } = this.#options;
    assert(workerCount >= 1, 'a pool has a worker');
    this.#seats = Array.from({ length: workerCount }, () => ({
      worker: undefined,
      task: undefined,
    }));
  }

  /**
   * The bytes are handed over: if they are a buffer of their own it is moved to the worker and must not be used again. Shared
   * memory is the caller's again when the block is done.
   * Rejects with the code that the block is refused with.
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

  /** Returns the memory of a value that nobody reads any more, if it is shared: a worker uses it for another value. */
  giveBack({ buffer }: Uint8Array): void {
    if (buffer instanceof SharedArrayBuffer && this.#spares.length < spareCountMax) {
      this.#spares.push(buffer);
    }
  }

  /** Ends the threads. What was not done yet is rejected. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { slot, reject } of this.#waiting.splice(0)) {
      reject(new CodedError('block-pool-closed', { slot }));
    }
    this.#waitingBytes = 0;
    await Promise.all(
      this.#seats.map(async (seat) => {
        const { worker } = seat;
        seat.worker = undefined;
        this.#fail(seat, (slot) => new CodedError('block-pool-closed', { slot }));
        await worker?.terminate();
      }),
    );
  }

  #assign(): void {
    for (const seat of this.#seats) {
      if (this.#isClosed || seat.task !== undefined) continue;
      const task = this.#waiting.shift();
      if (task === undefined) return;
      this.#waitingBytes -= task.bytes.length;
      seat.task = task;
      seat.worker ??= this.#start(seat);
      const bytes = ownBytes(task.bytes);
      const request: NormalizeRequest = {
        slot: task.slot,
        bytes,
        format: task.format,
        options: this.#options.normalize,
        spare: this.#spares.pop(),
      };
      const { buffer } = bytes;
      seat.worker.postMessage(request, buffer instanceof ArrayBuffer ? [buffer] : []);
    }
  }

  #start(seat: Seat<Value>): Worker {
    // Nothing of the process's environment is a worker's business.
    const { workerUrl: url, workerData } = this.#options;
    const worker = new Worker(url, { env: {}, workerData, resourceLimits });
    worker.on('message', (reply: NormalizeReply<Value>) => {
      this.#settle(seat, reply);
    });
    worker.on('error', (cause) => {
      if (seat.worker === worker) seat.worker = undefined;
      this.#fail(seat, (slot) => new CodedError('block-worker-died', { slot }, { cause }));
    });
    worker.on('exit', (exitCode) => {
      if (seat.worker === worker) {
        seat.worker = undefined;
        this.#fail(seat, (slot) => new CodedError('block-worker-died', { slot, exitCode }));
      }
    });
    return worker;
  }

  #settle(seat: Seat<Value>, reply: NormalizeReply<Value>): void {
    const { task } = seat;
    // Closed meanwhile, and rejected.
    if (task === undefined) return;
    seat.task = undefined;
    if (reply.kind === 'done') task.resolve(reply.value);
    else task.reject(new CodedError(reply.code, reply.detail));
    this.#assign();
  }

  #fail(seat: Seat<Value>, errorOf: (slot: Slot) => CodedError): void {
    const { task } = seat;
    seat.task = undefined;
    if (task !== undefined) task.reject(errorOf(task.slot));
    this.#assign();
  }
}

/** Bytes whose buffer can be moved or is shared: themselves, or a copy if the buffer holds more. */
function ownBytes(bytes: Uint8Array): Uint8Array {
  const { buffer, byteLength } = bytes;
  const isWhole = !(buffer instanceof ArrayBuffer) || buffer.byteLength === byteLength;
  return isWhole ? bytes : new Uint8Array(bytes);
}
