/**
 * The block table of a segment, one row per block. It is stored separately from the row groups, so that reading headers does not touch
 * them.
 */
import { keysOf } from '@sluice/protocol/typed-keys';
import type { ColumnType } from './columns.ts';

/** `id` identifies the column in every segment and is never reused for another column. */
export const BLOCK_COLUMNS = {
  number: { type: 'long', id: 0 }, // difference from the previous block
  parentDistance: { type: 'long', id: 1 }, // number - parentSlot
  hash: { type: 'bytes', id: 2 }, // 32 bytes each
  parentHashKind: { type: 'int', id: 3 }, // 0 null, 1 the hash of the previous block, 2 stored
  parentHash: { type: 'bytes', id: 4 }, // 32 bytes each, if stored
  height: { type: 'long', id: 5 },
  heightNull: { type: 'int', id: 6 },
  timestamp: { type: 'long', id: 7 }, // two's complement
  timestampNull: { type: 'int', id: 8 },
  transactions: { type: 'int', id: 9 },
  instructions: { type: 'int', id: 10 },
  logs: { type: 'int', id: 11 },
  balances: { type: 'int', id: 12 },
  tokenBalances: { type: 'int', id: 13 },
  rewards: { type: 'int', id: 14 },
} as const satisfies Record<string, { readonly type: ColumnType; readonly id: number }>;

export type BlockColumnName = keyof typeof BLOCK_COLUMNS;
export const BLOCK_COLUMN_NAMES = keysOf(BLOCK_COLUMNS);

/** The names of the block columns of one type. */
export type BlockColumnOf<Type extends ColumnType> = {
  [Name in BlockColumnName]: (typeof BLOCK_COLUMNS)[Name]['type'] extends Type ? Name : never;
}[BlockColumnName];
