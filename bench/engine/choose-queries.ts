/**
 * The ten queries of the benchmark. Their programs, accounts and owners are chosen from the corpus by frequency and
 * response size, so that any seed gives queries of similar cost.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assert } from '@sluice/base/assert';
import { type Corpus, parquetFolder } from './corpus.ts';
import { openDuckdb } from './duckdb.ts';
import { parseBody } from './parse-body.ts';
import { SluiceSide } from './sluice-side.ts';

export interface BenchQuery {
  readonly name: string;
  /** A description of the query. */
  readonly text: string;
  readonly body: object;
  /** How many times faster than DuckDB with all tables in memory the query must be. */
  readonly factorGoal: number;
}

/** Infrastructure programs, which almost every transaction uses and which are not typical for an application. */
const infrastructure = [
  '11111111111111111111111111111111',
  'ComputeBudget111111111111111111111111111111',
  'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
  'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb',
  'ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL',
];
/** Programs call themselves with this discriminator to record an event; such a call makes no further calls. */
const eventStart = '0xe445a52e51cb9a1d';
const wrappedCoin = 'So11111111111111111111111111111111111111112';

/** The number of blocks over which response sizes are estimated. */
const sampleBlockCount = 50;
const candidateCountMax = 48;
const rareTransactionCount = 20;

const usual = { transaction: true, innerInstructions: true };
const withTokens = { ...usual, transactionTokenBalances: true };
const withLogs = { ...withTokens, logs: true };
const everythingOfTransaction = {
  transaction: true,
  transactionBalances: true,
  transactionTokenBalances: true,
  transactionInstructions: true,
  logs: true,
};

export async function chooseQueries(corpus: Corpus): Promise<readonly BenchQuery[]> {
  const file = join(corpus.folder, 'queries.json');
  const known = await readFile(file, 'utf8').catch(() => undefined);
  if (known !== undefined) return JSON.parse(known) as BenchQuery[];
  const chooser = await Chooser.open(corpus);
  const queries = await chooser.choose();
  await chooser.close();
  await writeFile(file, JSON.stringify(queries, null, 1));
  return queries;
}

type RunSql = (text: string) => Promise<readonly (readonly string[])[]>;

class Chooser {
  readonly #corpus: Corpus;
  readonly #sql: RunSql;
  readonly #sluice: SluiceSide;

  static async open(corpus: Corpus): Promise<Chooser> {
    const connection = await openDuckdb();
    const sluice = await SluiceSide.start(corpus, { threadCount: 1, cacheBytesMax: 1 << 28 });
    const folder = parquetFolder(corpus);
    const sql = async (text: string) => {
      const from = text.replace(/\$(\w+)/g, (_, table) => `'${join(folder, table)}.parquet'`);
      const rows = (await connection.runAndReadAll(from)).getRows();
      return rows.map((row) => row.map(String));
    };
    return new Chooser(corpus, sql, sluice);
  }

  constructor(corpus: Corpus, sql: RunSql, sluice: SluiceSide) {
    this.#corpus = corpus;
    this.#sql = sql;
    this.#sluice = sluice;
  }

  async close(): Promise<void> {
    await this.#sluice.close();
  }

  async choose(): Promise<BenchQuery[]> {
    const applications = `programId NOT IN (${quoted(infrastructure)})`;
    const calls = await this.#sql(
      `SELECT programId, d8 FROM $instructions WHERE ${applications} AND d8 <> '${eventStart}' GROUP BY ALL ORDER BY count(*) DESC, 1, 2 LIMIT ${candidateCountMax}`,
    );
    const swaps = calls.map(([programId, d8]) => ({ programId: [programId], d8: [d8] }));
    const swap = await this.#nearest(15_000, swaps, (item) => ({
      instructions: [{ ...item, ...usual }],
    }));
    const byAccount = await this.#nearest(300_000, await this.#accountItems(), (item) => ({
      instructions: [{ ...item, ...everythingOfTransaction }],
    }));
    const ask = (text: string, factorGoal: number, parts: object) => ({
      text,
      factorGoal,
      body: { fromBlock: this.#corpus.firstSlot, toBlock: this.#corpus.lastSlot, ...parts },
    });
    const instructions = (...items: object[]) => ({ instructions: items });
    const queries = [
      ask(
        'program + d8 → transaction, inner instructions',
        10,
        instructions({ ...swap, ...usual }),
      ),
      ask('the same + token balances', 10, instructions({ ...swap, ...withTokens })),
      ask('the same + logs', 10, instructions({ ...swap, ...withLogs })),
      ask(
        'program + d1 + a1 → everything of the transaction',
        10,
        instructions({ ...byAccount, ...everythingOfTransaction }),
      ),
      ask('three mixed groups, half of all transactions', 10, await this.#mixed(applications)),
      ask(
        'twelve groups: programs by discriminator',
        10,
        instructions(...(await this.#twelve(applications))),
      ),
      ask('headers of all blocks', 1, headers),
      ask('token balances by owner', 10, await this.#owner()),
      ask('a rare account by mentionsAccount', 100, await this.#rare()),
      ask('everything', 10, everything),
    ];
    return queries.map((query, at) => ({ name: `Q${at + 1}`, ...query }));
  }

  /** Returns the candidate whose response size per block is closest to the target; the first of equals. */
  async #nearest<Candidate>(
    goalBytes: number,
    candidates: readonly Candidate[],
    toParts: (candidate: Candidate) => object,
  ): Promise<Candidate> {
    const { firstSlot, lastSlot } = this.#corpus;
    const toBlock = Math.min(firstSlot + sampleBlockCount - 1, lastSlot);
    let best: { candidate: Candidate; distance: number } | undefined;
    for (const candidate of candidates) {
      const query = parseBody({ fromBlock: firstSlot, toBlock, ...toParts(candidate) });
      let bytes = 0;
      for await (const piece of this.#sluice.answer(query)) bytes += piece.length;
      const distance = Math.abs(Math.log(bytes / (toBlock - firstSlot + 1) / goalBytes));
      if (best === undefined || distance < best.distance) best = { candidate, distance };
    }
    assert(best !== undefined, 'a corpus has candidates');
    return best.candidate;
  }

  /**
   * Chooses the most frequent program and d1, with a growing number of the accounts that are most frequent at position
   * 1.
   */
  async #accountItems(): Promise<object[]> {
    const [[programId, d1] = []] = await this.#sql(
      'SELECT programId, d1 FROM $instructions WHERE d1 IS NOT NULL AND len(accounts) > 1 GROUP BY ALL ORDER BY count(*) DESC, 1, 2 LIMIT 1',
    );
    const accounts = await this.#column(
      `SELECT accounts[2] FROM $instructions WHERE programId = '${programId}' AND d1 = '${d1}' AND len(accounts) > 1 GROUP BY ALL ORDER BY count(*) DESC, 1 LIMIT 512`,
    );
    return [1, 2, 4, 8, 16, 32, 64, 128, 256, 512].map((count) => ({
      programId: [programId],
      d1: [d1],
      a1: accounts.slice(0, count),
    }));
  }

  /** Adds programs until the three groups cover half of all transactions. */
  async #mixed(applications: string): Promise<object> {
    const [payer = ''] = await this.#column(
      'SELECT feePayer FROM $transactions GROUP BY ALL ORDER BY count(*) DESC, 1 LIMIT 1',
    );
    const [mint = ''] = await this.#column(
      `SELECT postMint FROM $tokenBalances WHERE postMint <> '${wrappedCoin}' GROUP BY ALL ORDER BY count(*) DESC, 1 LIMIT 1`,
    );
    const programs = await this.#column(
      `SELECT programId FROM $instructions WHERE ${applications} GROUP BY ALL ORDER BY count(*) DESC, 1 LIMIT ${candidateCountMax}`,
    );
    let count = 0;
    for (let covered = 0; covered < 0.5 && count < programs.length; ) {
      count++;
      const keys = 'SELECT block, transactionIndex FROM';
      const [share = '1'] = await this.#column(
        `SELECT count(*) / (SELECT count(*) FROM $transactions) FROM (${keys} $instructions WHERE programId IN (${quoted(programs.slice(0, count))}) UNION ${keys} $tokenBalances WHERE postMint = '${mint}' UNION ${keys} $transactions WHERE feePayer = '${payer}')`,
      );
      covered = Number(share);
    }
    return {
      instructions: [{ programId: programs.slice(0, count), ...withLogs }],
      tokenBalances: [{ postMint: [mint], transaction: true, transactionInstructions: true }],
      transactions: [{ feePayer: [payer], instructions: true, balances: true, logs: true }],
    };
  }

  /**
   * Chooses the twelve most frequent application programs, each with its most frequent d8, or d1 if no d8 is frequent.
   */
  async #twelve(applications: string): Promise<object[]> {
    const programs = await this.#sql(
      `SELECT programId, count(*) FROM $instructions WHERE ${applications} GROUP BY ALL ORDER BY count(*) DESC, 1 LIMIT 12`,
    );
    const items: object[] = [];
    for (const [programId = '', count] of programs) {
      const most = async (name: string) =>
        await this.#sql(
          `SELECT ${name}, count(*) FROM $instructions WHERE programId = '${programId}' AND d8 <> '${eventStart}' GROUP BY ALL ORDER BY count(*) DESC, 1 LIMIT 1`,
        );
      const [[d8, d8Count] = []] = await most('d8');
      const [[d1] = []] = await most('d1');
      const start = Number(d8Count) * 5 >= Number(count) ? { d8: [d8] } : { d1: [d1] };
      items.push({ programId: [programId], ...start, ...withLogs });
    }
    return items;
  }

  async #owner(): Promise<object> {
    const owners = await this.#column(
      `SELECT postOwner FROM $tokenBalances WHERE postOwner IS NOT NULL GROUP BY ALL ORDER BY count(*) DESC, 1 LIMIT ${candidateCountMax}`,
    );
    const toParts = (owner: string) => ({
      tokenBalances: [{ preOwner: [owner] }, { postOwner: [owner] }],
    });
    return toParts(await this.#nearest(13_000, owners, toParts));
  }

  /** Chooses an account that occurs in a given number of transactions, or the closest number available. */
  async #rare(): Promise<object> {
    const [account] = await this.#column(
      `WITH keys AS (SELECT unnest(accountKeys) AS key FROM $transactions UNION ALL SELECT unnest(loadedAddresses.writable) FROM $transactions)
       SELECT key FROM keys GROUP BY key ORDER BY abs(count(*) - ${rareTransactionCount}), key LIMIT 1`,
    );
    return {
      transactions: [
        { mentionsAccount: [account], instructions: true, tokenBalances: true, logs: true },
      ],
    };
  }

  async #column(text: string): Promise<readonly string[]> {
    return (await this.#sql(text)).map(([value = '']) => value);
  }
}

const headers = {
  includeAllBlocks: true,
  fields: {
    block: {
      number: true,
      hash: true,
      parentSlot: true,
      parentHash: true,
      height: true,
      timestamp: true,
    },
  },
};

const everything = {
  transactions: [{}],
  instructions: [{}],
  logs: [{}],
  balances: [{}],
  tokenBalances: [{}],
  rewards: [{}],
};

function quoted(values: readonly string[]): string {
  return values.map((value) => `'${value}'`).join();
}
