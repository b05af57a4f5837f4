/**
 * Converts the bytes of a `solana.storage.ConfirmedBlock` protobuf into the same records as the `getBlock` result of the same block. The
 * kernel reads ordinary transactions; the others take the form of `getBlock` and go through the same normalizer.
 */
import { elementAt } from '@sluice/base/element-at';
import type { TransactionKernel } from '@sluice/kernels/transaction-kernel';
import type { Slot } from '@sluice/ledger/primitives';
import { BlockReader } from '../normalize/block-reader.ts';
import {
  type BlockFields,
  completeOptions,
  type NormalizedBlock,
} from '../normalize/normalize-block.ts';
import type { NormalizeOptions } from '../normalize/normalize-options.ts';
import { ByteCursor, type Integer, noMark } from './byte-cursor.ts';
import { type EntryReader, normalizeBinary } from './normalize-binary.ts';
import {
  readBase58,
  readFields,
  readIndexes,
  readPart,
  readText,
  toSigned,
  wire,
} from './protobuf-fields.ts';
import { readInstruction, readReward, readStatusMeta } from './read-status-meta.ts';
import type { RawEntry } from './read-wire-transaction.ts';

/** `slot` is the slot of the block, which its bytes do not contain. */
export function readProtobufBlock(
  slot: Slot,
  bytes: Uint8Array,
  options: Partial<NormalizeOptions> = {},
  kernel?: TransactionKernel,
): NormalizedBlock {
  const settings = completeOptions(slot, bytes, options);
  const { fields, positions } = readBlockFields(slot, bytes);
  kernel?.beginBinary(bytes, settings.votes === 'drop');
  kernel?.setPositions(positions);
  const reader = new BlockReader(slot, noMark);
  const block = { reader, fields, transactionCount: positions.length / 2 };
  return normalizeBinary(block, settings, kernel, {
    take: (taking, first, last) => taking.takeConfirmed(first, last),
    read: (index) => readConfirmedTransaction(openTransaction(slot, bytes, positions, index)),
  });
}

/** Returns a block in the form of `getBlock`. */
export function readProtobufValue(slot: Slot, bytes: Uint8Array): unknown {
  const { fields, positions } = readBlockFields(slot, bytes);
  const transactions = Array.from({ length: positions.length / 2 }, (_, index) => {
    const cursor = openTransaction(slot, bytes, positions, index);
    const { entry, readMeta } = readConfirmedTransaction(cursor);
    return { ...entry, meta: readMeta() };
  });
  return { ...fields, transactions };
}

function openTransaction(
  slot: Slot,
  bytes: Uint8Array,
  positions: Uint32Array,
  index: number,
): ByteCursor {
  const origin = { slot, part: 'block', transaction: index };
  const at = elementAt(positions, 2 * index);
  return new ByteCursor(bytes, origin, at, elementAt(positions, 2 * index + 1));
}

interface ProtobufBlock {
  readonly fields: BlockFields;
  /** The offsets in the block at which each transaction starts and ends: start, end, start, end, … */
  readonly positions: Uint32Array;
}

function readBlockFields(slot: Slot, bytes: Uint8Array): ProtobufBlock {
  const cursor = new ByteCursor(bytes, { slot, part: 'block' });
  const positions: number[] = [];
  const rewards: unknown[] = [];
  const fields: { -readonly [Key in keyof BlockFields]: BlockFields[Key] } = { rewards };
  readFields(cursor, (field, type) => {
    if (field === 3 && type === wire.varint) {
      fields.parentSlot = cursor.varint();
      return true;
    }
    if (type !== wire.bytes) return false;
    if (field === 1) fields.previousBlockhash = readText(cursor);
    else if (field === 2) fields.blockhash = readText(cursor);
    else if (field === 4) readPositions(cursor, positions);
    else if (field === 5) rewards.push(readReward(readPart(cursor)));
    else if (field === 6) fields.blockTime = toSigned(readOnlyInteger(readPart(cursor)));
    else if (field === 7) fields.blockHeight = readOnlyInteger(readPart(cursor));
    else return false;
    return true;
  });
  // Protobuf omits values that are 0.
  fields.parentSlot ??= 0;
  return { fields, positions: Uint32Array.from(positions) };
}

/** The tag of a transaction. */
const transactionTag = (4 << 3) | wire.bytes;

/** Appends start and end of a transaction and of all transactions directly after it. Most blocks have their transactions in one run. */
function readPositions(cursor: ByteCursor, out: number[]): void {
  do {
    const at = cursor.skip(cursor.varintLength());
    out.push(at, cursor.at);
  } while (cursor.takeByte(transactionTag));
}

/** Reads a message whose only field is an integer. */
function readOnlyInteger(cursor: ByteCursor): Integer {
  let value: Integer = 0;
  readFields(cursor, (field, type) => {
    if (field !== 1 || type !== wire.varint) return false;
    value = cursor.varint();
    return true;
  });
  return value;
}

function readConfirmedTransaction(cursor: ByteCursor): EntryReader {
  let entry: RawEntry = {};
  let meta: ByteCursor | undefined;
  readFields(cursor, (field, type) => {
    if (type !== wire.bytes) return false;
    if (field === 1) entry = readTransaction(readPart(cursor));
    else if (field === 2) meta = readPart(cursor);
    else return false;
    return true;
  });
  return { entry, readMeta: () => (meta === undefined ? null : readStatusMeta(meta)) };
}

function readTransaction(cursor: ByteCursor): RawEntry {
  const signatures: string[] = [];
  let isVersioned = false;
  let message: unknown;
  readFields(cursor, (field, type) => {
    if (type !== wire.bytes) return false;
    if (field === 1) signatures.push(readBase58(cursor));
    else if (field === 2) [message, isVersioned] = readMessage(readPart(cursor));
    else return false;
    return true;
  });
  return { transaction: { signatures, message }, version: isVersioned ? 0 : 'legacy' };
}

function readMessage(cursor: ByteCursor): [message: unknown, isVersioned: boolean] {
  const accountKeys: string[] = [];
  const instructions: unknown[] = [];
  const addressTableLookups: unknown[] = [];
  let header: unknown = readHeader(cursor.cut(0));
  let recentBlockhash = '';
  let isVersioned = false;
  readFields(cursor, (field, type) => {
    if (field === 5 && type === wire.varint) {
      isVersioned = cursor.varint() !== 0;
      return true;
    }
    if (type !== wire.bytes) return false;
    if (field === 1) header = readHeader(readPart(cursor));
    else if (field === 2) accountKeys.push(readBase58(cursor));
    else if (field === 3) recentBlockhash = readBase58(cursor);
    else if (field === 4) instructions.push(readInstruction(readPart(cursor)));
    else if (field === 6) addressTableLookups.push(readLookup(readPart(cursor)));
    else return false;
    return true;
  });
  const message = { header, accountKeys, recentBlockhash, instructions, addressTableLookups };
  return [message, isVersioned];
}

function readHeader(cursor: ByteCursor): unknown {
  const counts: [Integer, Integer, Integer] = [0, 0, 0];
  readFields(cursor, (field, type) => {
    if (field > counts.length || type !== wire.varint) return false;
    counts[field - 1] = cursor.varint();
    return true;
  });
  return {
    numRequiredSignatures: counts[0],
    numReadonlySignedAccounts: counts[1],
    numReadonlyUnsignedAccounts: counts[2],
  };
}

function readLookup(cursor: ByteCursor): unknown {
  let accountKey = '';
  let writableIndexes: number[] = [];
  let readonlyIndexes: number[] = [];
  readFields(cursor, (field, type) => {
    if (type !== wire.bytes) return false;
    if (field === 1) accountKey = readBase58(cursor);
    else if (field === 2) writableIndexes = readIndexes(cursor);
    else if (field === 3) readonlyIndexes = readIndexes(cursor);
    else return false;
    return true;
  });
  return { accountKey, writableIndexes, readonlyIndexes };
}
