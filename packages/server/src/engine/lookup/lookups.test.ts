/** Lookups in one segment of several row groups, compared with a scan over its blocks. */

import { decodeBase58 } from '@sluice/base/base58';
import { runToCompletion } from '@sluice/base/time-slices';
import type { Block } from '@sluice/ledger/block';
import { expect, test } from 'vitest';
import { sampleAddress, sampleBlock } from '../../segment/testing/sample-block.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import { Engine } from '../engine.ts';
import { parseTestQuery } from '../testing/arbitrary-query.ts';
import { answerBlock } from '../testing/reference/answer-query.ts';
import type { Lookup, LookupResult } from './lookup.ts';

// Every third slot is skipped, and 1,300 blocks are more than two row groups.
const blocks = Array.from({ length: 1_300 }, (_, i) => sampleBlock(i + Math.floor(i / 2)));
const engine = new Engine({ cacheBytesMax: 1 << 24 });
engine.open('all', buildSegment(blocks));

function lookUp<L extends Lookup>(lookup: L): LookupResult<L> {
  return runToCompletion(engine.lookUp('all', lookup)) as LookupResult<L>;
}

interface Stored {
  readonly block: Block;
  readonly ordinal: number;
}

const stored = blocks.flatMap((block) =>
  block.transactions.map((_, ordinal): Stored => ({ block, ordinal })),
);
const transactionOf = ({ block, ordinal }: Stored) =>
  block.transactions[ordinal] as Block['transactions'][number];

test('default: the segment has several row groups', () => {
  expect(engine.begin('all', parseTestQuery({ fromBlock: 0 })).groupCount).toBeGreaterThan(2);
});

const relations = { instructions: true, logs: true, balances: true, tokenBalances: true };
const selection = parseTestQuery({ fromBlock: 0, transactions: [relations] });

test('default: a signature lookup returns the line of a transaction with the signature', () => {
  const bySignature = new Map<string, number[]>();
  for (const [number, one] of stored.entries())
    for (const signature of transactionOf(one).signatures)
      bySignature.set(signature, [...(bySignature.get(signature) ?? []), number]);
  const some = [...bySignature].filter((_, i) => i % 23 === 0);
  expect(some.length).toBeGreaterThan(5);
  for (const [signature, numbers] of some) {
    const bytes = decodeBase58(signature) as Uint8Array;
    const [line, ...more] = lookUp({ kind: 'signature', signature: bytes, selection });
    expect(lookUp({ kind: 'records', selection, transactions: numbers })).toContain(line);
    expect(more).toEqual([]);
  }
});

test('default: an unknown signature returns nothing, even if its fingerprint is in the index', () => {
  for (let i = 1; i < 2_000; i++) {
    const signature = new Uint8Array(64).fill(i & 0xff);
    new DataView(signature.buffer).setUint32(0, i * 2_654_435_761);
    expect(lookUp({ kind: 'signature', signature, selection })).toEqual([]);
  }
});

test('default: mentions are the newest transactions that name the address, before a position if one is given', () => {
  // The address lookup table of every seventh block.
  const table = sampleAddress(15);
  const address = decodeBase58(table) as Uint8Array;
  const naming = stored
    .map((one, transaction) => ({ one, transaction }))
    .filter(({ one }) =>
      transactionOf(one).addressTableLookups.some(({ accountKey }) => accountKey === table),
    )
    .map(({ one, transaction }) => ({
      transaction,
      slot: one.block.header.number as number,
      ordinal: one.ordinal,
    }))
    .reverse();
  expect(naming.length).toBeGreaterThan(10);
  const all = { kind: 'mentions', address, before: null, countMax: 1e9 } as const;
  expect(lookUp(all)).toEqual(naming);
  expect(lookUp({ ...all, countMax: 3 })).toEqual(naming.slice(0, 3));
  for (const mention of [naming[5], naming[Math.floor(naming.length / 2)]]) {
    const { slot = 0, ordinal = 0 } = mention ?? {};
    const isBelow = (one: (typeof naming)[number]) =>
      one.slot < slot || (one.slot === slot && one.ordinal < ordinal);
    const before = { slot, ordinal };
    expect(lookUp({ ...all, before })).toEqual(naming.filter(isBelow));
  }
});

test('default: records are the lines of single transactions, equal to those of the reference', () => {
  const numbers = [stored.length - 1, 0, 777];
  const lines = lookUp({ kind: 'records', selection, transactions: numbers });
  const expected = numbers.map((number) => {
    const one = stored[number] as Stored;
    const { transactionIndex } = transactionOf(one);
    const own = <R extends { readonly transactionIndex: number }>(records: readonly R[]) =>
      records.filter((record) => record.transactionIndex === transactionIndex);
    const { block } = one;
    return answerBlock(selection, {
      ...block,
      transactions: own(block.transactions),
      instructions: own(block.instructions),
      logs: own(block.logs),
      balances: own(block.balances),
      tokenBalances: own(block.tokenBalances),
    });
  });
  expect(lines).toEqual(expected);
});

test('behavior: the activity of a part of the segment counts only the transactions of its blocks', () => {
  const range = { first: 300, last: 1_203 };
  const { programs, blockCount, transactionCount } = lookUp({
    kind: 'activity',
    range,
    prefixLengths: new Map(),
  });
  const within = blocks.filter(
    ({ header }) => header.number >= range.first && header.number <= range.last,
  );
  expect(blockCount).toBe(within.length);
  expect(transactionCount).toBe(within.reduce((sum, one) => sum + one.transactions.length, 0));
  const counts = new Map<string, number>();
  for (const { transactions, instructions } of within)
    for (const { transactionIndex } of transactions) {
      const own = instructions.filter((one) => one.transactionIndex === transactionIndex);
      for (const program of new Set(own.map(({ programId }) => programId)))
        counts.set(program, (counts.get(program) ?? 0) + 1);
    }
  expect(new Map(programs.rows.map(({ address, count }) => [address, count]))).toEqual(counts);
});

test('behavior: the hash of a block is not counted as an account, although transactions name it', () => {
  const hash = blocks[0]?.header.hash ?? '';
  const naming = blocks.slice(0, 20).map((block) => ({
    ...block,
    transactions: block.transactions.map((one) => ({ ...one, recentBlockhash: hash })),
  }));
  engine.open('hashes', buildSegment(naming));
  const lookup = {
    kind: 'activity',
    range: { first: 0, last: 99 },
    prefixLengths: new Map(),
  } as const;
  const { accounts, lastHashes } = runToCompletion(engine.lookUp('hashes', lookup)) as LookupResult<
    typeof lookup
  >;
  const names = accounts.rows.map(({ address }) => address);
  expect(names).toContain(sampleAddress(11));
  expect(names).not.toContain(hash);
  expect(lastHashes).toContain(hash);
});
