import { decodeBase58 } from '@sluice/base/base58';
import type { Block } from '../../../../ledger/src/block.ts';

/** Returns the size of a block's transactions and their records in a response with all fields selected. */
export function countWireBytes(block: Block): number {
  let count = 0;
  const add = (record: object): void => {
    count +=
      JSON.stringify(record, (_, value) => (typeof value === 'bigint' ? Number(value) : value))
        .length + 1;
  };
  for (const { err, ...row } of block.transactions) {
    add({ ...row, err: err === null ? null : JSON.parse(err), feePayer: row.accountKeys[0] });
  }
  for (const row of block.instructions) {
    const bytes = row.data.length > 40 ? undefined : decodeBase58(row.data);
    // Longer data always has more than eight bytes.
    const has = (length: number): boolean => bytes === undefined || bytes.length >= length;
    const start = (length: number): string | null =>
      has(length) ? `0x${'00'.repeat(length)}` : null;
    add({ ...row, d1: start(1), d2: start(2), d4: start(4), d8: start(8) });
  }
  for (const row of block.logs) add(row);
  for (const row of block.balances) add(row);
  for (const row of block.tokenBalances) add(row);
  return count;
}
