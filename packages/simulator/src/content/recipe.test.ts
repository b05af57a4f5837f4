/**
 * Compares simulated blocks with the real ledger: the shares and sizes that matter for storing them, measured over blocks of the profile
 * `2025` without votes, in the middle of a window. The targets are those of a median block of mainnet, each with its tolerance. Real
 * blocks differ more from each other than simulated ones differ from these targets.
 */

import { deflateSync } from 'node:zlib';
import { decodeBase58 } from '@sluice/base/base58';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Block } from '../../../ledger/src/block.ts';
import { isAddress } from '../../../ledger/src/primitives.ts';
import { parseContentOptions } from './content-options.ts';
import { BlockGenerator } from './generate-block.ts';
import { discriminator } from './programs/discriminator.ts';
import { renderRawBlock } from './render-raw-block.ts';
import type { SimulatedTransaction } from './simulated-block.ts';
import { chainBlockOf } from './testing/chain-block-of.ts';
import { expectedBlock } from './testing/expected-block.ts';
import { readLog } from './testing/read-log.ts';
import { KNOWN } from './world/known-addresses.ts';

const BLOCK_COUNT = 24;

/** The facts about a transaction, read before the next one overwrites its texts. */
interface Facts {
  readonly transaction: SimulatedTransaction;
  readonly fee: number;
  readonly units: number;
  readonly lineCount: number;
  readonly logBytes: number;
}
const blocks: Block[] = [];
const transactions: Facts[] = [];
let rawBytes = 0;

beforeAll(() => {
  const generator = new BlockGenerator(parseContentOptions({ profile: '2025', votes: false }));
  for (let i = 0; i < BLOCK_COUNT; i++) {
    const block = generator.generate(chainBlockOf(300_000_008 + i));
    rawBytes += renderRawBlock(block, { transactionDetails: 'full', rewards: false }).json.length;
    blocks.push(expectedBlock(block, { votes: 'drop' }));
    block.forEachTransaction((transaction) => {
      const { lineCount } = transaction.log;
      const lines = readLog(block.texts, transaction.log);
      transactions.push({
        transaction,
        fee: transaction.fee,
        units: transaction.computeUnits,
        lineCount,
        logBytes: lines.reduce((sum, line) => sum + line.text.length, 0),
      });
    });
  }
});

/** Expects a value within this share above or below the target. */
function expectNear(actual: number, target: number, tolerance: number): void {
  expect(actual).toBeGreaterThan(target * (1 - tolerance));
  expect(actual).toBeLessThan(target * (1 + tolerance));
}

function countAll(kind: 'instructions' | 'logs' | 'balances' | 'tokenBalances'): number {
  return blocks.reduce((sum, block) => sum + block[kind].length, 0);
}

/** Returns the different addresses that the transactions of a block name. */
function countAddresses({ transactions: rows }: Block): number {
  const lists = rows.map(({ accountKeys, loadedAddresses: { writable, readonly } }) => {
    return [...accountKeys, ...writable, ...readonly];
  });
  return new Set(lists.flat()).size;
}

function bytesOf(data: string): Uint8Array {
  return decodeBase58(data) as Uint8Array;
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] as number;
}

function shareOf(values: readonly number[], first: number, last = first): number {
  return values.filter((value) => value >= first && value <= last).length / values.length;
}

/** Compares percentages by absolute points. */
function expectShares(
  values: readonly number[],
  rows: readonly (readonly [first: number, last: number, percent: number, points: number])[],
): void {
  for (const [first, last, percent, points] of rows) {
    const found = shareOf(values, first, last) * 100;
    const label = `${first}-${last}: ${percent} ± ${points}, found ${found.toFixed(1)}`;
    expect(Math.abs(found - percent) <= points, label).toBe(true);
  }
}

describe('recipe', () => {
  test('behavior: the sizes per transaction are realistic: raw, as records and compressed', () => {
    const perTransaction = (count: (block: Block) => number): number =>
      blocks.reduce((sum, block) => sum + count(block), 0) / transactions.length;
    expectNear(rawBytes / transactions.length, 7250, 0.11);
    expectNear(perTransaction(countWireBytes), 8700, 0.1);
    expectNear(perTransaction(countCompressedBytes), 900, 0.1);
  });

  test('behavior: the numbers of records per transaction are realistic', () => {
    const count = transactions.length;
    expectNear(count / BLOCK_COUNT, 389, 0.2);
    expectNear(countAll('instructions') / count, 7.15, 0.05);
    expectNear(countAll('logs') / count, 7.35, 0.08);
    expectNear(countAll('balances') / count, 2.05, 0.08);
    expectNear(countAll('tokenBalances') / count, 3.85, 0.08);
    expectNear(blocks.reduce((sum, block) => sum + countAddresses(block), 0) / count, 6, 0.25);
  });

  test('behavior: versions, lookups, signatures, keys, fees and units are realistic', () => {
    const share = (test: (row: SimulatedTransaction) => boolean): number =>
      transactions.filter((row) => test(row.transaction)).length / transactions.length;
    expectNear(
      share((row) => row.error !== null),
      0.25,
      0.06,
    );
    expectNear(
      share((row) => row.version === 0),
      0.83,
      0.03,
    );
    expectNear(
      share((row) => row.lookups.length > 0),
      0.31,
      0.06,
    );
    expectNear(
      share((row) => row.requiredSignatureCount === 1),
      0.91,
      0.03,
    );
    const keys = transactions.map((row) => row.transaction.staticCount);
    expectNear(quantile(keys, 0.5), 15, 0.14);
    expectNear(quantile(keys, 0.9), 23, 0.1);
    expect(Math.max(...keys)).toBeLessThanOrEqual(30);
    const fees = transactions.map((row) => row.fee);
    expect(quantile(fees, 0.5)).toBeLessThan(5100);
    expectNear(quantile(fees, 0.9), 21_400, 0.15);
    const units = transactions.map((row) => row.units);
    expectNear(quantile(units, 0.5), 38_900, 0.15);
    expectNear(quantile(units, 0.9), 170_600, 0.25);
  });

  test('behavior: instructions are realistic by depth, data, accounts and program', () => {
    const rows = blocks.flatMap((block) => block.instructions);
    expectShares(
      rows.map((row) => row.instructionAddress.length),
      [
        [1, 1, 55, 4],
        [2, 2, 32, 4],
        [3, 3, 12.5, 2],
        [4, 9, 0.5, 0.4],
      ],
    );
    expectShares(
      rows.map((row) => row.accounts.length),
      [
        [0, 0, 16, 2],
        [1, 1, 9, 3.5],
        [2, 2, 17, 2.5],
        [3, 3, 25, 7],
        [4, 4, 9, 2],
        [5, 8, 6, 2.5],
        [9, 16, 8, 2.5],
        [17, 18, 7, 2.5],
        [19, 66, 4, 2],
      ],
    );
    expectShares(
      rows.map((row) => bytesOf(row.data).length),
      [
        [0, 0, 1.9, 1],
        [1, 1, 14.7, 4],
        [2, 3, 2.3, 1.5],
        [4, 9, 34.6, 4],
        [10, 24, 22.3, 3],
        [25, 130, 18.8, 3],
        [131, 400, 4.6, 2],
        [401, 1213, 0.9, 0.6],
      ],
    );
    const counts = new Map<string, number>();
    for (const row of rows) counts.set(row.programId, (counts.get(row.programId) ?? 0) + 1);
    const share = (id: string): number => (100 * (counts.get(id) ?? 0)) / rows.length;
    expectNear(share('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'), 38, 0.08);
    expectNear(share('ComputeBudget111111111111111111111111111111'), 15.5, 0.08);
    expectNear(share('11111111111111111111111111111111'), 14, 0.18);
    expectNear(share('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'), 3.1, 0.3);
    const sorted = [...counts.values()].sort((a, b) => b - a);
    const top = (count: number): number =>
      (100 * sorted.slice(0, count).reduce((sum, value) => sum + value, 0)) / rows.length;
    expect(Math.abs(top(3) - 67)).toBeLessThan(5);
    expect(Math.abs(top(10) - 88)).toBeLessThan(5);
    expect(Math.abs(top(25) - 95)).toBeLessThan(3);
    const perBlock = blocks.map(
      (block) => new Set(block.instructions.map((row) => row.programId)).size,
    );
    expectNear(perBlock.reduce((sum, value) => sum + value, 0) / BLOCK_COUNT, 65, 0.2);
  });

  test('behavior: the instructions of programs start with eight bytes, and events are among their calls', () => {
    const rows = blocks.flatMap((block) => block.instructions);
    const exchange = rows.filter((row) => row.programId === KNOWN.amm);
    // One exchange replaces the two most popular ones of mainnet.
    expectNear(exchange.length / rows.length, 0.057 + 0.042, 0.25);
    const startOf = (data: string): string => {
      return Buffer.from(bytesOf(data).subarray(0, 8)).toString('hex');
    };
    const swap = Buffer.from(discriminator('global', 'swap')).toString('hex');
    const swaps = exchange.filter((row) => startOf(row.data) === swap);
    expect(swaps.length / exchange.length).toBeGreaterThan(0.9);
    const events = rows.filter((row) => startOf(row.data) === 'e445a52e51cb9a1d');
    expectNear(events.length / rows.length, 0.034, 0.35);
  });

  test('behavior: logs are realistic', () => {
    const rows = blocks.flatMap((block) => block.logs);
    const share = (kind: string): number =>
      (100 * rows.filter((row) => row.kind === kind).length) / rows.length;
    expect(Math.abs(share('log') - 88.5)).toBeLessThan(2.5);
    expect(Math.abs(share('data') - 7.5)).toBeLessThan(2);
    expect(Math.abs(share('other') - 4)).toBeLessThan(1.5);
    const lineCounts = transactions.map((row) => row.lineCount);
    expectNear(lineCounts.reduce((sum, count) => sum + count, 0) / lineCounts.length, 26, 0.1);
    const bytes = transactions.map((row) => row.logBytes);
    expectNear(bytes.reduce((sum, count) => sum + count, 0) / bytes.length, 1700, 0.15);
    const lengths = rows.filter((row) => row.kind === 'log').map((row) => row.message.length);
    expectNear(quantile(lengths, 0.5), 25, 0.2);
    expectNear(quantile(lengths, 0.9), 125, 0.2);
    expectNear(quantile(lengths, 0.99), 276, 0.2);
  });

  test('behavior: balances and token balances are realistic', () => {
    const balanceCounts = new Map<string, number>();
    const holdingCounts = new Map<string, number>();
    const holdings = blocks.flatMap((block) => block.tokenBalances);
    blocks.forEach((block, at) => {
      for (const row of block.transactions) holdingCounts.set(`${at}:${row.transactionIndex}`, 0);
      const count = (map: Map<string, number>, index: number): void => {
        map.set(`${at}:${index}`, (map.get(`${at}:${index}`) ?? 0) + 1);
      };
      for (const row of block.balances) count(balanceCounts, row.transactionIndex);
      for (const row of block.tokenBalances) count(holdingCounts, row.transactionIndex);
    });
    expectShares(
      [...balanceCounts.values()],
      [
        [1, 1, 37.5, 4],
        [2, 3, 55.4, 4],
        [4, 8, 6.5, 2],
        [9, 22, 0.8, 0.6],
      ],
    );
    expectShares(
      [...holdingCounts.values()],
      [
        [0, 0, 29, 4],
        [1, 3, 9, 4],
        [4, 4, 9, 4],
        [5, 5, 33, 4],
        [6, 6, 10, 3],
        [7, 11, 8, 3],
        [12, 26, 1.5, 1.2],
      ],
    );
    const share = (test: (row: (typeof holdings)[number]) => boolean): number =>
      (100 * holdings.filter(test).length) / holdings.length;
    expectNear(
      share((row) => row.preAmount !== row.postAmount),
      34,
      0.4,
    );
    expectNear(
      share((row) => (row.preMint === null) !== (row.postMint === null)),
      5,
      0.2,
    );
    const wrapped = 'So11111111111111111111111111111111111111112';
    expectNear(
      share((row) => (row.preMint ?? row.postMint) === wrapped),
      37,
      0.06,
    );
    const newTokens = share(
      (row) => (row.preProgramId ?? row.postProgramId)?.startsWith('Tokenz') ?? false,
    );
    expect(newTokens).toBeGreaterThan(5);
    expect(newTokens).toBeLessThan(15);
    const large = blocks.flatMap((block) => block.balances).filter((row) => row.pre > 2n ** 53n);
    expect(large.length).toBeGreaterThan(0);
  });
});

const ADDRESS_BYTES = 32;

/**
 * Returns the compressed size of a block's records: JSON lines in which numbers replace the addresses, deflated at level 6, plus the
 * addresses themselves. Deflate stands for zstd at level 1, which not every runtime has.
 */
function countCompressedBytes(block: Block): number {
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

/** Returns the size of a block's transactions and their records in a response with all fields selected. */
function countWireBytes(block: Block): number {
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
