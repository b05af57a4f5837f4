// Gathers signatures: their texts for the dictionary of a batch, or their bytes.
import { base58Encode } from '../../common/base58';
import { clearBit, rowAt } from './rows';

/**
 * Writes signatures as base58 texts for the dictionary of a batch: the first signature of each row's transaction, or all of them if `isAll`. Writes
 * to `out`, for each row, the index of its first signature in the dictionary, or null if the transaction has no signature. `starts` has the
 * position of the first signature of each transaction. Encoding is slow, so the rows of one transaction, which follow each other, share its texts.
 * Returns the number of texts.
 */
export function gatherSignatures(
  bytes: usize, starts: usize, transactions: usize, count: u32, isAll: bool, textStarts: usize, texts: usize, out: usize,
): u32 {
  let end = texts;
  let textCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const transaction = rowAt(transactions, i);
    if (i > 0 && rowAt(transactions, i - 1) == transaction) {
      store<u32>(out + (i << 2), rowAt(out, i - 1));
      continue;
    }
    const first = rowAt(starts, transaction);
    const last = isAll ? rowAt(starts, transaction + 1) : min(first + 1, rowAt(starts, transaction + 1));
    store<u32>(out + (i << 2), first == last ? 0 : textCount);
    for (let signature = first; signature < last; signature++) {
      store<u32>(textStarts + (textCount++ << 2), <u32>(end - texts));
      end = base58Encode(bytes + (<usize>signature << 6), 64, end);
    }
  }
  store<u32>(textStarts + (textCount << 2), <u32>(end - texts));
  return textCount;
}

/** Clears the bits of rows whose transaction has no signature. */
export function gatherUnsigned(starts: usize, transactions: usize, count: u32, valid: usize): u32 {
  let nullCount: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const transaction = rowAt(transactions, i);
    if (rowAt(starts, transaction) != rowAt(starts, transaction + 1)) continue;
    clearBit(valid, i);
    nullCount++;
  }
  return nullCount;
}

/** The first signature of each row's transaction, 64 bytes each, or zeros for a transaction without signatures. */
export function gatherSignatureBytes(bytes: usize, starts: usize, transactions: usize, count: u32, out: usize): void {
  for (let i: u32 = 0; i < count; i++, out += 64) {
    const transaction = rowAt(transactions, i);
    const signature = rowAt(starts, transaction);
    if (signature == rowAt(starts, transaction + 1)) memory.fill(out, 0, 64);
    else memory.copy(out, bytes + (<usize>signature << 6), 64);
  }
}

/** The lists of the signatures of transactions, whose texts are the first ones of the dictionary in this order. */
export function gatherSignatureLists(starts: usize, transactions: usize, count: u32, outStarts: usize, out: usize): void {
  let total: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const transaction = rowAt(transactions, i);
    store<u32>(outStarts + (i << 2), total);
    const end = total + rowAt(starts, transaction + 1) - rowAt(starts, transaction);
    for (; total < end; total++) store<u32>(out + (total << 2), total);
  }
  store<u32>(outStarts + (count << 2), total);
}
