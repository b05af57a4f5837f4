import { deflateSync } from 'node:zlib';
import type { Block } from '../../../../ledger/src/block.ts';
import { isAddress } from '../../../../ledger/src/primitives.ts';

const ADDRESS_BYTES = 32;

/**
 * Returns the compressed size of a block's records: JSON lines in which numbers replace the addresses, deflated at level 6, plus the
 * addresses themselves. Deflate stands for zstd at level 1, which not every runtime has.
 */
export function countCompressedBytes(block: Block): number {
  const ids = new Map<string, number>();
  const replace = (_: string, value: unknown): unknown => {
    if (typeof value === 'bigint') return Number(value);
    if (!isAddress(value)) return value;
    if (!ids.has(value)) ids.set(value, ids.size);
    return ids.get(value);
  };
  const { transactions, instructions, logs, balances, tokenBalances } = block;
  const rows = [...transactions, ...instructions, ...logs, ...balances, ...tokenBalances];
  const text = rows.map((row) => JSON.stringify(row, replace)).join('\n');
  return deflateSync(text, { level: 6 }).length + ids.size * ADDRESS_BYTES;
}
