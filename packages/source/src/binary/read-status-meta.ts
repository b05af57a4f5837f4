import type { ByteCursor, Integer } from './byte-cursor.ts';
import {
  readBase58,
  readFields,
  readIndexes,
  readIntegers,
  readPart,
  readText,
  toSigned,
  wire,
} from './protobuf-fields.ts';
import { readTransactionError } from './read-transaction-error.ts';

/** The names of reward types by their number in the protobuf enum. 0 is an unknown type. */
const rewardTypes = [null, 'Fee', 'Rent', 'Staking', 'Voting', 'DeactivatedStake', 'VATDebit'];

interface MetaDraft {
  err: unknown;
  fee: Integer;
  preBalances: Integer[];
  postBalances: Integer[];
  /** Null if nodes did not record it. */
  innerInstructions: unknown[] | null;
  logMessages: string[] | null;
  preTokenBalances: unknown[];
  postTokenBalances: unknown[];
  loadedAddresses: { writable: string[]; readonly: string[] };
  computeUnitsConsumed: Integer | null;
}

/** Reads a `TransactionStatusMeta` of `solana.storage.ConfirmedBlock` and returns it as the `meta` of `getBlock`. */
export function readStatusMeta(cursor: ByteCursor): unknown {
  const draft: MetaDraft = {
    err: null,
    fee: 0,
    preBalances: [],
    postBalances: [],
    innerInstructions: [],
    logMessages: [],
    preTokenBalances: [],
    postTokenBalances: [],
    loadedAddresses: { writable: [], readonly: [] },
    computeUnitsConsumed: null,
  };
  const lists: { inner: unknown[]; log: string[] } = { inner: [], log: [] };
  const missing = { inner: false, log: false };
  readFields(cursor, (field, type) => {
    if (field === 3) return readIntegers(cursor, type, draft.preBalances);
    if (field === 4) return readIntegers(cursor, type, draft.postBalances);
    if (type === wire.varint) return readMetaInteger(cursor, field, draft, missing);
    return type === wire.bytes && readMetaPart(cursor, field, draft, lists);
  });
  draft.innerInstructions = missing.inner ? null : lists.inner;
  draft.logMessages = missing.log ? null : lists.log;
  return draft;
}

function readMetaInteger(
  cursor: ByteCursor,
  field: number,
  draft: MetaDraft,
  missing: { inner: boolean; log: boolean },
): boolean {
  if (field === 2) draft.fee = cursor.varint();
  else if (field === 10) missing.inner = cursor.varint() !== 0;
  else if (field === 11) missing.log = cursor.varint() !== 0;
  else if (field === 16) draft.computeUnitsConsumed = cursor.varint();
  else return false;
  return true;
}

function readMetaPart(
  cursor: ByteCursor,
  field: number,
  draft: MetaDraft,
  lists: { inner: unknown[]; log: string[] },
): boolean {
  if (field === 1) draft.err = readError(readPart(cursor));
  else if (field === 5) lists.inner.push(readGroup(readPart(cursor)));
  else if (field === 6) lists.log.push(readText(cursor));
  else if (field === 7) draft.preTokenBalances.push(readTokenBalance(readPart(cursor)));
  else if (field === 8) draft.postTokenBalances.push(readTokenBalance(readPart(cursor)));
  else if (field === 12) draft.loadedAddresses.writable.push(readBase58(cursor));
  else if (field === 13) draft.loadedAddresses.readonly.push(readBase58(cursor));
  else return false;
  return true;
}

/** Reads a message whose only field is a `TransactionError` in bincode. */
function readError(cursor: ByteCursor): unknown {
  let error: unknown = null;
  readFields(cursor, (field, type) => {
    if (field !== 1 || type !== wire.bytes) return false;
    const bytes = readPart(cursor);
    error = readTransactionError(bytes, true);
    bytes.expectEnd();
    return true;
  });
  return error ?? cursor.fail('an error without a value');
}

function readGroup(cursor: ByteCursor): unknown {
  let index: Integer = 0;
  const instructions: unknown[] = [];
  readFields(cursor, (field, type) => {
    if (field === 1 && type === wire.varint) index = cursor.varint();
    else if (field === 2 && type === wire.bytes)
      instructions.push(readInstruction(readPart(cursor)));
    else return false;
    return true;
  });
  return { index, instructions };
}

/** Reads a `CompiledInstruction` or an `InnerInstruction`, which also has a stack height. */
export function readInstruction(cursor: ByteCursor): unknown {
  let programIdIndex: Integer = 0;
  let accounts: number[] = [];
  let data = '';
  let stackHeight: Integer | null = null;
  readFields(cursor, (field, type) => {
    if (field === 1 && type === wire.varint) programIdIndex = cursor.varint();
    else if (field === 2 && type === wire.bytes) accounts = readIndexes(cursor);
    else if (field === 3 && type === wire.bytes) data = readBase58(cursor);
    else if (field === 4 && type === wire.varint) stackHeight = cursor.varint();
    else return false;
    return true;
  });
  return { programIdIndex, accounts, data, stackHeight };
}

function readTokenBalance(cursor: ByteCursor): unknown {
  let accountIndex: Integer = 0;
  let uiTokenAmount: unknown = {};
  const texts = { mint: '', owner: '', programId: '' };
  readFields(cursor, (field, type) => {
    if (field === 1 && type === wire.varint) {
      accountIndex = cursor.varint();
      return true;
    }
    if (type !== wire.bytes) return false;
    if (field === 2) texts.mint = readText(cursor);
    else if (field === 3) uiTokenAmount = readTokenAmount(readPart(cursor));
    else if (field === 4) texts.owner = readText(cursor);
    else if (field === 5) texts.programId = readText(cursor);
    else return false;
    return true;
  });
  return { accountIndex, ...texts, uiTokenAmount };
}

/** Reads the exact amount. The amounts with a decimal point follow from it. */
function readTokenAmount(cursor: ByteCursor): unknown {
  let decimals: Integer = 0;
  let amount = '';
  readFields(cursor, (field, type) => {
    if (field === 2 && type === wire.varint) decimals = cursor.varint();
    else if (field === 3 && type === wire.bytes) amount = readText(cursor);
    else return false;
    return true;
  });
  return { decimals, amount };
}

/** Reads a `Reward`. A type without a name is written as its number, because sets of types grow. */
export function readReward(cursor: ByteCursor): unknown {
  let pubkey = '';
  let lamports: Integer = 0;
  let postBalance: Integer = 0;
  let type: Integer = 0;
  let commission = '';
  readFields(cursor, (field, wireType) => {
    if (field === 1 && wireType === wire.bytes) pubkey = readText(cursor);
    else if (field === 2 && wireType === wire.varint) lamports = toSigned(cursor.varint());
    else if (field === 3 && wireType === wire.varint) postBalance = cursor.varint();
    else if (field === 4 && wireType === wire.varint) type = cursor.varint();
    else if (field === 5 && wireType === wire.bytes) commission = readText(cursor);
    else return false;
    return true;
  });
  const name = rewardTypes[Number(type)];
  const isNumber = /^\d{1,3}$/.test(commission);
  return {
    pubkey,
    lamports,
    postBalance,
    rewardType: name === undefined ? `${type}` : name,
    commission: commission === '' ? null : isNumber ? Number(commission) : commission,
  };
}
