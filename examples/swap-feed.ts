/**
 * Stores every swap of a program in a DuckDB file, with the tokens that it moved into the pool and out of it.
 *
 *   npm install /tmp/sluice-protocol-0.1.0.tgz /tmp/sluice-client-0.1.0.tgz @duckdb/node-api   (docs/guide/README.md says how to pack them)
 *   SLUICE_URL=http://127.0.0.1:8080/datasets/ledger-beta PROGRAM=… DISCRIMINATOR=0x… node swap-feed.js swaps.duckdb
 *
 * The default is the AMM of the demo ledger. DISCRIMINATOR is the start of the data of a swap instruction (`anchorDiscriminator('swap')`
 * for an Anchor program). Any DuckDB tool can query the file while this program is stopped.
 */
import { DuckDBInstance } from '@duckdb/node-api';
import { type Block, type CursorState, createClient, decodeBase58, toHex } from '@sluice/client';

const { SLUICE_URL, SLUICE_KEY, FROM_BLOCK = '0', TO_BLOCK } = process.env;
const PROGRAM = process.env['PROGRAM'] ?? '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';
const DISCRIMINATOR = process.env['DISCRIMINATOR'] ?? '0xf8c69e91e17587c8';
const [file = 'swaps.duckdb'] = process.argv.slice(2);

const url = SLUICE_URL ?? 'http://127.0.0.1:8080/datasets/ledger-beta';
const client = createClient({ url, ...(SLUICE_KEY === undefined ? {} : { key: SLUICE_KEY }) });

const query = {
  fromBlock: Number(FROM_BLOCK),
  toBlock: TO_BLOCK === undefined ? null : Number(TO_BLOCK),
  fields: {
    block: { timestamp: true },
    transaction: { transactionIndex: true, signatures: true, feePayer: true },
    instruction: {
      transactionIndex: true,
      instructionAddress: true,
      programId: true,
      accounts: true,
      data: true,
    },
    tokenBalance: { transactionIndex: true, account: true, preMint: true, postMint: true },
  },
  instructions: [
    {
      programId: PROGRAM,
      discriminator: DISCRIMINATOR,
      isCommitted: true,
      transaction: true,
      innerInstructions: true,
      transactionTokenBalances: true,
    },
  ],
} as const;

const db = await (await DuckDBInstance.create(file)).connect();
await db.run(`create table if not exists swap (
  slot bigint, time timestamp, transaction_index integer, address varchar, signature varchar, signer varchar,
  mint_in varchar, amount_in hugeint, mint_out varchar, amount_out hugeint)`);
await db.run('create table if not exists cursor (state varchar)');

async function loadCursor(): Promise<CursorState | undefined> {
  const [row] = (await db.runAndReadAll('select state from cursor')).getRows();
  return row === undefined ? undefined : (JSON.parse(String(row[0])) as CursorState);
}

type Instruction = Block<typeof query>['instructions'][number];

/** Returns the token transfers that a swap made itself: the first one into the pool, the last one out of it. */
function findLegs({ instructions, tokenBalances }: Block<typeof query>, swap: Instruction) {
  const { transactionIndex: index, instructionAddress: address } = swap;
  const isHere = (one: { transactionIndex: number }) => one.transactionIndex === index;
  const balances = tokenBalances.filter(isHere);
  const mints = new Map(balances.map((one) => [one.account, one.postMint ?? one.preMint]));
  const transfers = instructions.filter(isHere).flatMap((one) => {
    const isCalled = one.instructionAddress.slice(0, -1).join('.') === address.join('.');
    const data = decodeBase58(one.data);
    const [from = '', to = ''] = one.accounts;
    // 3 is Transfer and 12 is TransferChecked, whose second account is the mint. The amount follows.
    if (!isCalled || one.accounts.length < 3 || (data[0] !== 3 && data[0] !== 12)) return [];
    // An account that exists only during the transaction has no balance, but the pool's account has.
    const mint = data[0] === 12 ? to : (mints.get(from) ?? mints.get(to) ?? null);
    return [{ mint, amount: String(Buffer.from(data).readBigUInt64LE(1)) }];
  });
  return { sold: transfers[0], bought: transfers.at(-1) };
}

async function storeSwaps(block: Block<typeof query>): Promise<void> {
  const transactions = new Map(block.transactions.map((one) => [one.transactionIndex, one]));
  for (const swap of block.instructions) {
    const { transactionIndex, instructionAddress, programId, data } = swap;
    const transaction = transactions.get(transactionIndex);
    const isSwap = programId === PROGRAM && toHex(decodeBase58(data)).startsWith(DISCRIMINATOR);
    if (!isSwap || transaction === undefined) continue;
    const { sold, bought } = findLegs(block, swap);
    await db.run(
      `insert into swap values ($1, to_timestamp($2::bigint), $3, $4, $5, $6, $7, $8::hugeint, $9, $10::hugeint)`,
      [
        block.header.number,
        block.header.timestamp === null ? null : String(block.header.timestamp),
        transactionIndex,
        instructionAddress.join('.'),
        ...[transaction.signatures[0] ?? null, transaction.feePayer],
        ...[sold?.mint ?? null, sold?.amount ?? null, bought?.mint ?? null, bought?.amount ?? null],
      ],
    );
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
