import type { TransactionKernel } from '@sluice/kernels/transaction-kernel';
import type { BlockReader } from '../normalize/block-reader.ts';
import {
  type BlockFields,
  type NormalizedBlock,
  normalizeFields,
} from '../normalize/normalize-block.ts';
import type { NormalizeOptions } from '../normalize/normalize-options.ts';
import { type BlockDraft, normalizeTransaction } from '../normalize/normalize-transaction.ts';
import { isVote } from '../normalize/read-message.ts';
import type { RawEntry } from './read-wire-transaction.ts';

export interface BinaryBlock {
  readonly reader: BlockReader;
  readonly fields: BlockFields;
  readonly transactionCount: number;
}

/** Reads a transaction that the kernel does not take. */
export interface EntryReader {
  readonly entry: RawEntry;
  readonly readMeta: () => unknown;
}

/**
 * Normalizes a block whose fields were read. `take` passes the transactions from `first` up to `last` to the kernel, which has begun the block,
 * and returns the first one that it did not accept, or `last`; `read` reads that one.
 */
export function normalizeBinary(
  { reader, fields, transactionCount }: BinaryBlock,
  options: NormalizeOptions,
  kernel: TransactionKernel | undefined,
  transactions: {
    readonly take: (kernel: TransactionKernel, first: number, last: number) => number;
    readonly read: (index: number) => EntryReader;
  },
): NormalizedBlock {
  const normalized = normalizeFields(reader, fields, options, (draft) => {
    for (let index = 0; ; index++) {
      if (kernel !== undefined) index = transactions.take(kernel, index, transactionCount);
      if (index >= transactionCount) break;
      addEntry(draft, transactions.read(index), index);
    }
    draft.counts.votesDropped += kernel?.droppedVoteCount ?? 0;
    draft.counts.truncatedLogs += kernel?.truncatedLogCount ?? 0;
  });
  return kernel === undefined ? normalized : { ...normalized, taken: kernel };
}

/** The metadata of dropped votes is not read. */
function addEntry(draft: BlockDraft, { entry, readMeta }: EntryReader, index: number): void {
  if (draft.options.votes === 'drop' && isVote(entry)) draft.counts.votesDropped++;
  else normalizeTransaction(draft, { ...entry, meta: readMeta() }, index);
}
