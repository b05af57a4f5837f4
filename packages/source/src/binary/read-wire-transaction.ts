import { CodedError } from '@sluice/base/errors';
import type { RawTransaction } from '../normalize/read-message.ts';
import type { ByteCursor } from './byte-cursor.ts';

/** A transaction without its metadata, in the form of `getBlock`. */
export type RawEntry = Pick<RawTransaction, 'transaction' | 'version'>;

/** This bit of a message's first byte distinguishes a version from the number of signatures of a legacy message. */
const versionedBit = 0x80;

/** Reads a transaction as it is sent over the network: signatures, then a legacy message or one of version 0. */
export function readWireTransaction(cursor: ByteCursor): RawEntry {
  const signatures = readList(cursor, 64, () => cursor.base58(64));
  const isVersioned = ((cursor.bytes[cursor.at] ?? 0) & versionedBit) !== 0 && !cursor.isAtEnd;
  if (isVersioned) checkVersion(cursor);
  const header = {
    numRequiredSignatures: cursor.u8(),
    numReadonlySignedAccounts: cursor.u8(),
    numReadonlyUnsignedAccounts: cursor.u8(),
  };
  const message = {
    header,
    accountKeys: readList(cursor, 32, () => cursor.base58(32)),
    recentBlockhash: cursor.base58(32),
    instructions: readList(cursor, 3, () => readWireInstruction(cursor)),
    ...(isVersioned ? { addressTableLookups: readList(cursor, 34, () => readLookup(cursor)) } : {}),
  };
  cursor.expectEnd();
  return { transaction: { signatures, message }, version: isVersioned ? 0 : 'legacy' };
}

function checkVersion(cursor: ByteCursor): void {
  const version = cursor.u8() & ~versionedBit;
  if (version === 0) return;
  const { slot, transaction } = cursor.origin;
  throw new CodedError('block-version-unknown', {
    slot,
    ...(transaction === undefined ? {} : { transaction }),
    version,
  });
}

/** Reads a list whose elements have at least `bytesMin` bytes each. */
function readList<Element>(
  cursor: ByteCursor,
  bytesMin: number,
  read: () => Element,
): readonly Element[] {
  const start = cursor.at;
  const count = cursor.shortLength();
  if (count * bytesMin > cursor.end - cursor.at) cursor.fail(`a list of ${count} elements`, start);
  return Array.from({ length: count }, read);
}

/** Reads an instruction: the index of its program, then the lists of accounts and data, each after its length. */
export function readWireInstruction(cursor: ByteCursor) {
  return {
    programIdIndex: cursor.u8(),
    accounts: Array.from(cursor.take(cursor.shortLength())),
    data: cursor.base58(cursor.shortLength()),
  };
}

function readLookup(cursor: ByteCursor) {
  return {
    accountKey: cursor.base58(32),
    writableIndexes: Array.from(cursor.take(cursor.shortLength())),
    readonlyIndexes: Array.from(cursor.take(cursor.shortLength())),
  };
}
