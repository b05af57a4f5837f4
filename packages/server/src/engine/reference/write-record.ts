/** Writes each field of each kind of record as JSON text. */
import type { Dialect } from '@sluice/protocol/dialect';
import { type FieldName, type Kind, RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import type {
  Balance,
  Block,
  Instruction,
  Log,
  Reward,
  TokenBalance,
  Transaction,
} from '../../ledger/block.ts';
import { parentHashOnWire } from '../../ledger/parent-hash-on-wire.ts';
import { dataToHex } from './match-record.ts';

/** For each kind, the record from which its fields are written. */
interface Sources {
  block: Block;
  transaction: Transaction;
  instruction: Instruction;
  log: Log;
  balance: Balance;
  tokenBalance: TokenBalance;
  reward: Reward;
}

type Writers<K extends Kind> = Readonly<
  Record<FieldName<K>, (source: Sources[K], dialect: Dialect) => string>
>;

/** Returns the JSON object of one record or header with the requested fields. */
export function writeRecord<K extends Kind>(
  kind: K,
  source: Sources[K],
  options: { readonly fields: readonly FieldName<K>[]; readonly dialect: Dialect },
): string {
  const writers: Writers<K> = WRITERS[kind];
  const members = options.fields.map(
    (name) => `"${name}":${writers[name](source, options.dialect)}`,
  );
  return `{${members.join()}}`;
}

/** For text, safe integers, booleans, null, and arrays and objects of these. */
const plain = JSON.stringify as (value: unknown) => string;

/** Writes 64 bits with every digit: as an integer in `ledger`, as text in `solana`. */
function quantity(value: bigint | null, dialect: Dialect): string {
  if (value === null) return 'null';
  return dialect === 'solana' ? `"${value}"` : `${value}`;
}

/** Returns `0x` and the first bytes of the data, or null if the data is shorter. */
function dataStart(data: string, byteCount: number): string {
  const hex = dataToHex(data);
  const length = 2 + 2 * byteCount;
  return hex.length < length ? 'null' : `"${hex.slice(0, length)}"`;
}

function version(value: number, dialect: Dialect): string {
  return dialect === 'solana' && value === -1 ? '"legacy"' : `${value}`;
}

const WRITERS: { readonly [K in Kind]: Writers<K> } = {
  block: {
    number: ({ header }) => plain(header.number),
    hash: ({ header }) => plain(header.hash),
    parentSlot: ({ header }) => plain(header.parentSlot),
    parentNumber: ({ header }) => plain(header.parentSlot),
    parentHash: ({ header }) => plain(parentHashOnWire(header)),
    height: ({ header }) => plain(header.height),
    timestamp: ({ header }) => `${header.timestamp}`,
    recordCounts: (block) =>
      plain(Object.fromEntries(RECORD_ARRAY_NAMES.map((array) => [array, block[array].length]))),
    finalizedHead: () => 'null',
  },
  transaction: {
    transactionIndex: (record) => plain(record.transactionIndex),
    version: (record, dialect) => version(record.version, dialect),
    accountKeys: (record) => plain(record.accountKeys),
    addressTableLookups: (record) =>
      plain(
        record.addressTableLookups.map(({ accountKey, readonlyIndexes, writableIndexes }) => ({
          accountKey,
          readonlyIndexes,
          writableIndexes,
        })),
      ),
    numReadonlySignedAccounts: (record) => plain(record.numReadonlySignedAccounts),
    numReadonlyUnsignedAccounts: (record) => plain(record.numReadonlyUnsignedAccounts),
    numRequiredSignatures: (record) => plain(record.numRequiredSignatures),
    recentBlockhash: (record) => plain(record.recentBlockhash),
    signatures: (record) => plain(record.signatures),
    err: (record) => record.err ?? 'null',
    fee: (record, dialect) => quantity(record.fee, dialect),
    computeUnitsConsumed: (record, dialect) => quantity(record.computeUnitsConsumed, dialect),
    loadedAddresses: ({ loadedAddresses: { readonly, writable } }) => plain({ readonly, writable }),
    feePayer: (record) => plain(record.accountKeys[0] ?? null),
    hasDroppedLogMessages: (record) => plain(record.hasDroppedLogMessages),
  },
  instruction: {
    transactionIndex: (record) => plain(record.transactionIndex),
    instructionAddress: (record) => plain(record.instructionAddress),
    programId: (record) => plain(record.programId),
    accounts: (record) => plain(record.accounts),
    data: (record) => plain(record.data),
    d1: (record) => dataStart(record.data, 1),
    d2: (record) => dataStart(record.data, 2),
    d4: (record) => dataStart(record.data, 4),
    d8: (record) => dataStart(record.data, 8),
    error: (record) => plain(record.error),
    computeUnitsConsumed: (record, dialect) => quantity(record.computeUnitsConsumed, dialect),
    isCommitted: (record) => plain(record.isCommitted),
    hasDroppedLogMessages: (record) => plain(record.hasDroppedLogMessages),
  },
  log: {
    transactionIndex: (record) => plain(record.transactionIndex),
    logIndex: (record) => plain(record.logIndex),
    instructionAddress: (record) => plain(record.instructionAddress),
    programId: (record) => plain(record.programId),
    kind: (record) => plain(record.kind),
    message: (record) => plain(record.message),
  },
  balance: {
    transactionIndex: (record) => plain(record.transactionIndex),
    account: (record) => plain(record.account),
    pre: (record, dialect) => quantity(record.pre, dialect),
    post: (record, dialect) => quantity(record.post, dialect),
  },
  tokenBalance: {
    transactionIndex: (record) => plain(record.transactionIndex),
    account: (record) => plain(record.account),
    preMint: (record) => plain(record.preMint),
    postMint: (record) => plain(record.postMint),
    preDecimals: (record) => plain(record.preDecimals),
    postDecimals: (record) => plain(record.postDecimals),
    preProgramId: (record) => plain(record.preProgramId),
    postProgramId: (record) => plain(record.postProgramId),
    preOwner: (record) => plain(record.preOwner),
    postOwner: (record) => plain(record.postOwner),
    preAmount: (record, dialect) => quantity(record.preAmount, dialect),
    postAmount: (record, dialect) => quantity(record.postAmount, dialect),
  },
  reward: {
    pubKey: (record) => plain(record.pubKey),
    pubkey: (record) => plain(record.pubKey),
    lamports: (record, dialect) => quantity(record.lamports, dialect),
    postBalance: (record, dialect) => quantity(record.postBalance, dialect),
    rewardType: (record) => plain(record.rewardType),
    commission: (record) => plain(record.commission),
  },
};
