/**
 * Reads the metadata of old transactions, which nodes stored in bincode: little-endian integers, lengths of 64 bits, variants of 32 bits.
 * Fields were added at the end over time, so the bytes may end before each of them.
 */
import type { ByteCursor } from './byte-cursor.ts';
import { readTransactionError } from './read-transaction-error.ts';
import { readWireInstruction } from './read-wire-transaction.ts';

/** Returns the metadata as the `meta` of `getBlock`. */
export function readBincodeMeta(cursor: ByteCursor): unknown {
  const err = readStatus(cursor);
  const fee = cursor.u64();
  const preBalances = readList(cursor, 8, () => cursor.u64());
  const postBalances = readList(cursor, 8, () => cursor.u64());
  const innerInstructions = readTrailingList(cursor, 9, () => ({
    index: cursor.u8(),
    instructions: readList(cursor, 3, () => readWireInstruction(cursor)),
  }));
  const logMessages = readTrailingList(cursor, 8, () => readText(cursor));
  const preTokenBalances = readTrailingList(cursor, 26, () => readTokenBalance(cursor));
  const postTokenBalances = readTrailingList(cursor, 26, () => readTokenBalance(cursor));
  // The rewards of a transaction are not records, but must be read to reach the end.
  readTrailingList(cursor, 24, () => skipReward(cursor));
  cursor.expectEnd();
  return {
    err,
    fee,
    preBalances,
    postBalances,
    innerInstructions,
    logMessages,
    preTokenBalances,
    postTokenBalances,
  };
}

function readStatus(cursor: ByteCursor): unknown {
  const start = cursor.at;
  const variant = cursor.u32();
  if (variant === 0) return null;
  if (variant !== 1) cursor.fail(`a status of the unknown number ${variant}`, start);
  return readTransactionError(cursor, false);
}

/** Reads a list whose elements have at least `bytesMin` bytes each. */
function readList<Element>(
  cursor: ByteCursor,
  bytesMin: number,
  read: () => Element,
): readonly Element[] {
  const start = cursor.at;
  const count = cursor.length64();
  if (count * bytesMin > cursor.end - cursor.at) cursor.fail(`a list of ${count} elements`, start);
  return Array.from({ length: count }, read);
}

/** Reads an optional list. Returns null if it has no value or the bytes end before it. */
function readTrailingList<Element>(
  cursor: ByteCursor,
  bytesMin: number,
  read: () => Element,
): readonly Element[] | null {
  if (cursor.isAtEnd) return null;
  return readPresence(cursor) ? readList(cursor, bytesMin, read) : null;
}

function readPresence(cursor: ByteCursor): boolean {
  const start = cursor.at;
  const presence = cursor.u8();
  if (presence > 1) cursor.fail(`${presence} where 0 or 1 says whether a value follows`, start);
  return presence === 1;
}

function readText(cursor: ByteCursor): string {
  return cursor.text(cursor.length64());
}

function readTokenBalance(cursor: ByteCursor): unknown {
  const accountIndex = cursor.u8();
  const mint = readText(cursor);
  // The amount as a floating-point number is not exact and follows from the others.
  cursor.skip(8);
  const decimals = cursor.u8();
  const amount = readText(cursor);
  return { accountIndex, mint, uiTokenAmount: { decimals, amount } };
}

function skipReward(cursor: ByteCursor): void {
  readText(cursor);
  cursor.skip(16);
  if (readPresence(cursor)) cursor.u32();
}
