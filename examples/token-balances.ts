/**
 * Keeps the balance of every SPL token account, as of the newest block, in PostgreSQL.
 *
 *   npm install /tmp/sluice-protocol-0.1.0.tgz /tmp/sluice-client-0.1.0.tgz postgres   (docs/guide/README.md says how to pack them)
 *   DATABASE_URL=postgres://… SLUICE_URL=http://127.0.0.1:8080/datasets/ledger-beta node token-balances.js
 *
 * MINT=… keeps only one token. The program can be stopped at any time: the rows and the cursor are committed together.
 */
import { type BlocksBatch, type CursorState, createClient } from '@sluice/client';
import postgres, { type TransactionSql } from 'postgres';

const { SLUICE_URL, SLUICE_KEY, DATABASE_URL, MINT, FROM_BLOCK = '0', TO_BLOCK } = process.env;

const sql = postgres(DATABASE_URL ?? 'postgres://127.0.0.1/postgres', {
  onnotice: () => {},
  max: 1,
});
const client = createClient({
  url: SLUICE_URL ?? 'http://127.0.0.1:8080/datasets/ledger-beta',
  ...(SLUICE_KEY === undefined ? {} : { key: SLUICE_KEY }),
});

// All filters of an item must match, and items are alternatives. Two items are needed, because a new account has no mint before its
// transaction.
const filter = MINT === undefined ? [{}] : [{ preMint: [MINT] }, { postMint: [MINT] }];
const query = {
  fromBlock: Number(FROM_BLOCK),
  toBlock: TO_BLOCK === undefined ? null : Number(TO_BLOCK),
  fields: {
    tokenBalance: {
      transactionIndex: true,
      account: true,
      postMint: true,
      postOwner: true,
      postAmount: true,
    },
  },
  tokenBalances: filter,
} as const;

// The table `undo` has one row for each change that a fork can undo. An amount has up to 20 digits, more than bigint can hold.
await sql`create table if not exists cursor (id int primary key, state text not null)`;
await sql`create table if not exists balance (
  account text primary key, mint text, owner text, amount numeric(20), slot bigint not null)`;
await sql`create table if not exists undo (
  slot bigint, account text, mint text, owner text, amount numeric(20), old_slot bigint,
  primary key (slot, account))`;

async function loadCursor(): Promise<CursorState | undefined> {
  const [row] = await sql<{ state: string }[]>`select state from cursor where id = 1`;
  return row === undefined ? undefined : (JSON.parse(row.state) as CursorState);
}

/** Stores the last balance of each account in each block, and its previous balance. */
async function storeBlocks(tx: TransactionSql, { blocks, finalizedHead }: Batch): Promise<void> {
  for (const { header, tokenBalances } of blocks) {
    const last = new Map(tokenBalances.map((balance) => [balance.account, balance]));
    if (last.size === 0) continue;
    const rows = [...last.values()].map(({ account, postMint, postOwner, postAmount }) => ({
      account,
      mint: postMint,
      owner: postOwner,
      amount: postAmount === null ? null : postAmount.toString(),
      slot: header.number,
    }));
    const accounts = [...last.keys()];
    await tx`
      insert into undo select ${header.number}::bigint, a.account, b.mint, b.owner, b.amount, b.slot
      from unnest(${accounts}::text[]) as a (account) left join balance b using (account)`;
    await tx`
      insert into balance ${tx(rows)} on conflict (account) do update
      set mint = excluded.mint, owner = excluded.owner, amount = excluded.amount, slot = excluded.slot`;
  }
  // Finalized blocks are never undone.
  await tx`delete from undo where slot <= ${finalizedHead?.number ?? -1}`;
}

/** Restores the balance that every changed account had at the block. */
async function rollBack(tx: TransactionSql, slot: number): Promise<void> {
  const oldest = tx`select distinct on (account) * from undo where slot > ${slot} order by account, slot`;
  await tx`delete from balance using (${oldest}) o where balance.account = o.account and o.old_slot is null`;
  await tx`
    update balance set mint = o.mint, owner = o.owner, amount = o.amount, slot = o.old_slot
    from (${oldest}) o where balance.account = o.account and o.old_slot is not null`;
  await tx`delete from undo where slot > ${slot}`;
}

type Batch = BlocksBatch<typeof query>;

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

try {
  const cursor = { load: loadCursor };
  for await (const batch of client.stream(query, { cursor, signal: stop.signal })) {
    await sql.begin(async (tx) => {
      if (batch.kind === 'rollback') await rollBack(tx, batch.to.number);
      else await storeBlocks(tx, batch);
      const state = JSON.stringify(batch.cursor);
      await tx`insert into cursor values (1, ${state})
        on conflict (id) do update set state = excluded.state`;
    });
  }
} catch (error) {
  if (!stop.signal.aborted) throw error;
} finally {
  await sql.end();
}
