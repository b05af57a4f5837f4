import type { TransactionKernel } from '@sluice/kernels/transaction-kernel';
import type { Block } from '@sluice/ledger/block';
import { SegmentWriter } from './segment-writer.ts';

/** Returns a segment of these blocks, which must ascend by slot. The same blocks give the same bytes on every machine. */
export function buildSegment(blocks: readonly Block[]): Uint8Array {
  return collect((writer) => {
    for (const block of blocks) writer.append(block);
  });
}

/** Returns the block as a segment of its own. The kernel may have the rows of some transactions. */
export function buildBlock(block: Block, kernel: TransactionKernel | undefined): Uint8Array {
  return collect((writer) => {
    if (kernel === undefined) writer.append(block);
    else writer.appendWithTaken(block, kernel);
  });
}

/** Returns the bytes of the segment that `fill` writes. */
export function collect(fill: (writer: SegmentWriter) => void): Uint8Array {
  const pieces: Uint8Array[] = [];
  const writer = new SegmentWriter((bytes) => pieces.push(bytes));
  fill(writer);
  writer.finish();
  return join(pieces);
}

function join(pieces: readonly Uint8Array[]): Uint8Array {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}
