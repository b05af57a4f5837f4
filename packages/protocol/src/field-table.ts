/**
 * The table of all response fields: every record kind in wire order, and every field of it in wire order. Schemas,
 * types, projection and documentation are derived from it.
 */

import type { Dialect } from './dialect.ts';
import { keysOf, mapKeys } from './typed-keys.ts';

/**
 * The type of a value on the wire.
 *
 *   integer       a JSON integer that a JavaScript number represents exactly (slots, indexes, counts)
 *   seconds       a signed 64-bit JSON integer
 *   quantity      64 bits with every digit: a JSON integer in `ledger`, decimal text in `solana`
 *   version       an integer; a legacy transaction is -1 in `ledger`, "legacy" in `solana`
 *   address, hash, base58          base58 text
 *   hex           `0x` and lower-case digits
 *   addresses, signatures, path    arrays of address, of base58 text, of integer
 *   blockRef      `{"number","hash"}` of a block
 *   decoded       the name and the values of an instruction or event, by an IDL
 */
export type WireType =
  | 'integer'
  | 'seconds'
  | 'quantity'
  | 'version'
  | 'boolean'
  | 'text'
  | 'address'
  | 'hash'
  | 'base58'
  | 'hex'
  | 'logKind'
  | 'addresses'
  | 'signatures'
  | 'path'
  | 'errorObject'
  | 'addressTableLookups'
  | 'loadedAddresses'
  | 'recordCounts'
  | 'blockRef'
  | 'decoded';

export interface FieldRow {
  readonly wire: WireType;
  /** The description for the documentation, with the unit. */
  readonly text: string;
  /** Whether the value may be unknown. It is then `null`, never omitted. */
  readonly nullable?: true;
  /** Whether the field is not stored, because its value is derived from other fields or from the time of the response. */
  readonly derived?: true;
  /** Whether the field is an extension of the core interface, which is sent only if it is selected. */
  readonly ext?: true;
  /** The dialects that have the field. Absent means all. */
  readonly dialects?: readonly Dialect[];
  /**
   * The dialects that send the field when a query has no `fields`. If absent: all for a core field, none for an
   * extension.
   */
  readonly defaultIn?: readonly Dialect[];
}

export const LOG_KINDS = ['log', 'data', 'other'] as const;
export type LogKind = (typeof LOG_KINDS)[number];

const transactionIndex = {
  wire: 'integer',
  text: 'Position of the transaction in the block. Dropped votes leave gaps.',
} as const satisfies FieldRow;

const dataStart = { wire: 'hex', nullable: true, derived: true } as const;

export const FIELDS = {
  block: {
    number: { wire: 'integer', text: 'Slot of the block. Always present.' },
    hash: { wire: 'hash', text: 'Block hash. Sent only if it is selected.', defaultIn: [] },
    parentSlot: { wire: 'integer', text: 'Slot of the parent block.' },
    parentNumber: {
      wire: 'integer',
      derived: true,
      ext: true,
      text: 'The same value as `parentSlot`.',
    },
    parentHash: {
      wire: 'hash',
      nullable: true,
      ext: true,
      text: 'Hash of the parent block. Slot 0 has what a node reports there: 32 times `1`.',
    },
    height: { wire: 'integer', nullable: true, text: 'Block height: blocks below this one.' },
    timestamp: { wire: 'seconds', nullable: true, ext: true, text: 'Block time in unix seconds.' },
    recordCounts: {
      wire: 'recordCounts',
      derived: true,
      ext: true,
      text: 'How many records of each of the six kinds the dataset has for this block, regardless of the query.',
    },
    finalizedHead: {
      wire: 'blockRef',
      derived: true,
      nullable: true,
      ext: true,
      text: 'The latest finalized block of the same chain at the moment the line is sent.',
    },
  },
  transaction: {
    transactionIndex,
    version: {
      wire: 'version',
      text: 'Version of the transaction format; a legacy transaction is -1.',
    },
    accountKeys: { wire: 'addresses', text: 'Static account keys.' },
    addressTableLookups: { wire: 'addressTableLookups', text: 'Lookups in address tables.' },
    numReadonlySignedAccounts: { wire: 'integer', text: 'Count from the message header.' },
    numReadonlyUnsignedAccounts: { wire: 'integer', text: 'Count from the message header.' },
    numRequiredSignatures: { wire: 'integer', text: 'Count from the message header.' },
    recentBlockhash: {
      wire: 'hash',
      text: 'The block hash or nonce that the transaction refers to.',
    },
    signatures: { wire: 'signatures', text: 'Signatures; the first identifies the transaction.' },
    err: {
      wire: 'errorObject',
      nullable: true,
      text: 'The error, or `null`. An error without details is `{"<Name>":null}`.',
    },
    fee: { wire: 'quantity', nullable: true, text: 'Fee in lamports.' },
    computeUnitsConsumed: { wire: 'quantity', nullable: true, text: 'Compute units that it used.' },
    loadedAddresses: { wire: 'loadedAddresses', text: 'Addresses loaded from the tables.' },
    feePayer: { wire: 'address', derived: true, text: 'The first static account key.' },
    hasDroppedLogMessages: { wire: 'boolean', text: 'Whether log lines are missing.' },
  },
  instruction: {
    transactionIndex,
    instructionAddress: {
      wire: 'path',
      text: 'Position in the call tree: `[2,0]` is the first call that top-level instruction 2 made.',
    },
    programId: { wire: 'address', text: 'The program that ran.' },
    accounts: { wire: 'addresses', text: 'The accounts passed to it.' },
    data: { wire: 'base58', text: 'Input of the program; `""` when empty.' },
    d1: { ...dataStart, text: 'First byte of the data; `null` if shorter.' },
    d2: { ...dataStart, text: 'First 2 bytes of the data.' },
    d4: { ...dataStart, text: 'First 4 bytes of the data.' },
    d8: { ...dataStart, text: 'First 8 bytes of the data.' },
    error: { wire: 'text', nullable: true, text: 'The text of its error in the log.' },
    computeUnitsConsumed: {
      wire: 'quantity',
      nullable: true,
      text: 'Compute units that it used, including its calls.',
    },
    isCommitted: {
      wire: 'boolean',
      nullable: true,
      text: 'Whether the transaction succeeded, and with it the effects of this instruction.',
    },
    hasDroppedLogMessages: {
      wire: 'boolean',
      text: 'Whether some of its log lines may be missing.',
    },
    decoded: {
      wire: 'decoded',
      derived: true,
      ext: true,
      text: 'Its name, arguments, accounts by name and events, by the IDL of the program; or why it cannot be decoded.',
    },
  },
  log: {
    transactionIndex,
    logIndex: {
      wire: 'integer',
      text: 'Position among all raw log lines of the transaction: unique, with gaps.',
    },
    instructionAddress: { wire: 'path', text: 'The instruction that wrote the line.' },
    programId: { wire: 'address', text: 'The program that wrote the line.' },
    kind: { wire: 'logKind', ext: true, text: '`log`, `data` or `other`.' },
    message: { wire: 'text', text: 'The text, without its prefix for the kinds `log` and `data`.' },
    decoded: {
      wire: 'decoded',
      derived: true,
      nullable: true,
      ext: true,
      text: 'The event in a line of the kind `data`, by the IDL of the program; `null` for other kinds.',
    },
  },
  balance: {
    transactionIndex,
    account: { wire: 'address', text: 'The account whose native balance changed.' },
    pre: { wire: 'quantity', text: 'Lamports before the transaction.' },
    post: { wire: 'quantity', text: 'Lamports after the transaction.' },
  },
  tokenBalance: {
    transactionIndex,
    account: { wire: 'address', text: 'The token account.' },
    preMint: { wire: 'address', nullable: true, text: 'Mint before.' },
    postMint: { wire: 'address', nullable: true, text: 'Mint after.' },
    preDecimals: { wire: 'integer', nullable: true, text: 'Decimals of the mint before.' },
    postDecimals: { wire: 'integer', nullable: true, text: 'Decimals of the mint after.' },
    preProgramId: { wire: 'address', nullable: true, text: 'Token program before.' },
    postProgramId: { wire: 'address', nullable: true, text: 'Token program after.' },
    preOwner: { wire: 'address', nullable: true, text: 'Owner before.' },
    postOwner: { wire: 'address', nullable: true, text: 'Owner after.' },
    preAmount: { wire: 'quantity', nullable: true, text: 'Amount before, in the smallest unit.' },
    postAmount: { wire: 'quantity', nullable: true, text: 'Amount after, in the smallest unit.' },
  },
  reward: {
    pubKey: { wire: 'address', dialects: ['ledger'], text: 'The account that gets the reward.' },
    pubkey: {
      wire: 'address',
      derived: true,
      ext: true,
      defaultIn: ['solana'],
      text: 'The same value as `pubKey`. The dialect `solana` has only this name.',
    },
    lamports: { wire: 'quantity', text: 'Amount in lamports; negative if it was deducted.' },
    postBalance: { wire: 'quantity', text: 'Lamports of the account afterwards.' },
    rewardType: { wire: 'text', nullable: true, text: '`Fee`, `Rent`, `Staking`, `Voting`, …' },
    commission: { wire: 'integer', nullable: true, text: 'Commission of a vote account, percent.' },
  },
} as const satisfies Record<string, Record<string, FieldRow>>;

/** A key of the selector `fields`. */
export type Kind = keyof typeof FIELDS;
export type RecordKind = Exclude<Kind, 'block'>;

export const KINDS = keysOf(FIELDS);

/** The record kind of each array of a line, in line order. */
export const RECORD_ARRAYS = {
  transactions: 'transaction',
  instructions: 'instruction',
  logs: 'log',
  balances: 'balance',
  tokenBalances: 'tokenBalance',
  rewards: 'reward',
} as const satisfies Record<string, RecordKind>;

export type RecordArray = keyof typeof RECORD_ARRAYS;
export const RECORD_ARRAY_NAMES = keysOf(RECORD_ARRAYS);

type Rows<K extends Kind> = (typeof FIELDS)[K];

type HasField<Row, D extends Dialect> = Row extends { dialects: readonly (infer Some)[] }
  ? D extends Some
    ? true
    : false
  : true;

/** The fields of a kind that a dialect has. */
export type FieldName<K extends Kind, D extends Dialect = Dialect> = {
  [Name in keyof Rows<K>]: true extends (D extends Dialect ? HasField<Rows<K>[Name], D> : never)
    ? Name
    : never;
}[keyof Rows<K>] &
  string;

/** The fields of a kind that are stored, because they do not follow from others. */
export type StoredFieldName<K extends Kind> = {
  [Name in FieldName<K>]: Name extends keyof Rows<K>
    ? Rows<K>[Name] extends { derived: true }
      ? never
      : Name
    : never;
}[FieldName<K>];

type SentByDefault<Row, D extends Dialect> = Row extends { defaultIn: readonly (infer Some)[] }
  ? D extends Some
    ? true
    : false
  : Row extends { ext: true }
    ? false
    : HasField<Row, D>;

/** The fields of a kind that are sent when a query has no `fields`. */
export type DefaultFieldName<K extends Kind, D extends Dialect> = {
  [Name in keyof Rows<K>]: SentByDefault<Rows<K>[Name], D> extends true ? Name : never;
}[keyof Rows<K>] &
  string;

export function fieldRows<K extends Kind>(kind: K): readonly (readonly [FieldName<K>, FieldRow])[] {
  return Object.entries<FieldRow>(FIELDS[kind]) as [FieldName<K>, FieldRow][];
}

/** Returns the fields of a kind in wire order. */
export function fieldNames<K extends Kind>(kind: K, dialect: Dialect): readonly FieldName<K>[] {
  return fieldRows(kind)
    .filter(([, row]) => row.dialects === undefined || row.dialects.includes(dialect))
    .map(([name]) => name);
}

/** Returns the `fields` of a query that selects every field of a dialect, except for those that `isWanted` excludes. */
export function selectEveryField(
  dialect: Dialect,
  isWanted: (kind: Kind, name: string) => boolean = () => true,
): { readonly [K in Kind]: Readonly<Record<string, true>> } {
  return mapKeys(KINDS, (kind) => {
    const names = fieldNames(kind, dialect).filter((name) => isWanted(kind, name));
    return Object.fromEntries(names.map((name) => [name, true]));
  });
}

/** Returns the fields that are sent when a query has no `fields`, in wire order. */
export function defaultFieldNames<K extends Kind>(
  kind: K,
  dialect: Dialect,
): readonly FieldName<K>[] {
  const rows = new Map(fieldRows(kind));
  return fieldNames(kind, dialect).filter((name) => {
    const row = rows.get(name);
    return row?.defaultIn?.includes(dialect) ?? row?.ext !== true;
  });
}
