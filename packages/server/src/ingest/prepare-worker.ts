/** A thread that turns raw blocks into stored ones: what comes back is bytes that are moved, not copied. */
import { workerData } from 'node:worker_threads';
import { TransactionKernel } from '../kernels/transaction-kernel.ts';
import { voteProgram } from '../source/read-message.ts';
import { serveNormalizer } from '../source/serve-normalizer.ts';
import { type PreparedForm, prepareBlock, prepareDraft } from './prepared-block.ts';

const prepare = (workerData as PreparedForm) === 'draft' ? prepareDraft : prepareBlock;

serveNormalizer((normalized) => {
  const value = prepare(normalized);
  return { value, transfer: [value.bytes.buffer as ArrayBuffer] };
}, new TransactionKernel(voteProgram));
