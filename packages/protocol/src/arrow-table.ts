/** The tables of the output form Arrow: one for each kind of record and one for blocks, with the names that their columns have. */
import type { RecordArray } from './field-table.ts';
import { keysOf } from './typed-keys.ts';

export const ARROW_STREAM_TYPE = 'application/vnd.apache.arrow.stream';

/** The name of each table, and the array of a line that has the same records. */
export const ARROW_TABLES = {
  transactions: 'transactions',
  instructions: 'instructions',
  logs: 'logs',
  balances: 'balances',
  token_balances: 'tokenBalances',
  rewards: 'rewards',
  blocks: undefined,
} as const satisfies Readonly<Record<string, RecordArray | undefined>>;

export type ArrowTable = keyof typeof ARROW_TABLES;
export const ARROW_TABLE_NAMES = keysOf(ARROW_TABLES);

/** How addresses and signatures are written: as texts, addresses with a dictionary, or as their bytes. */
export const ARROW_ADDRESSES = ['text', 'binary'] as const;
export type ArrowAddresses = (typeof ARROW_ADDRESSES)[number];

/** Columns whose name does not follow from the name of the field. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  'block.number': 'block_slot',
  'block.timestamp': 'block_time',
  'block.hash': 'block_hash',
  'block.height': 'block_height',
  'block.parentNumber': 'parent_slot',
  'reward.pubKey': 'pubkey',
};

/** Returns the name of the column with a field: `programId` of an instruction is in the column `program_id`. */
export function arrowColumnName(kind: string, field: string): string {
  return OTHER_NAMES[`${kind}.${field}`] ?? snakeCase(field);
}

export function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The key of the metadata of a record batch with the block up to which the rows are complete, as JSON: `{"number","hash"}`. */
export const COVERED_KEY = 'covered_block';
/** The key with the finalized head, as JSON. It is there if the query selects `finalizedHead` of blocks. */
export const FINALIZED_KEY = 'finalized_head';
/** The length of the text of the finalized head. Spaces reserve it in a batch, and the text replaces them later. */
export const finalizedTextLength = 96;

export function arrowMetadata(
  number: number,
  hash: string,
  hasFinalized: boolean,
): readonly (readonly [key: string, value: string])[] {
  const covered = [COVERED_KEY, JSON.stringify({ number, hash })] as const;
  if (!hasFinalized) return [covered];
  return [covered, [FINALIZED_KEY, 'null'.padEnd(finalizedTextLength)]];
}
