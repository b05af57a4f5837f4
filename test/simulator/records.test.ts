/**
 * Compares the records that the simulator expects with those that the normalizer reads from the simulator's bytes. Both
 * sides share no code.
 */
import { isDeepStrictEqual } from 'node:util';
import { type ContentInput, parseContentOptions } from '@sluice/simulator/content/content-options';
import { BlockGenerator } from '@sluice/simulator/content/generate-block';
import { renderRawBlock } from '@sluice/simulator/content/render-raw-block';
import { describe, expect, test } from 'vitest';
import type { Block } from '../../packages/ledger/src/block.ts';
import { toSlot } from '../../packages/ledger/src/primitives.ts';
import { chainBlockOf } from '../../packages/simulator/src/content/testing/chain-block-of.ts';
import { expectedBlock } from '../../packages/simulator/src/content/testing/expected-block.ts';
import { STRESS_PRESETS } from '../../packages/simulator/src/content/testing/stress-presets.ts';
import { normalizeBlock } from '../../packages/source/src/normalize/normalize-block.ts';

/** Compares record by record, so that a difference shows the record and not four megabytes. */
function expectSameBlock(actual: Block, expected: Block, place: string): void {
  expect(actual.header, place).toEqual(expected.header);
  expectSameRows(actual.transactions, expected.transactions, `${place} transactions`);
  expectSameRows(actual.instructions, expected.instructions, `${place} instructions`);
  expectSameRows(actual.logs, expected.logs, `${place} logs`);
  expectSameRows(actual.balances, expected.balances, `${place} balances`);
  expectSameRows(actual.tokenBalances, expected.tokenBalances, `${place} tokenBalances`);
  expectSameRows(actual.rewards, expected.rewards, `${place} rewards`);
}

function expectSameRows(
  actual: readonly object[],
  expected: readonly object[],
  place: string,
): void {
  for (let i = 0; i < Math.min(actual.length, expected.length); i++) {
    // Much faster for many rows than the comparison that reports the difference.
    if (!isDeepStrictEqual(actual[i], expected[i]))
      expect(actual[i], `${place}[${i}]`).toStrictEqual(expected[i]);
  }
  expect(actual.length, `${place} count`).toBe(expected.length);
}

function compareBlocks(input: ContentInput, slots: { first: number; count: number }): void {
  const options = parseContentOptions(input);
  const generator = new BlockGenerator(options);
  const metaOptional = options.era === 'genesis';
  const allowMissing = options.era === '2020' ? (['logs'] as const) : [];
  for (let i = 0; i < slots.count; i++) {
    const slot = slots.first + i;
    const block = generator.generate(chainBlockOf(slot, i % 3));
    const { json: bytes } = renderRawBlock(block, { transactionDetails: 'full', rewards: true });
    for (const votes of ['drop', 'keep'] as const) {
      const { block: actual } = normalizeBlock(toSlot(block.chainBlock.slot), bytes, {
        votes,
        metaOptional,
        allowMissing,
      });
      const label = `seed ${options.seed} era ${options.era} slot ${slot} branch ${i % 3} votes ${votes}`;
      expectSameBlock(actual, expectedBlock(block, { votes }), label);
    }
  }
}

describe('records of simulated blocks', () => {
  test.each(STRESS_PRESETS.map((preset) => [preset.era, preset] as const))(
    'property: unusual blocks of the era %s have the expected records',
    (_, preset) => {
      for (const seed of [1, 2]) compareBlocks({ ...preset, seed }, { first: 2048, count: 20 });
      compareBlocks(preset, { first: 0, count: 2 });
    },
  );

  test('property: blocks of every profile are normalized to the expected records', () => {
    // These blocks cross the boundary between two windows of the ledger.
    compareBlocks({ seed: 5, transactionsPerBlock: 60 }, { first: 1020, count: 8 });
    compareBlocks({ seed: 5 }, { first: 4096, count: 30 });
    compareBlocks({ seed: 5, profile: '2025' }, { first: 300_000_000, count: 3 });
    compareBlocks({ seed: 5, profile: 'busy', votes: 200 }, { first: 300_000_000, count: 2 });
  });
});
