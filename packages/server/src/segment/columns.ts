/**
 * The columns of a row group. One table feeds the writer, the readers, the merge and `sluice inspect`, and every segment
 * carries what it says of each column, so that a reader can skip columns that it does not know.
 *
 * Every 32-byte value of a transaction stands once in its key list:
 *
 *   keys of one transaction = static ++ loaded writable ++ loaded readonly ++ others (mints, owners, blockhash, …)
 *
 * and every column that names an address holds a position in that list. So an address costs one byte per mention, and
 * the key lists alone are the source of the inverted index.
 */
import type { LogKind } from '../ledger/block.ts';

export type ColumnType = 'int' | 'long' | 'bytes';

/** What the rows of a column are. A page knows how many rows of each domain its transactions have. */
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
 * Columns that are read together. Those of `paged` sections are cut into pages of a few transactions; the others, which
 * belong to whole blocks, are one page a row group. A section comes after those whose columns count its rows.
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

/** How a column's values are coded in a page; the numbers of `kernels/assembly/shared/pages.ts`. */
export const CODING = { int: 0, long: 1, bytes: 2, delta: 3, keys: 4 } as const;
export type Coding = keyof typeof CODING;

/** The values of the column `logKind`. */
export const LOG_KIND_CODES = { log: 0, data: 1, other: 2 } as const satisfies Record<
  LogKind,
  number
>;

interface ColumnShape {
  readonly type: ColumnType;
  /** The number that stands for the column in every segment. It is never used for another. */
  readonly id: number;
  readonly section: Section;
  readonly domain: Domain;
  readonly coding: Coding;
  /** The domain whose rows the column counts. */
  readonly adds?: Domain;
  /** Bytes a value, where it is bytes. */
  readonly unit?: number;
}

const int = <Id extends number>(id: Id, section: Section, domain: Domain, adds?: Domain) =>
  ({ type: 'int', id, section, domain, coding: 'int', ...(adds && { adds }) }) as const;
const long = <Id extends number>(id: Id, section: Section, domain: Domain) =>
  ({ type: 'long', id, section, domain, coding: 'long' }) as const;
const bytes = <Id extends number>(id: Id, section: Section, domain: Domain, unit = 1) =>
  ({ type: 'bytes', id, section, domain, coding: 'bytes', unit }) as const;

/** Of each section in the order in which they are coded: a column that counts comes before what it counts. */
export const COLUMNS = {
  // Transactions, a row each.
  txIndex: { ...int(0, 'transactions', 'transaction'), coding: 'delta' },
  txVersion: int(1, 'transactions', 'transaction'), // plus one: legacy is 0
  txRequiredSignatures: int(2, 'transactions', 'transaction'),
  txReadonlySigned: int(3, 'transactions', 'transaction'),
  txReadonlyUnsigned: int(4, 'transactions', 'transaction'),
  txStaticCount: int(5, 'transactions', 'transaction', 'key'),
  txWritableCount: int(6, 'transactions', 'transaction', 'key'),
  txReadonlyCount: int(7, 'transactions', 'transaction', 'key'),
  txOtherCount: int(8, 'transactions', 'transaction', 'key'),
  txKeys: { ...int(9, 'keys', 'key'), coding: 'keys' }, // dictionary ids
  txBlockhash: int(10, 'transactions', 'transaction'), // position
  txSignatureCount: int(11, 'transactions', 'transaction', 'signature'),
  txSignatures: bytes(12, 'signatures', 'signature', 64),
  txErr: int(13, 'transactions', 'transaction'), // text code
  txFee: long(14, 'transactions', 'transaction'),
  txFeeNull: int(15, 'transactions', 'transaction'),
  txUnits: long(16, 'transactions', 'transaction'),
  txUnitsNull: int(17, 'transactions', 'transaction'),
  txDropped: int(18, 'transactions', 'transaction'),
  txLookupCount: int(19, 'transactions', 'transaction', 'lookup'),
  txInstructionCount: int(20, 'transactions', 'transaction', 'instruction'),
  txLogCount: int(21, 'transactions', 'transaction', 'log'),
  txBalanceCount: int(22, 'transactions', 'transaction', 'balance'),
  txTokenBalanceCount: int(23, 'transactions', 'transaction', 'tokenBalance'),
  // Address table lookups of transactions.
  lookupKey: int(24, 'transactions', 'lookup'), // position
  lookupReadonlyCount: int(25, 'transactions', 'lookup', 'lookupIndex'),
  lookupWritableCount: int(26, 'transactions', 'lookup', 'lookupIndex'),
  lookupIndexes: int(27, 'transactions', 'lookupIndex'), // readonly first
  // Instructions.
  insDepth: int(28, 'instructions', 'instruction'),
  insOdd: int(29, 'instructions', 'instruction', 'oddStep'), // 0, or the length of an address that does not follow from the depths before it
  insOddSteps: int(30, 'instructions', 'oddStep'), // those addresses in full
  insProgram: int(31, 'instructions', 'instruction'), // position
  insAccountCount: int(32, 'instructions', 'instruction', 'account'),
  insAccounts: int(33, 'instructions', 'account'), // positions
  insDataLength: int(34, 'data', 'instruction', 'dataByte'),
  insData: bytes(35, 'data', 'dataByte'),
  insError: int(36, 'instructions', 'instruction'), // text code
  insUnits: long(37, 'instructions', 'instruction'),
  insUnitsNull: int(38, 'instructions', 'instruction'),
  insFlags: int(39, 'instructions', 'instruction'), // bits 0-1: committed (0 no, 1 yes, 2 unknown), bit 2: dropped logs
  // Logs.
  logIndex: int(40, 'logs', 'log'), // distance from the previous log of the transaction
  logInstruction: int(41, 'logs', 'log'), // row among the transaction's instructions
  logProgram: int(42, 'logs', 'log'), // position
  logKind: int(43, 'logs', 'log'), // LOG_KIND_CODES
  logLength: int(44, 'logs', 'log', 'logByte'),
  logText: bytes(45, 'logs', 'logByte'), // escaped as in the answer, without quotes
  // Balances.
  balAccount: int(46, 'balances', 'balance'), // position
  balPre: long(47, 'balances', 'balance'),
  balChange: long(48, 'balances', 'balance'), // zigzag of post - pre, modulo 2^64
  // Token balances; 0 is null, on the post side 1 is "as before".
  tokAccount: int(49, 'tokenBalances', 'tokenBalance'), // position
  tokPreMint: int(50, 'tokenBalances', 'tokenBalance'),
  tokPostMint: int(51, 'tokenBalances', 'tokenBalance'),
  tokPreDecimals: int(52, 'tokenBalances', 'tokenBalance'),
  tokPostDecimals: int(53, 'tokenBalances', 'tokenBalance'),
  tokPreProgram: int(54, 'tokenBalances', 'tokenBalance'),
  tokPostProgram: int(55, 'tokenBalances', 'tokenBalance'),
  tokPreOwner: int(56, 'tokenBalances', 'tokenBalance'),
  tokPostOwner: int(57, 'tokenBalances', 'tokenBalance'),
  tokAmountNull: int(58, 'tokenBalances', 'tokenBalance'), // bit 0: pre, bit 1: post
  tokPreAmount: long(59, 'tokenBalances', 'tokenBalance'),
  tokChange: long(60, 'tokenBalances', 'tokenBalance'),
  // Rewards.
  rewKey: int(61, 'rewards', 'reward'), // dictionary id
  rewLamports: long(62, 'rewards', 'reward'), // zigzag
  rewPostBalance: long(63, 'rewards', 'reward'),
  rewType: int(64, 'rewards', 'reward'), // text code
  rewCommission: int(65, 'rewards', 'reward'), // plus one; 0 is null
  // Texts that repeat: errors and reward types, as the JSON of the answer (`null` included).
  textLength: int(66, 'texts', 'text', 'textByte'),
  textBytes: bytes(67, 'texts', 'textByte'),
} as const satisfies Record<string, ColumnShape>;

export type ColumnName = keyof typeof COLUMNS;
export const COLUMN_NAMES = Object.keys(COLUMNS) as readonly ColumnName[];
export const shapeOf = (name: ColumnName): ColumnShape => COLUMNS[name];
