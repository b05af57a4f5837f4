import { parentPort, type TransferListItem } from 'node:worker_threads';
import { assert } from '../base/assert.ts';
import { type ErrorCode, type ErrorDetail, isCodedError } from '../base/errors.ts';
import type { TransactionKernel } from '../kernels/transaction-kernel.ts';
import type { Slot } from '../ledger/primitives.ts';
import { type NormalizedBlock, normalizeBlock } from './normalize-block.ts';
import type { NormalizeOptions } from './normalize-options.ts';
import { readLineBlock } from './read-line-block.ts';
import type { BlockFormat } from './source-node.ts';

/** What the pool sends to a worker: one block at a time. */
export interface NormalizeRequest {
  readonly slot: Slot;
  readonly bytes: Uint8Array;
  readonly format: BlockFormat;
  readonly options: Partial<NormalizeOptions>;
  /** Memory for what is sent back, if it suffices. */
  readonly spare: SharedArrayBuffer | undefined;
}

/** What comes back. Refusals are ordinary answers; a bug ends the worker. */
export type NormalizeReply<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly detail: ErrorDetail };

export interface Finished<Value> {
  readonly value: Value;
  readonly transfer?: readonly TransferListItem[];
}

/**
 * Makes this thread a worker of a `NormalizerPool`. `finish` turns the records into what is sent back: copying a block
 * between threads costs the receiver about as much as parsing it, so a worker that hands on something denser, bytes
 * that can be transferred, keeps the main loop free. One that wants rows rather than records gives the kernel that makes them.
 */
export function serveNormalizer<Value>(
  finish: (block: NormalizedBlock, spare: SharedArrayBuffer | undefined) => Finished<Value>,
  kernel?: TransactionKernel,
): void {
  const port = parentPort;
  assert(port !== null, 'a worker of the pool runs in a thread of its own');
  port.on('message', ({ slot, bytes, format, options, spare }: NormalizeRequest) => {
    try {
      const block =
        format === 'line'
          ? readLineBlock(slot, bytes)
          : normalizeBlock(slot, bytes, options, kernel);
      const { value, transfer } = finish(block, spare);
      const reply: NormalizeReply<Value> = { kind: 'done', value };
      port.postMessage(reply, transfer ?? []);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      const reply: NormalizeReply<Value> = {
        kind: 'refused',
        code: error.code,
        detail: error.detail,
      };
      port.postMessage(reply);
    }
  });
}
