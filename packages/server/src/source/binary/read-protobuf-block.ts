/**
 * Converts the bytes of a `solana.storage.ConfirmedBlock` protobuf into the same records as the `getBlock` result of the same block. The
 * kernel reads ordinary transactions; the others take the form of `getBlock` and go through the same normalizer.
 */
import type { Slot } from '../../ledger/primitives.ts';
import { BlockReader } from '../normalize/block-reader.ts';
import {
  type BlockFields,
  completeOptions,
  type NormalizedBlock,
  normalizeFields,
} from '../normalize/normalize-block.ts';
import type { NormalizeOptions } from '../normalize/normalize-options.ts';
import { normalizeTransaction } from '../normalize/normalize-transaction.ts';
import type { RawTransaction } from '../normalize/read-message.ts';
import { ByteCursor, type Integer, noMark } from './byte-cursor.ts';
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

/** `slot` is the slot of the block, which its bytes do not contain. */
export function readProtobufBlock(
  slot: Slot,
  bytes: Uint8Array,
  options: Partial<NormalizeOptions> = {},
): NormalizedBlock {
  const settings = completeOptions(slot, bytes, options);
  const { fields, transactions } = readBlockFields(slot, bytes);
  const reader = new BlockReader(slot, noMark);
  return normalizeFields(reader, fields, settings, (draft) => {
    transactions.forEach((cursor, index) => {
      normalizeTransaction(draft, readConfirmedTransaction(cursor), index);
    });
  });
}

interface ProtobufBlock {
  readonly fields: BlockFields;
  /** A cursor over each transaction. */
  readonly transactions: readonly ByteCursor[];
}

function readBlockFields(slot: Slot, bytes: Uint8Array): ProtobufBlock {
  const cursor = new ByteCursor(bytes, { slot, part: 'block' });
  const transactions: ByteCursor[] = [];
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
    else if (field === 4) transactions.push(readTransactionPart(cursor, transactions.length));
    else if (field === 5) rewards.push(readReward(readPart(cursor)));
    else if (field === 6) fields.blockTime = toSigned(readOnlyInteger(readPart(cursor)));
    else if (field === 7) fields.blockHeight = readOnlyInteger(readPart(cursor));
    else return false;
    return true;
  });
  // Protobuf omits values that are 0.
  fields.parentSlot ??= 0;
  return { fields, transactions };
}

function readTransactionPart(cursor: ByteCursor, transaction: number): ByteCursor {
  const { at, end } = readPart(cursor);
  return new ByteCursor(cursor.bytes, { ...cursor.origin, transaction }, at, end);
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

function readConfirmedTransaction(cursor: ByteCursor): RawTransaction {
  let entry: Pick<RawTransaction, 'transaction' | 'version'> = {};
  let meta: unknown = null;
  readFields(cursor, (field, type) => {
    if (type !== wire.bytes) return false;
    if (field === 1) entry = readTransaction(readPart(cursor));
    else if (field === 2) meta = readStatusMeta(readPart(cursor));
    else return false;
    return true;
  });
  return { ...entry, meta };
}

function readTransaction(cursor: ByteCursor): Pick<RawTransaction, 'transaction' | 'version'> {
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
