/**
 * The columns of a row group, in the order in which a segment's directory lists them. One table feeds the builder, the
 * reader, the merge and `sluice inspect`.
 *
 * Every 32-byte value of a transaction stands once in its key list:
 *
 *   keys of one transaction = static ++ loaded writable ++ loaded readonly ++ others (mints, owners, blockhash, …)
 *
 * and every column that names an address holds a position in that list. So an address costs one byte per mention, and
 * the key lists alone are the source of the inverted index.
 */
export type ColumnType = 'int' | 'long' | 'bytes';

export const COLUMNS = {
  // transactions, a row each
  txIndex: 'int', // distance from the previous transaction of the block
  txVersion: 'int', // plus one: legacy is 0
  txRequiredSignatures: 'int',
  txReadonlySigned: 'int',
  txReadonlyUnsigned: 'int',
  txStaticCount: 'int',
  txWritableCount: 'int',
  txReadonlyCount: 'int',
  txOtherCount: 'int',
  txKeys: 'int', // dictionary ids, coded against the highest id so far, as below
  txBlockhash: 'int', // position
  txSignatureCount: 'int',
  txSignatures: 'bytes', // 64 bytes each
  txErr: 'int', // text code
  txFee: 'long',
  txFeeNull: 'int',
  txUnits: 'long',
  txUnitsNull: 'int',
  txDropped: 'int',
  txLookupCount: 'int',
  txInstructionCount: 'int',
  txLogCount: 'int',
  txBalanceCount: 'int',
  txTokenBalanceCount: 'int',
  // address table lookups of transactions
  lookupKey: 'int', // position
  lookupReadonlyCount: 'int',
  lookupWritableCount: 'int',
  lookupIndexes: 'int', // readonly first
  // instructions
  insDepth: 'int',
  insOdd: 'int', // 1 where the address does not follow from the depths before it
  insOddSteps: 'int', // those addresses in full
  insProgram: 'int', // position
  insAccountCount: 'int',
  insAccounts: 'int', // positions
  insDataLength: 'int',
  insData: 'bytes',
  insError: 'int', // text code
  insUnits: 'long',
  insUnitsNull: 'int',
  insFlags: 'int', // bits 0-1: committed (0 no, 1 yes, 2 unknown), bit 2: dropped logs
  // logs
  logIndex: 'int', // distance from the previous log of the transaction
  logInstruction: 'int', // row among the transaction's instructions
  logProgram: 'int', // position
  logKind: 'int', // 0 log, 1 data, 2 other
  logLength: 'int',
  logText: 'bytes', // escaped as it goes out, without quotes
  // balances
  balAccount: 'int', // position
  balPre: 'long',
  balChange: 'long', // zigzag of post - pre, modulo 2^64
  // token balances; 0 is null, on the post side 1 is "as before"
  tokAccount: 'int', // position
  tokPreMint: 'int',
  tokPostMint: 'int',
  tokPreDecimals: 'int',
  tokPostDecimals: 'int',
  tokPreProgram: 'int',
  tokPostProgram: 'int',
  tokPreOwner: 'int',
  tokPostOwner: 'int',
  tokAmountNull: 'int', // bit 0: pre, bit 1: post
  tokPreAmount: 'long',
  tokChange: 'long',
  // rewards
  rewKey: 'int', // dictionary id
  rewLamports: 'long', // zigzag
  rewPostBalance: 'long',
  rewType: 'int', // text code
  rewCommission: 'int', // plus one; 0 is null
  // texts that repeat: errors and reward types, as the JSON that goes out (`null` included)
  textLength: 'int',
  textBytes: 'bytes',
} as const satisfies Record<string, ColumnType>;

export type ColumnName = keyof typeof COLUMNS;
export const COLUMN_NAMES = Object.keys(COLUMNS) as readonly ColumnName[];
export const COLUMN_NUMBER = Object.fromEntries(
  COLUMN_NAMES.map((name, number) => [name, number]),
) as Readonly<Record<ColumnName, number>>;
