import { elementAt } from '@sluice/base/element-at';
import { pageCountOf } from '../../segment/layout/group-entry.ts';
import type { EngineKernel } from '../engine-kernel.ts';
import type { EngineSegment } from '../engine-segment.ts';
import { GroupColumns } from '../group-columns.ts';
import { PageSet } from '../page-set.ts';
import { Scratch } from '../scratch.ts';

const signatureBytes = 64;

interface OpenedSegment {
  readonly open: EngineSegment;
  readonly kernel: EngineKernel;
}

/** Returns the transactions with the signature. The index may list further transactions, so the stored signatures are compared. */
export function findSignature(signature: Uint8Array, context: OpenedSegment): readonly number[] {
  const candidates = new Set(context.open.index.findSignature(signature));
  return [...candidates].filter((transaction) => hasSignature(transaction, signature, context));
}

function hasSignature(
  transaction: number,
  signature: Uint8Array,
  { open, kernel }: OpenedSegment,
): boolean {
  const { groups } = open.segment.directory;
  const number = groups.findLastIndex((group) => group.firstTransaction <= transaction);
  const group = elementAt(groups, number);
  const row = transaction - group.firstTransaction;
  const wanted = new Uint8Array(pageCountOf(group));
  wanted[Math.floor(row / group.pageTransactions)] = 1;
  const pages = new PageSet({ number, group }, wanted);
  const scratch = new Scratch(kernel);
  const meter = { pagesRead: 0, bytesRead: 0, bytesInflated: 0 };
  try {
    const columns = new GroupColumns(open, [pages], { kernel, scratch, meter });
    const counts = columns.stored('txSignatureCount').at / 4;
    const { at } = columns.stored('txSignatures');
    const position = pages.positionOf(row);
    let first = 0;
    for (let i = 0; i < position; i++) first += kernel.ints[counts + i] as number;
    const end = first + elementAt(kernel.ints, counts + position);
    for (let i = first; i < end; i++) {
      const stored = kernel.bytes.subarray(at + i * signatureBytes, at + (i + 1) * signatureBytes);
      if (Buffer.compare(stored, signature) === 0) return true;
    }
    return false;
  } finally {
    scratch.release();
  }
}
