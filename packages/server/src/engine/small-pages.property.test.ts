/**
 * Queries that need few pages of a segment with small pages and dictionaries, compared with the reference. Most other tests have segments
 * of one row group with large pages. Here row groups are full, so a query reads some pages and skips others.
 */

import type { Block, Transaction } from '@sluice/ledger/block';
import type { Slot } from '@sluice/ledger/primitives';
import type { QueryBody } from '@sluice/protocol/query-body';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Query } from '../query/query.ts';
import { PART } from '../segment/layout/directory.ts';
import { openSegment } from '../segment/read/open-segment.ts';
import { sampleAddress } from '../segment/testing/sample-block.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { Engine } from './engine.ts';
import { answerSegments } from './testing/answer-segments.ts';
import { arbitraryBlocks } from './testing/arbitrary-block.ts';
import { arbitraryQuery, parseTestQuery } from './testing/arbitrary-query.ts';
import { answerQuery } from './testing/reference/answer-query.ts';

const addressAt = (number: number) => sampleAddress(20_000 + number);
const common = addressAt(0);
const rareOf = (slot: number, place: number) => addressAt(1 + ((slot * 4 + place) % 700));

/**
 * Random consecutive blocks with a fixed seed. A row group has 512, so these are a full one and the start of another. The generator uses
 * few addresses, so each transaction and its instructions get a rare address, and every third transaction a common one.
 */
const blocks = fc
  .sample(arbitraryBlocks({ minLength: 40, maxLength: 40 }), { numRuns: 14, seed: 20_261_116 })
  .flat()
  .map((block, slot): Block => {
    const header = {
      ...block.header,
      number: slot as Slot,
      parentSlot: Math.max(0, slot - 1) as Slot,
    };
    const indexes = block.transactions.map(({ transactionIndex }) => transactionIndex);
    const transactions = block.transactions.map((transaction, i) => {
      const more = (slot * 4 + i) % 3 === 0 ? [common] : [];
      const accountKeys = [...transaction.accountKeys, ...more, rareOf(slot, i)];
      return { ...transaction, accountKeys };
    });
    const instructions = block.instructions.map((instruction) => {
      const i = indexes.indexOf(instruction.transactionIndex);
      return { ...instruction, accounts: [...instruction.accounts, rareOf(slot, i)] };
    });
    return { ...block, header, transactions, instructions };
  });
const bytes = buildSegment(blocks);
const segment = openSegment(bytes);
const { groups } = segment.directory;
const pageCount = groups.reduce(
  (sum, { transactionCount, pageTransactions }) =>
    sum + Math.ceil(transactionCount / pageTransactions),
  0,
);

const roomy = new Engine({ cacheBytesMax: 1 << 26 });
const tight = new Engine({ cacheBytesMax: 1 });
for (const engine of [roomy, tight]) engine.open('all', bytes);

const answer = (engine: Engine, query: Query) =>
  Buffer.concat([...answerSegments(engine, ['all'], query)]).toString();

/** Returns how many pages a query reads over all sections, and how many candidate transactions its items have. */
function costOf(query: Query): { pagesRead: number; candidateCount: number } {
  const run = roomy.begin('all', query);
  try {
    for (const piece of run.pieces()) expect(piece.length).toBeGreaterThan(0);
    const { pagesRead, items } = run.report;
    const lists = items.map(({ driving }) => driving?.transactions.length ?? 0);
    return { pagesRead, candidateCount: lists.reduce((sum, length) => sum + length, 0) };
  } finally {
    run.release();
  }
}

test('behavior: the segment has full row groups with small pages and dictionaries', () => {
  expect(groups.length).toBeGreaterThan(1);
  for (const { pageTransactions } of groups) expect(pageTransactions).toBe(4);
  expect(segment.partCount(PART.sectionDictionary)).toBeGreaterThan(3);
  expect(pageCount).toBeGreaterThan(200);
});

/** Compared as a whole, because a difference of megabytes would make the report useless. */
function expectSame(query: Query): void {
  const expected = answerQuery(query, blocks);
  expect(answer(roomy, query) === expected).toBe(true);
  expect(answer(tight, query) === expected).toBe(true);
}

test('property: random queries return the same answer as the reference, with and without memory for the cache (I-32)', () => {
  fc.assert(fc.property(arbitraryQuery(blocks), expectSame), { numRuns: 30, endOnFailure: true });
});

const transactions = blocks.flatMap((block) =>
  block.transactions.map((transaction) => ({ block, transaction })),
);
type Placed = (typeof transactions)[number];

const own = <Row extends { readonly transactionIndex: number }>(
  rows: readonly Row[],
  { transactionIndex }: Transaction,
) => rows.filter((row) => row.transactionIndex === transactionIndex);

/** Items that match few transactions: several filters with values of this transaction, and all relations. */
function itemsFor({ block, transaction }: Placed, flags: boolean): Partial<QueryBody> {
  const instructions = own(block.instructions, transaction).slice(0, 2);
  const [balance] = own(block.balances, transaction);
  const [token] = own(block.tokenBalances, transaction);
  const related = {
    transaction: flags,
    transactionBalances: flags,
    transactionTokenBalances: flags,
    transactionInstructions: flags,
    logs: flags,
  };
  const rows = flags ? { instructions: true, balances: true, tokenBalances: true, logs: true } : {};
  return {
    instructions: instructions.map(({ programId, accounts, isCommitted }) => ({
      programId: [programId],
      ...(accounts.length > 0 && { a0: accounts.slice(0, 1), mentionsAccount: accounts.slice(-1) }),
      ...(isCommitted !== null && { isCommitted }),
      ...related,
    })),
    transactions: [
      {
        feePayer: transaction.accountKeys.slice(0, 1),
        mentionsAccount: transaction.accountKeys.slice(-1),
        ...rows,
      },
    ],
    balances: balance === undefined ? [] : [{ account: [balance.account], transaction: flags }],
    tokenBalances:
      token === undefined ? [] : [{ account: [token.account], transactionInstructions: flags }],
  };
}

const ARRAYS = ['instructions', 'transactions', 'balances', 'tokenBalances'] as const;

test('property: queries whose combined filters match few transactions return the same answer as the reference', () => {
  const queries = fc
    .record({
      places: fc.array(fc.nat(transactions.length - 1), { minLength: 1, maxLength: 3 }),
      arrays: fc.subarray([...ARRAYS], { minLength: 1, maxLength: 2 }),
      flags: fc.boolean(),
      range: fc.constantFrom({ fromBlock: 0 }, { fromBlock: 300, toBlock: 900 }),
    })
    .map(({ places, arrays, flags, range }) => {
      const bodies = places.map((place) => itemsFor(transactions[place] as Placed, flags));
      const items = arrays.map((array) => {
        const own: readonly object[] = bodies.flatMap((body): readonly object[] =>
          [body[array] ?? []].flat(),
        );
        return [array, own];
      });
      return parseTestQuery({ ...range, ...Object.fromEntries(items) } as QueryBody);
    });
  let sparse = 0;
  fc.assert(
    fc.property(queries, (query) => {
      expectSame(query);
      if (costOf(query).pagesRead < pageCount) sparse++;
    }),
    { numRuns: 60, endOnFailure: true },
  );
  // Even the two sections that every query reads were not read completely.
  expect(sparse).toBeGreaterThan(10);
});

test('behavior: a query with many candidates and one match reads the other sections only for the page of the match', () => {
  const place = transactions.findIndex(
    ({ transaction }, i) => i > 600 && transaction.accountKeys.includes(common),
  );
  const { block, transaction } = transactions[place] as Placed;
  const payer = { ...transaction, accountKeys: [common, ...transaction.accountKeys.slice(1)] };
  const changed = blocks.map((other) => {
    if (other !== block) return other;
    const own = other.transactions.map((each) => (each === transaction ? payer : each));
    return { ...other, transactions: own };
  });
  roomy.open('one payer', buildSegment(changed));
  const query = parseTestQuery({
    fromBlock: 0,
    transactions: [
      { feePayer: [common], instructions: true, balances: true, tokenBalances: true, logs: true },
    ],
  });
  const run = roomy.begin('one payer', query);
  const text = Buffer.concat([...run.pieces()].map((piece) => piece.slice())).toString();
  run.release();
  const { items, pagesRead } = run.report;
  expect(text).toBe(
    answerQuery(
      query,
      changed.filter(({ header }) => header.number === block.header.number),
    ),
  );
  expect([items[0]?.matchedRows, items[0]?.driving?.transactions.length]).toEqual([
    1,
    transactions.filter(({ transaction: own }) => own.accountKeys.includes(common)).length,
  ]);
  // Reads every page with a candidate in the sections of transactions and keys, and at most one page per row group of the six other
  // sections and texts.
  expect(pagesRead).toBeGreaterThan(pageCount / 2);
  expect(pagesRead).toBeLessThanOrEqual(2 * pageCount + 7 * groups.length);
});
