import { instructionErrors } from '@sluice/grpc/error-variants';
import type { KernelTexts, TransactionKernel } from '@sluice/kernels/transaction-kernel';
import type { Slot } from '@sluice/ledger/primitives';
import { readArchiveBlock } from './archive/read-archive-block.ts';
import { readProtobufBlock } from './binary/read-protobuf-block.ts';
import { type NormalizedBlock, normalizeBlock } from './normalize/normalize-block.ts';
import type { NormalizeOptions } from './normalize/normalize-options.ts';
import { voteProgram } from './normalize/read-message.ts';
import { readLineBlock } from './portal/read-line-block.ts';
import type { BlockFormat } from './source.ts';

export type ReadBlock = (
  slot: Slot,
  bytes: Uint8Array,
  options: Partial<NormalizeOptions>,
  kernel?: TransactionKernel,
) => NormalizedBlock;

/** The properties of the ledger that a kernel needs. */
export const kernelTexts: KernelTexts = {
  voteProgram,
  instructionErrors,
};

/** How a block of each format becomes records, and rows of the kernel if there is one. */
export const blockReaders: Readonly<Record<BlockFormat, ReadBlock>> = {
  node: normalizeBlock,
  line: readLineBlock,
  protobuf: readProtobufBlock,
  archive: readArchiveBlock,
};
