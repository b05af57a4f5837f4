/**
 * Stores every swap of a program, with the tokens that moved in and out of the signer's accounts, in a DuckDB file.
 *
 *   npm install /tmp/sluice-protocol-0.1.0.tgz /tmp/sluice-client-0.1.0.tgz @duckdb/node-api   (docs/guide/README.md says how to pack them)
 *   SLUICE_URL=http://127.0.0.1:8080/datasets/ledger-beta PROGRAM=… DISCRIMINATOR=0x… node swap-feed.js swaps.duckdb
 *
 * Without PROGRAM it reads the AMM of the demo ledger, whose swaps have the discriminator 0xf8c69e91e17587c8. DISCRIMINATOR is the start
 * of the instruction data (`anchorDiscriminator('swap')` for an Anchor program). Without it every instruction of the program counts. Any
 * DuckDB tool can query the file while this program is stopped.
 */
import { DuckDBInstance } from '@duckdb/node-api';
import { type Block, type CursorState, createClient } from '@sluice/client';

const { SLUICE_URL, SLUICE_KEY, PROGRAM, DISCRIMINATOR, FROM_BLOCK = '0', TO_BLOCK } = process.env;
const [file = 'swaps.duckdb'] = process.argv.slice(2);

const client = createClient({
  url: SLUICE_URL ?? 'http://127.0.0.1:8080/datasets/ledger-beta',
  ...(SLUICE_KEY === undefined ? {} : { key: SLUICE_KEY }),
});

const query = {
  fromBlock: Number(FROM_BLOCK),
  toBlock: TO_BLOCK === undefined ? null : Number(TO_BLOCK),
  fields: {
    block: { timestamp: true },
    transaction: { transactionIndex: true, signatures: true, feePayer: true },
    instruction: { transactionIndex: true, instructionAddress: true, isCommitted: true },
    tokenBalance: {
      transactionIndex: true,
      postMint: true,
      postOwner: true,
      preAmount: true,
      postAmount: true,
    },
  },
  instructions: [
    {
      programId: PROGRAM ?? '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc',
      ...(DISCRIMINATOR === undefined ? {} : { discriminator: DISCRIMINATOR }),
      isCommitted: true,
      transaction: true,
      transactionTokenBalances: true,
    },
  ],
} as const;

const database = await DuckDBInstance.create(file);
const db = await database.connect();
await db.run(`create table if not exists swap (
  slot bigint, time timestamp, transaction_index integer, address varchar, signature varchar, signer varchar,
  mint_in varchar, amount_in hugeint, mint_out varchar, amount_out hugeint)`);
await db.run('create table if not exists cursor (state varchar)');

async function loadCursor(): Promise<CursorState | undefined> {
  const [row] = (await db.runAndReadAll('select state from cursor')).getRows();
  return row === undefined ? undefined : (JSON.parse(String(row[0])) as CursorState);
}

/** Returns the changes of the signer's token accounts: the largest loss is the token sold, the largest gain the token bought. */
function findLegs({ tokenBalances }: Block<typeof query>, index: number, signer: string) {
  const moves = tokenBalances
    .filter((balance) => balance.transactionIndex === index && balance.postOwner === signer)
    .map(({ postMint, preAmount, postAmount }) => ({
      mint: postMint,
      gained: (postAmount ?? 0n) - (preAmount ?? 0n),
    }))
    .sort((a, b) => (a.gained < b.gained ? -1 : 1));
  const [lost, gained] = [moves[0], moves.at(-1)];
  return {
    in: lost !== undefined && lost.gained < 0n ? lost : undefined,
    out: gained !== undefined && gained.gained > 0n ? gained : undefined,
  };
}

async function storeSwaps(block: Block<typeof query>): Promise<void> {
  const transactions = new Map(block.transactions.map((one) => [one.transactionIndex, one]));
  for (const { transactionIndex, instructionAddress } of block.instructions) {
    const transaction = transactions.get(transactionIndex);
    if (transaction === undefined) continue;
    const legs = findLegs(block, transactionIndex, transaction.feePayer);
    const insert = await db.prepare(
      `insert into swap values ($1, to_timestamp($2::bigint), $3, $4, $5, $6, $7, $8::hugeint, $9, $10::hugeint)`,
    );
    const text = (value: string | null | undefined) => value ?? null;
    insert.bind([
      block.header.number,
      block.header.timestamp === null ? null : String(block.header.timestamp),
      transactionIndex,
      instructionAddress.join('.'),
      text(transaction.signatures[0]),
      transaction.feePayer,
      text(legs.in?.mint),
      legs.in === undefined ? null : String(-legs.in.gained),
      text(legs.out?.mint),
      legs.out === undefined ? null : String(legs.out.gained),
    ]);
    await insert.run();
  }
}

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());

try {
  const cursor = { load: loadCursor };
  for await (const batch of client.stream(query, { cursor, signal: stop.signal })) {
    await db.run('begin');
    if (batch.kind === 'rollback') await db.run(`delete from swap where slot > ${batch.to.number}`);
    else for (const block of batch.blocks) await storeSwaps(block);
    await db.run('delete from cursor');
    await db.run('insert into cursor values ($1)', [JSON.stringify(batch.cursor)]);
    await db.run('commit');
  }
} catch (error) {
  if (!stop.signal.aborted) throw error;
} finally {
  db.closeSync();
}
