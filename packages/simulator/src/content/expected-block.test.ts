import { describe, expect, test } from 'vitest';
import type { Balance, Block, TokenBalance } from '../../../ledger/src/block.ts';
import { compareInstructionAddresses } from '../../../ledger/src/primitives.ts';
import { parseContentOptions } from './content-options.ts';
import { BlockGenerator } from './generate-block.ts';
import { chainBlockOf } from './testing/chain-block-of.ts';
import { expectedBlock } from './testing/expected-block.ts';
import { STRESS_PRESETS } from './testing/stress-presets.ts';

function isAscending<Row>(rows: readonly Row[], compare: (a: Row, b: Row) => number): boolean {
  return rows.every((row, i) => i === 0 || compare(rows[i - 1] as Row, row) < 0);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function isSorted(block: Block): boolean {
  const byAccount = (a: Balance | TokenBalance, b: Balance | TokenBalance): number =>
    a.transactionIndex - b.transactionIndex || compareText(a.account, b.account);
  return (
    isAscending(block.transactions, (a, b) => a.transactionIndex - b.transactionIndex) &&
    isAscending(
      block.instructions,
      (a, b) =>
        a.transactionIndex - b.transactionIndex ||
        compareInstructionAddresses(a.instructionAddress, b.instructionAddress),
    ) &&
    isAscending(
      block.logs,
      (a, b) => a.transactionIndex - b.transactionIndex || a.logIndex - b.logIndex,
    ) &&
    isAscending(block.balances, byAccount) &&
    isAscending(block.tokenBalances, byAccount)
  );
}

/** Returns the records that refer to a missing record, each as a text. */
function findStrays(block: Block): string[] {
  const strays: string[] = [];
  const indexes = new Set(block.transactions.map((row) => row.transactionIndex));
  for (const row of [
    ...block.instructions,
    ...block.logs,
    ...block.balances,
    ...block.tokenBalances,
  ]) {
    if (!indexes.has(row.transactionIndex)) strays.push(`transaction ${row.transactionIndex}`);
  }
  const programs = new Map<string, string>();
  for (const { transactionIndex, instructionAddress, programId } of block.instructions) {
    programs.set(`${transactionIndex}:${instructionAddress}`, programId);
    for (let depth = 1; depth < instructionAddress.length; depth++) {
      const ancestor = `${transactionIndex}:${instructionAddress.slice(0, depth)}`;
      if (!programs.has(ancestor)) strays.push(`ancestor ${ancestor}`);
    }
  }
  for (const { transactionIndex, instructionAddress, programId } of block.logs) {
    const address = `${transactionIndex}:${instructionAddress}`;
    if (programs.get(address) !== programId) strays.push(`instruction ${address}`);
  }
  return strays;
}

describe('expected-block', () => {
  test('property: records are sorted, unique and refer to records that exist', () => {
    for (const preset of [{}, { transactionsPerBlock: 60, votes: 50 }, ...STRESS_PRESETS]) {
      const generator = new BlockGenerator(parseContentOptions(preset));
      for (let slot = 2048; slot < 2060; slot++) {
        const block = generator.generate(chainBlockOf(slot));
        for (const votes of ['drop', 'keep'] as const) {
          const records = expectedBlock(block, { votes });
          expect(isSorted(records)).toBe(true);
          expect(findStrays(records)).toEqual([]);
        }
      }
    }
  });
});
