/**
 * A thread that turns raw blocks into stored ones. Nothing that it sends back is copied: a whole block is moved, a draft is in
 * shared memory that the pool gets back when it is merged.
 */
import { workerData } from 'node:worker_threads';
import { TransactionKernel } from '../kernels/transaction-kernel.ts';
import type { NormalizedBlock } from '../source/normalize-block.ts';
import { voteProgram } from '../source/read-message.ts';
import { type Finished, serveNormalizer } from '../source/serve-normalizer.ts';
import {
  type PreparedBlock,
  type PreparedForm,
  prepareBlock,
  prepareDraft,
} from './prepared-block.ts';

/** Shared memory for a draft is a multiple of this long, so that it fits the next one too. */
const draftGranuleBytes = 1 << 20;

function finishWhole(normalized: NormalizedBlock): Finished<PreparedBlock> {
  const value = prepareBlock(normalized);
  return { value, transfer: [value.bytes.buffer as ArrayBuffer] };
}

function finishDraft(
  normalized: NormalizedBlock,
  spare: SharedArrayBuffer | undefined,
): Finished<PreparedBlock> {
  const value = prepareDraft(normalized, (byteLength) => {
    if (spare !== undefined && spare.byteLength >= byteLength) return new Uint8Array(spare);
    const granules = Math.ceil(byteLength / draftGranuleBytes) + 1;
    return new Uint8Array(new SharedArrayBuffer(granules * draftGranuleBytes));
  });
  return { value };
}

const finish = (workerData as PreparedForm) === 'draft' ? finishDraft : finishWhole;
serveNormalizer(finish, new TransactionKernel(voteProgram));
