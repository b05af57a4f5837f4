import { BinaryWriter } from './binary-writer.ts';
import type { BlockMeta, TransactionPart } from './subscribe-update.ts';

/** Returns memory of at least this many bytes. */
export type AllocateBlock = (byteLength: number) => Uint8Array;

const transactionTag = (4 << 3) | 2;
const firstTag = (1 << 3) | 2;
const metaTag = (2 << 3) | 2;

/**
 * Joins the parts of a block to a `solana.storage.ConfirmedBlock`, which does not contain its slot. The parts of transactions have nearly all
 * bytes of a block, so each is copied once, to its final position.
 */
export function encodeConfirmedBlock(
  meta: BlockMeta,
  transactions: readonly TransactionPart[],
  allocate: AllocateBlock = (byteLength) => new Uint8Array(byteLength),
): Uint8Array {
  const head = new BinaryWriter().field(1, meta.parentBlockhash).field(2, meta.blockhash);
  const before = head.integer(3, meta.parentSlot).finish();
  const tail = new BinaryWriter();
  for (const reward of meta.rewards) tail.field(5, reward);
  if (meta.blockTime !== undefined) tail.field(6, meta.blockTime);
  if (meta.blockHeight !== undefined) tail.field(7, meta.blockHeight);
  const after = tail.finish();
  const lengths = Uint32Array.from(transactions, entryLength);
  let byteLength = before.length + after.length;
  for (const length of lengths) byteLength += fieldLength(length);
  const bytes = allocate(byteLength).subarray(0, byteLength);
  bytes.set(before);
  let at = before.length;
  transactions.forEach((part, i) => {
    at = writeHead(bytes, at, transactionTag, lengths[i] ?? 0);
    at = writeField(bytes, at, firstTag, part.transaction);
    if (part.meta !== undefined) at = writeField(bytes, at, metaTag, part.meta);
  });
  bytes.set(after, at);
  return bytes;
}

function entryLength({ transaction, meta }: TransactionPart): number {
  return fieldLength(transaction.length) + (meta === undefined ? 0 : fieldLength(meta.length));
}

/** Returns the length of a field with this many bytes, whose tag has one byte. */
function fieldLength(length: number): number {
  let digits = 1;
  for (let rest = length; rest >= 128; rest >>>= 7) digits++;
  return 1 + digits + length;
}

/** Writes the tag and the length of a field. Returns the position of its bytes. */
function writeHead(bytes: Uint8Array, start: number, tag: number, length: number): number {
  let at = start;
  bytes[at++] = tag;
  let rest = length;
  for (; rest >= 128; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80;
  bytes[at++] = rest;
  return at;
}

function writeField(bytes: Uint8Array, start: number, tag: number, value: Uint8Array): number {
  const at = writeHead(bytes, start, tag, value.length);
  bytes.set(value, at);
  return at + value.length;
}
