import { describe, expect, test } from 'vitest';
import type { Block } from '../../ledger/block.ts';
import { compareInstructionAddresses } from '../../ledger/instruction-address.ts';
import { parseContentOptions, STRESS_PRESETS } from './content-options.ts';
import { expectedBlock } from './expected-block.ts';
import { BlockGenerator } from './generate-block.ts';
import { chainBlockOf } from './testing/chain-block-of.ts';

function isAscending<Row>(rows: readonly Row[], compare: (a: Row, b: Row) => number): boolean {
  return rows.every((row, i) => i === 0 || compare(rows[i - 1] as Row, row) < 0);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function checkBlock(block: Block): void {
  const indexes = new Set(block.transactions.map((row) => row.transactionIndex));
  expect(isAscending(block.transactions, (a, b) => a.transactionIndex - b.transactionIndex)).toBe(
    true,
  );
  expect(
    isAscending(
      block.instructions,
      (a, b) =>
        a.transactionIndex - b.transactionIndex ||
        compareInstructionAddresses(a.instructionAddress, b.instructionAddress),
    ),
  ).toBe(true);
  expect(
    isAscending(
      block.logs,
      (a, b) => a.transactionIndex - b.transactionIndex || a.logIndex - b.logIndex,
    ),
  ).toBe(true);
  for (const rows of [block.balances, block.tokenBalances]) {
    expect(
      isAscending<(typeof rows)[number]>(
        rows,
        (a, b) => a.transactionIndex - b.transactionIndex || compareText(a.account, b.account),
      ),
    ).toBe(true);
    for (const row of rows) expect(indexes.has(row.transactionIndex)).toBe(true);
  }
  const programs = new Map<string, string>();
  for (const row of block.instructions) {
    expect(indexes.has(row.transactionIndex)).toBe(true);
    programs.set(`${row.transactionIndex}:${row.instructionAddress}`, row.programId);
    for (let depth = 1; depth < row.instructionAddress.length; depth++) {
      const ancestor = row.instructionAddress.slice(0, depth);
      expect(programs.has(`${row.transactionIndex}:${ancestor}`)).toBe(true);
    }
  }
  for (const row of block.logs) {
    expect(programs.get(`${row.transactionIndex}:${row.instructionAddress}`)).toBe(row.programId);
  }
}

describe('expected-block', () => {
  test('property: records are sorted, unique and refer to records that exist', () => {
    for (const preset of [{}, { profile: '2025' as const, votes: 50 }, ...STRESS_PRESETS]) {
      const generator = new BlockGenerator(parseContentOptions(preset));
      for (let slot = 1990; slot < 2010; slot++) {
        const block = generator.generate(chainBlockOf(slot));
        checkBlock(expectedBlock(block, { votes: 'drop' }));
        checkBlock(expectedBlock(block, { votes: 'keep' }));
      }
    }
  });
});
