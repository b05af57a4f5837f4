import { BinaryWriter } from './binary-writer.ts';
import type { BlockMeta, TransactionPart } from './subscribe-update.ts';

/** Joins the parts of a block to a `solana.storage.ConfirmedBlock`, which does not contain its slot. */
export function encodeConfirmedBlock(
  meta: BlockMeta,
  transactions: readonly TransactionPart[],
): Uint8Array {
  const out = new BinaryWriter();
  out.field(1, meta.parentBlockhash).field(2, meta.blockhash).integer(3, meta.parentSlot);
  for (const part of transactions) {
    const entry = new BinaryWriter().field(1, part.transaction);
    if (part.meta !== undefined) entry.field(2, part.meta);
    out.field(4, entry.finish());
  }
  for (const reward of meta.rewards) out.field(5, reward);
  if (meta.blockTime !== undefined) out.field(6, meta.blockTime);
  if (meta.blockHeight !== undefined) out.field(7, meta.blockHeight);
  return out.finish();
}
