/**
 * The columns of a row group. The writer, the readers, the merge and `sluice inspect` use this table. Every segment stores the description
 * of its columns, so that a reader can skip unknown ones.
 * Every 32-byte value of a transaction is stored once in its key list:
 *
 *   keys of one transaction = static ++ loaded writable ++ loaded readonly ++ others (mints, owners, blockhash, …)
 *
 * Every column that refers to an address has its position in that list. An address therefore costs one byte per mention, and the inverted
 * index is built from the key lists alone.
 */

import * as layout from '@sluice/kernels/layout/columns';
import type { LogKind, RecordKind, StoredFieldName } from '@sluice/protocol/field-table';
import { keysOf } from '@sluice/protocol/typed-keys';

export type ColumnType = 'int' | 'long' | 'bytes';

/** What one row of a column stands for. The number of rows of a domain follows from the columns that count them (`adds`). */
export const DOMAINS = [
  'transaction',
  'signature',
  'key',
  'lookup',
  'lookupIndex',
  'instruction',
  'oddStep',
  'account',
  'dataByte',
  'log',
  'logByte',
  'balance',
  'tokenBalance',
  'reward',
  'text',
  'textByte',
] as const;
export type Domain = (typeof DOMAINS)[number];

/**
 * Columns that are read together. Sections that are `paged` are divided into pages of a few transactions. The others belong to whole blocks
 * and have one page per row group. A section comes after the sections whose columns count its rows.
 */
export const SECTIONS = [
  'transactions',
  'keys',
  'signatures',
  'instructions',
  'data',
  'logs',
  'balances',
  'tokenBalances',
  'rewards',
  'texts',
] as const;
export type Section = (typeof SECTIONS)[number];

export const pagedSectionCount = SECTIONS.indexOf('rewards');

/** How the values of a column are coded in a page. */
export const CODING = {
  int: layout.CODING_INT,
  long: layout.CODING_LONG,
  bytes: layout.CODING_BYTES,
  delta: layout.CODING_DELTA,
  keys: layout.CODING_KEYS,
} as const;
export type Coding = keyof typeof CODING;

export const LOG_KIND_CODES = {
  log: layout.LOG_KIND_LOG,
  data: layout.LOG_KIND_DATA,
  other: layout.LOG_KIND_OTHER,
} as const satisfies Record<LogKind, number>;

interface ColumnShape {
  readonly type: ColumnType;
  /** The number of the column in every segment. It is never reused for another column. */
  readonly id: number;
  readonly section: Section;
  readonly domain: Domain;
  readonly coding: Coding;
  readonly adds?: Domain;
  /** Bytes per value, for columns of bytes. */
  readonly unit?: number;
  /** Whether the values are codes of the row group's texts. */
  readonly isTextCode?: true;
}

const int = <Id extends number>(id: Id, section: Section, domain: Domain, adds?: Domain) =>
  ({ type: 'int', id, section, domain, coding: 'int', ...(adds && { adds }) }) as const;
const textCode = <Id extends number>(id: Id, section: Section, domain: Domain) =>
  ({ type: 'int', id, section, domain, coding: 'int', isTextCode: true }) as const;
const long = <Id extends number>(id: Id, section: Section, domain: Domain) =>
  ({ type: 'long', id, section, domain, coding: 'long' }) as const;
const bytes = <Id extends number>(id: Id, section: Section, domain: Domain, unit = 1) =>
  ({ type: 'bytes', id, section, domain, coding: 'bytes', unit }) as const;

/** In the coding order of each section: a column that counts rows comes before those rows. */
export const COLUMNS = {
  // Transactions, one row each.
  txIndex: { ...int(layout.TX_INDEX, 'transactions', 'transaction'), coding: 'delta' },
  txVersion: int(layout.TX_VERSION, 'transactions', 'transaction'), // plus one: legacy is 0
  txRequiredSignatures: int(layout.TX_REQUIRED_SIGNATURES, 'transactions', 'transaction'),
  txReadonlySigned: int(layout.TX_READONLY_SIGNED, 'transactions', 'transaction'),
  txReadonlyUnsigned: int(layout.TX_READONLY_UNSIGNED, 'transactions', 'transaction'),
  txStaticCount: int(layout.TX_STATIC_COUNT, 'transactions', 'transaction', 'key'),
  txWritableCount: int(layout.TX_WRITABLE_COUNT, 'transactions', 'transaction', 'key'),
  txReadonlyCount: int(layout.TX_READONLY_COUNT, 'transactions', 'transaction', 'key'),
  txOtherCount: int(layout.TX_OTHER_COUNT, 'transactions', 'transaction', 'key'),
  txKeys: { ...int(layout.TX_KEYS, 'keys', 'key'), coding: 'keys' }, // dictionary ids
  txBlockhash: int(layout.TX_BLOCKHASH, 'transactions', 'transaction'), // position
  txSignatureCount: int(layout.TX_SIGNATURE_COUNT, 'transactions', 'transaction', 'signature'),
  txSignatures: bytes(layout.TX_SIGNATURES, 'signatures', 'signature', 64),
  txErr: textCode(layout.TX_ERR, 'transactions', 'transaction'), // text code
  txFee: long(layout.TX_FEE, 'transactions', 'transaction'),
  txFeeNull: int(layout.TX_FEE_NULL, 'transactions', 'transaction'),
  txUnits: long(layout.TX_UNITS, 'transactions', 'transaction'),
  txUnitsNull: int(layout.TX_UNITS_NULL, 'transactions', 'transaction'),
  txDropped: int(layout.TX_DROPPED, 'transactions', 'transaction'),
  txLookupCount: int(layout.TX_LOOKUP_COUNT, 'transactions', 'transaction', 'lookup'),
  txInstructionCount: int(
    layout.TX_INSTRUCTION_COUNT,
    'transactions',
    'transaction',
    'instruction',
  ),
  txLogCount: int(layout.TX_LOG_COUNT, 'transactions', 'transaction', 'log'),
  txBalanceCount: int(layout.TX_BALANCE_COUNT, 'transactions', 'transaction', 'balance'),
  txTokenBalanceCount: int(
    layout.TX_TOKEN_BALANCE_COUNT,
    'transactions',
    'transaction',
    'tokenBalance',
  ),
  // Address table lookups of transactions.
  lookupKey: int(layout.LOOKUP_KEY, 'transactions', 'lookup'), // position
  lookupReadonlyCount: int(layout.LOOKUP_READONLY_COUNT, 'transactions', 'lookup', 'lookupIndex'),
  lookupWritableCount: int(layout.LOOKUP_WRITABLE_COUNT, 'transactions', 'lookup', 'lookupIndex'),
  lookupIndexes: int(layout.LOOKUP_INDEXES, 'transactions', 'lookupIndex'), // readonly first
  // Instructions.
  insDepth: int(layout.INS_DEPTH, 'instructions', 'instruction'),
  insOdd: int(layout.INS_ODD, 'instructions', 'instruction', 'oddStep'), // 0, or the length of an address that does not follow from the depths before it
  insOddSteps: int(layout.INS_ODD_STEPS, 'instructions', 'oddStep'), // those addresses in full
  insProgram: int(layout.INS_PROGRAM, 'instructions', 'instruction'), // position
  insAccountCount: int(layout.INS_ACCOUNT_COUNT, 'instructions', 'instruction', 'account'),
  insAccounts: int(layout.INS_ACCOUNTS, 'instructions', 'account'), // positions
  insDataLength: int(layout.INS_DATA_LENGTH, 'data', 'instruction', 'dataByte'),
  insData: bytes(layout.INS_DATA, 'data', 'dataByte'),
  insError: textCode(layout.INS_ERROR, 'instructions', 'instruction'), // text code
  insUnits: long(layout.INS_UNITS, 'instructions', 'instruction'),
  insUnitsNull: int(layout.INS_UNITS_NULL, 'instructions', 'instruction'),
  insFlags: int(layout.INS_FLAGS, 'instructions', 'instruction'), // bits 0-1: committed (0 no, 1 yes, 2 unknown), bit 2: dropped logs
  // Logs.
  logIndex: int(layout.LOG_INDEX, 'logs', 'log'), // distance from the previous log of the transaction
  logInstruction: int(layout.LOG_INSTRUCTION, 'logs', 'log'), // row among the transaction's instructions
  logProgram: int(layout.LOG_PROGRAM, 'logs', 'log'), // position
  logKind: int(layout.LOG_KIND, 'logs', 'log'), // 0 log, 1 data, 2 other
  logLength: int(layout.LOG_LENGTH, 'logs', 'log', 'logByte'),
  logText: bytes(layout.LOG_TEXT, 'logs', 'logByte'), // escaped as in the response, without quotes
  // Balances.
  balAccount: int(layout.BAL_ACCOUNT, 'balances', 'balance'), // position
  balPre: long(layout.BAL_PRE, 'balances', 'balance'),
  balChange: long(layout.BAL_CHANGE, 'balances', 'balance'), // zigzag of post - pre, modulo 2^64
  // Token balances: 0 is null, and on the post side 1 means unchanged.
  tokAccount: int(layout.TOK_ACCOUNT, 'tokenBalances', 'tokenBalance'), // position
  tokPreMint: int(layout.TOK_PRE_MINT, 'tokenBalances', 'tokenBalance'),
  tokPostMint: int(layout.TOK_POST_MINT, 'tokenBalances', 'tokenBalance'),
  tokPreDecimals: int(layout.TOK_PRE_DECIMALS, 'tokenBalances', 'tokenBalance'),
  tokPostDecimals: int(layout.TOK_POST_DECIMALS, 'tokenBalances', 'tokenBalance'),
  tokPreProgram: int(layout.TOK_PRE_PROGRAM, 'tokenBalances', 'tokenBalance'),
  tokPostProgram: int(layout.TOK_POST_PROGRAM, 'tokenBalances', 'tokenBalance'),
  tokPreOwner: int(layout.TOK_PRE_OWNER, 'tokenBalances', 'tokenBalance'),
  tokPostOwner: int(layout.TOK_POST_OWNER, 'tokenBalances', 'tokenBalance'),
  tokAmountNull: int(layout.TOK_AMOUNT_NULL, 'tokenBalances', 'tokenBalance'), // bit 0: pre, bit 1: post
  tokPreAmount: long(layout.TOK_PRE_AMOUNT, 'tokenBalances', 'tokenBalance'),
  tokChange: long(layout.TOK_CHANGE, 'tokenBalances', 'tokenBalance'),
  // Rewards.
  rewKey: int(layout.REW_KEY, 'rewards', 'reward'), // dictionary id
  rewLamports: long(layout.REW_LAMPORTS, 'rewards', 'reward'), // zigzag
  rewPostBalance: long(layout.REW_POST_BALANCE, 'rewards', 'reward'),
  rewType: textCode(layout.REW_TYPE, 'rewards', 'reward'), // text code
  rewCommission: int(layout.REW_COMMISSION, 'rewards', 'reward'), // plus one; 0 is null
  // Repeated texts: errors and reward types, as output JSON (including `null`).
  textLength: int(layout.TEXT_LENGTH, 'texts', 'text', 'textByte'),
  textBytes: bytes(layout.TEXT_BYTES, 'texts', 'textByte'),
} as const satisfies Record<string, ColumnShape>;

export type ColumnName = keyof typeof COLUMNS;
export const COLUMN_NAMES = keysOf(COLUMNS);
export const shapeOf = (name: ColumnName): ColumnShape => COLUMNS[name];

export interface FieldColumn {
  readonly column: ColumnName;
  /**
   * A column that has 1 where the value is null. A nullable integer or address without it is stored as 0 for null, and other values plus one.
   * A quantity without it is never null.
   */
  readonly nulls?: ColumnName;
}

/**
 * The fields that have a column of their own in which the value is coded by its type: numbers, flags (1 is true), positions of addresses,
 * text codes. How they are read and how the engine writes them follows from this table.
 */
export const FIELD_COLUMNS = {
  transaction: {
    numReadonlySignedAccounts: { column: 'txReadonlySigned' },
    numReadonlyUnsignedAccounts: { column: 'txReadonlyUnsigned' },
    numRequiredSignatures: { column: 'txRequiredSignatures' },
    recentBlockhash: { column: 'txBlockhash' },
    err: { column: 'txErr' },
    fee: { column: 'txFee', nulls: 'txFeeNull' },
    computeUnitsConsumed: { column: 'txUnits', nulls: 'txUnitsNull' },
    hasDroppedLogMessages: { column: 'txDropped' },
  },
  instruction: {
    programId: { column: 'insProgram' },
    error: { column: 'insError' },
    computeUnitsConsumed: { column: 'insUnits', nulls: 'insUnitsNull' },
  },
  log: { programId: { column: 'logProgram' }, kind: { column: 'logKind' } },
  balance: { account: { column: 'balAccount' }, pre: { column: 'balPre' } },
  tokenBalance: { account: { column: 'tokAccount' } },
  reward: {
    postBalance: { column: 'rewPostBalance' },
    rewardType: { column: 'rewType' },
    commission: { column: 'rewCommission' },
  },
} as const satisfies {
  readonly [K in RecordKind]: { readonly [Name in StoredFieldName<K>]?: FieldColumn };
};

/** The fields of a kind that `FIELD_COLUMNS` has. */
export type ColumnField<K extends RecordKind> = keyof (typeof FIELD_COLUMNS)[K] & string;
