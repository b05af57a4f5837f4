/**
 * A worker thread that turns raw blocks into prepared ones. Its results are not copied: a whole block is transferred, and a
 * draft is in shared memory, which returns to the pool after the merge.
 */
import { workerData } from 'node:worker_threads';
import { TransactionKernel } from '@sluice/kernels/transaction-kernel';
import type { NormalizedBlock } from '@sluice/source/normalize/normalize-block';
import { type Finished, serveNormalizer } from '@sluice/source/normalize/serve-normalizer';
import { kernelTexts } from '@sluice/source/read-block';
import {
  type PreparedBlock,
  type PreparedForm,
  prepareBlock,
  prepareDraft,
} from './prepared-block.ts';

/** The size of the shared memory of a draft is a multiple of this, so that it can be reused for other drafts. */
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
serveNormalizer(finish, new TransactionKernel(kernelTexts));
