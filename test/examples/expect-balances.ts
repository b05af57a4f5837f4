import { expect } from 'vitest';
import { createClient } from '../../packages/client/src/client.ts';
import type { Database } from './database.ts';

interface Balance {
  readonly account: unknown;
  readonly mint: unknown;
  readonly owner: unknown;
  readonly amount: bigint | null;
  readonly slot: unknown;
}

const byAccount = (a: Balance, b: Balance) => (String(a.account) < String(b.account) ? -1 : 1);

/** Compares the table of the example with the balances of the final chain, which the finalized stream returns. */
export async function expectBalances(
  url: string,
  database: Database,
  { first, last }: { readonly first: number; readonly last: number },
): Promise<void> {
  const query = {
    fromBlock: first,
    toBlock: last,
    fields: { tokenBalance: { account: true, postMint: true, postOwner: true, postAmount: true } },
    tokenBalances: [{}],
  } as const;
  const expected = new Map<string, Balance>();
  for await (const batch of createClient({ url }).stream(query, { finalized: true })) {
    if (batch.kind === 'rollback') throw new Error('finalized blocks are not rolled back');
    for (const { header, tokenBalances } of batch.blocks) {
      for (const { account, postMint, postOwner, postAmount } of tokenBalances) {
        const row = {
          account,
          mint: postMint,
          owner: postOwner,
          amount: postAmount,
          slot: header.number,
        };
        expected.set(account, row);
      }
    }
  }
  const rows = await database.query(
    'select account, mint, owner, amount::text, slot::int from balance',
  );
  const held = rows.map(({ account, mint, owner, amount, slot }): Balance => {
    return { account, mint, owner, amount: amount === null ? null : BigInt(String(amount)), slot };
  });
  expect(held.length).toBeGreaterThan(20);
  expect(held.sort(byAccount)).toEqual([...expected.values()].sort(byAccount));
}
