/**
 * The block table of a segment: one row a block, kept apart from the row groups so that headers alone never touch them.
 */
import type { ColumnType } from './columns.ts';

export const BLOCK_COLUMNS = {
  number: 'long', // distance from the block before
  parentDistance: 'long', // number - parentSlot
  hash: 'bytes', // 32 bytes each
  parentHashKind: 'int', // 0 null, 1 the hash of the block before, 2 written out
  parentHash: 'bytes', // 32 bytes each, where written out
  height: 'long',
  heightNull: 'int',
  timestamp: 'long', // two's complement
  timestampNull: 'int',
  transactions: 'int',
  instructions: 'int',
  logs: 'int',
  balances: 'int',
  tokenBalances: 'int',
  rewards: 'int',
} as const satisfies Record<string, ColumnType>;

export type BlockColumnName = keyof typeof BLOCK_COLUMNS;
export const BLOCK_COLUMN_NAMES = Object.keys(BLOCK_COLUMNS) as readonly BlockColumnName[];
