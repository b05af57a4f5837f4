import { parentPort, type TransferListItem } from 'node:worker_threads';
import { assert } from '@sluice/base/assert';
import { type ErrorCode, type ErrorDetail, isCodedError } from '@sluice/base/errors';
import type { TransactionKernel } from '@sluice/kernels/transaction-kernel';
import type { Slot } from '@sluice/ledger/primitives';
import { blockReaders } from '../read-block.ts';
import type { BlockFormat } from '../source.ts';
import type { NormalizedBlock } from './normalize-block.ts';
import type { NormalizeOptions } from './normalize-options.ts';

/** A request of the pool to a worker: one block. */
export interface NormalizeRequest {
  readonly slot: Slot;
  readonly bytes: Uint8Array;
  readonly format: BlockFormat;
  readonly options: Partial<NormalizeOptions>;
  /** Memory for the result, if it is large enough. */
  readonly spare: SharedArrayBuffer | undefined;
}

/** The reply of a worker. A rejected block is an ordinary reply; a bug ends the worker. */
export type NormalizeReply<Value> =
  | { readonly kind: 'done'; readonly value: Value }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly detail: ErrorDetail };

export interface Finished<Value> {
  readonly value: Value;
  readonly transfer?: readonly TransferListItem[];
}

/**
 * Makes this thread a worker of a `NormalizerPool`. `finish` converts the records into the reply. Copying the records of a block
 * to another thread costs about as much as parsing it, so `finish` should return bytes that can be transferred or shared. With a
 * kernel, ordinary transactions become rows without becoming records first.
 */
export function serveNormalizer<Value>(
  finish: (block: NormalizedBlock, spare: SharedArrayBuffer | undefined) => Finished<Value>,
  kernel?: TransactionKernel,
): void {
  const port = parentPort;
  assert(port !== null, 'a worker of the pool runs in a worker thread');
  port.on('message', ({ slot, bytes, format, options, spare }: NormalizeRequest) => {
    try {
      const block = blockReaders[format](slot, bytes, options, kernel);
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
