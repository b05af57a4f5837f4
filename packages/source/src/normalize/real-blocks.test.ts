/**
 * Real blocks of several years are normalized without error. The number of records is compared with an independent count over the raw JSON:
 * instructions are summed, balances compared, token accounts merged, lines matched by patterns.
 */

import type { Block } from '@sluice/ledger/block';
import { compareInstructionAddresses } from '@sluice/ledger/primitives';
import { describe, expect, test } from 'vitest';
import { hasRealData, type RealBlock, readRealBlocks } from '../testing/real-data.ts';
import { type NormalizedBlock, normalizeBlock } from './normalize-block.ts';

interface RawMeta {
  readonly err: unknown;
  readonly preBalances: number[];
  readonly postBalances: number[];
  readonly innerInstructions: { index: number; instructions: unknown[] }[] | null;
  readonly logMessages: string[] | null;
  readonly preTokenBalances?: { accountIndex: number }[] | null;
  readonly postTokenBalances?: { accountIndex: number }[] | null;
}

interface RawTransaction {
  readonly meta: RawMeta | null;
  readonly transaction: {
    message: { accountKeys: string[]; instructions: { programIdIndex: number }[] };
  };
}

const kinds = [
  'transactions',
  'instructions',
  'logs',
  'balances',
  'tokenBalances',
  'rewards',
] as const;
type Counts = Record<(typeof kinds)[number], number>;

/** No real vote names its program through a lookup table. */
function isVote({ transaction: { message } }: RawTransaction): boolean {
  const [only, ...others] = message.instructions;
  return (
    only !== undefined &&
    others.length === 0 &&
    message.accountKeys[only.programIdIndex] === 'Vote111111111111111111111111111111111111111'
  );
}

/** Counts the lines that are not written by the node itself, up to the truncation. */
function countLines(lines: readonly string[]): number {
  const mark = lines.indexOf('Log truncated');
  const read = mark < 0 ? lines : lines.slice(0, mark);
  const bookkeeping =
    /^Program [1-9A-HJ-NP-Za-km-z]{32,44} (invoke \[\d+\]|success|failed: .*|consumed \d+ of \d+ compute units)$/s;
  return read.filter((line) => !bookkeeping.test(line)).length;
}

function countRaw(bytes: Uint8Array): Counts {
  // Rounding would hide a change in the last digits, so long integers are compared as text.
  const text = Buffer.from(bytes)
    .toString()
    .replaceAll(/"(?:[^"\\]|\\.)*"|(?<![\d.])\d{16,}(?![\d.eE])/g, (token) =>
      token.startsWith('"') ? token : `"${token}"`,
    );
  const raw = JSON.parse(text) as { transactions: RawTransaction[]; rewards?: unknown[] };
  const counts: Counts = {
    transactions: 0,
    instructions: 0,
    logs: 0,
    balances: 0,
    tokenBalances: 0,
    rewards: raw.rewards?.length ?? 0,
  };
  for (const entry of raw.transactions) {
    if (isVote(entry)) continue;
    counts.transactions++;
    counts.instructions += entry.transaction.message.instructions.length;
    const { meta } = entry;
    if (meta === null) continue;
    counts.instructions += (meta.innerInstructions ?? []).flatMap((g) => g.instructions).length;
    counts.logs += countLines(meta.logMessages ?? []);
    counts.balances += meta.preBalances.filter((pre, i) => pre !== meta.postBalances[i]).length;
    const tokens = [...(meta.preTokenBalances ?? []), ...(meta.postTokenBalances ?? [])];
    counts.tokenBalances += new Set(tokens.map((token) => token.accountIndex)).size;
  }
  return counts;
}

function countRecords(block: Block): Counts {
  return Object.fromEntries(kinds.map((kind) => [kind, block[kind].length])) as Counts;
}

const sum = (list: readonly Counts[]) =>
  Object.fromEntries(
    kinds.map((kind) => [kind, list.reduce((total, counts) => total + counts[kind], 0)]),
  );

function normalizeAll(blocks: readonly RealBlock[]): NormalizedBlock[] {
  return blocks.map(({ slot, bytes }) =>
    normalizeBlock(slot, bytes, { metaOptional: true, allowMissing: ['logs', 'rewards'] }),
  );
}

function expectSorted(block: Block): void {
  const { instructions, logs, balances, tokenBalances } = block;
  for (let i = 1; i < instructions.length; i++) {
    const [a, b] = [instructions[i - 1], instructions[i]];
    if (a?.transactionIndex !== b?.transactionIndex) continue;
    const order = compareInstructionAddresses(
      a?.instructionAddress ?? [],
      b?.instructionAddress ?? [],
    );
    expect(order).toBeLessThan(0);
  }
  for (const list of [balances, tokenBalances]) {
    const order = list.map((r) => `${String(r.transactionIndex).padStart(6, '0')} ${r.account}`);
    expect(order).toEqual([...new Set(order)].sort());
  }
  const positions = logs.map((log) => log.transactionIndex * 1e6 + log.logIndex);
  expect(positions).toEqual([...new Set(positions)].sort((a, b) => a - b));
}

/** Returns how many non-votes have the line that marks a truncated log. */
function countTruncated(bytes: Uint8Array): number {
  const raw = JSON.parse(Buffer.from(bytes).toString()) as { transactions: RawTransaction[] };
  return raw.transactions.filter(
    (entry) => !isVote(entry) && entry.meta?.logMessages?.includes('Log truncated'),
  ).length;
}

const files = [
  'blocks-various.jsonl.gz',
  'chain-devnet-333688600.jsonl.gz',
  'chain-mainnet-0.jsonl.gz',
  'chain-node-3.1.5.jsonl.gz',
];

for (const file of files) {
  describe.skipIf(!hasRealData(file))(`real data, skipped if absent: ${file}`, () => {
    test('behavior: every block is normalized, with as many records of each kind as an independent count', () => {
      for (const { slot, bytes } of readRealBlocks(file)) {
        const outcome = normalizeAll([{ slot, bytes }])[0] as NormalizedBlock;
        expect({ slot, ...countRecords(outcome.block) }).toEqual({ slot, ...countRaw(bytes) });
        expectSorted(outcome.block);
      }
    });

    // Nodes write logs during execution, and these blocks come from nodes, so log and calls agree in every year.
    test('behavior: no log contradicts its calls, and only truncated ones are incomplete', () => {
      const blocks = readRealBlocks(file);
      const outcomes = normalizeAll(blocks);
      expect(outcomes.map(({ counts }) => counts.degraded)).toEqual(outcomes.map(() => ({})));
      const flagged = outcomes.map(
        ({ block }) => block.transactions.filter((t) => t.hasDroppedLogMessages).length,
      );
      expect(flagged).toEqual(blocks.map(({ bytes }) => countTruncated(bytes)));
      for (const { counts } of outcomes) {
        expect(counts).toMatchObject({ silentCalls: 0, skippedLines: 0, unknownVersions: 0 });
      }
    });

    test('behavior: the same bytes twice give the same records', () => {
      const blocks = readRealBlocks(file).slice(0, 20);
      expect(normalizeAll(blocks)).toEqual(normalizeAll(blocks));
    });

    test('behavior: kept votes become records at their positions', () => {
      for (const { slot, bytes } of readRealBlocks(file).slice(0, 20)) {
        const options = { metaOptional: true, allowMissing: ['logs', 'rewards'] } as const;
        const { block, counts } = normalizeBlock(slot, bytes, { ...options, votes: 'keep' });
        const raw = JSON.parse(Buffer.from(bytes).toString()) as { transactions: unknown[] };
        expect(block.transactions.map((t) => t.transactionIndex)).toEqual(
          raw.transactions.map((_, i) => i),
        );
        expect(counts.degraded).toEqual({});
        const kept = new Set(
          normalizeBlock(slot, bytes, options).block.transactions.map((t) => t.transactionIndex),
        );
        const others = block.instructions.filter((i) => !kept.has(i.transactionIndex));
        expect(new Set(others.map((i) => i.programId)).size).toBeLessThanOrEqual(1);
      }
    });
  });
}

describe.skipIf(!hasRealData('chain-node-3.1.5.jsonl.gz'))('a real node of one validator', () => {
  test('behavior: 387 blocks give the same figures as an independent normalizer', () => {
    const outcomes = normalizeAll(readRealBlocks('chain-node-3.1.5.jsonl.gz'));
    expect(outcomes).toHaveLength(387);
    expect(sum(outcomes.map(({ block }) => countRecords(block)))).toEqual({
      transactions: 845,
      instructions: 1956,
      logs: 1788,
      balances: 1164,
      tokenBalances: 934,
      rewards: 385,
    });
    expect(outcomes.reduce((total, { counts }) => total + counts.votesDropped, 0)).toBe(385);
    const flags = outcomes.flatMap(({ block }) => [
      ...block.transactions.map((t) => t.hasDroppedLogMessages),
      ...block.instructions.map((i) => i.hasDroppedLogMessages),
    ]);
    expect(flags.filter(Boolean)).toEqual([]);
  });

  test('behavior: the blocks link slot by slot', () => {
    const headers = normalizeAll(readRealBlocks('chain-node-3.1.5.jsonl.gz')).map(
      ({ block }) => block.header,
    );
    for (let i = 1; i < headers.length; i++) {
      expect(headers[i]?.parentHash).toBe(headers[i - 1]?.hash);
      expect(headers[i]?.parentSlot).toBe(headers[i - 1]?.number);
      expect(headers[i]?.height).toBe((headers[i - 1]?.height ?? 0) + 1);
    }
    expect(headers[0]).toMatchObject({ number: 0, parentHash: null, height: 0 });
  });
});
