import { describe, expect, test } from 'vitest';
import { parseContentOptions } from './content-options.ts';
import { BlockGenerator } from './generate-block.ts';
import { type RenderOptions, renderRawBlock } from './render-raw-block.ts';
import type { SimulatedBlock } from './simulated-block.ts';
import { chainBlockOf } from './testing/chain-block-of.ts';
import { STRESS_PRESETS } from './testing/stress-presets.ts';

const block = new BlockGenerator(
  parseContentOptions({ profile: '2025', transactionsPerBlock: 120, votes: 10 }),
).generate(chainBlockOf(300_000_000));

function parse(raw: SimulatedBlock, options: Partial<RenderOptions> = {}) {
  const asked = { transactionDetails: 'full', rewards: true, ...options } as const;
  return JSON.parse(Buffer.from(renderRawBlock(raw, asked).json).toString());
}

/** Returns whether the keys of every object are in alphabetical order, as a node prints them. */
function isOrdered(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isOrdered);
  if (value === null || typeof value !== 'object') return true;
  const keys = Object.keys(value);
  return keys.join() === [...keys].sort().join() && Object.values(value).every(isOrdered);
}

describe('render-raw-block', () => {
  test('default: a full block has the keys of a node, in the same order', () => {
    const full = parse(block);
    expect(Object.keys(full)).toEqual([
      'blockHeight',
      'blockTime',
      'blockhash',
      'parentSlot',
      'previousBlockhash',
      'rewards',
      'transactions',
    ]);
    expect(isOrdered(full)).toBe(true);
    let count = 0;
    block.forEachTransaction(() => {
      count++;
    });
    expect(full.transactions).toHaveLength(count);
    const meta = full.transactions[0].meta;
    expect(Object.keys(meta)).toContain('computeUnitsConsumed');
    expect(meta.preBalances).toHaveLength(meta.postBalances.length);
  });

  test('behavior: transactions and rewards can be omitted', () => {
    expect(parse(block, { transactionDetails: 'none' }).transactions).toBeUndefined();
    expect(parse(block, { rewards: false }).rewards).toBeUndefined();
    expect(parse(block, { rewards: false }).transactions[0].meta.rewards).toBeUndefined();
  });

  test('behavior: lookups have as many indexes as addresses were loaded', () => {
    const rows = parse(block).transactions.filter((row: { version: unknown }) => row.version === 0);
    let loadedCount = 0;
    for (const { transaction, meta } of rows) {
      const lookups = transaction.message.addressTableLookups as {
        writableIndexes: number[];
        readonlyIndexes: number[];
      }[];
      const writable = lookups.flatMap((lookup) => lookup.writableIndexes);
      const readonly = lookups.flatMap((lookup) => lookup.readonlyIndexes);
      expect(writable).toHaveLength(meta.loadedAddresses.writable.length);
      expect(readonly).toHaveLength(meta.loadedAddresses.readonly.length);
      loadedCount += writable.length + readonly.length;
    }
    expect(loadedCount).toBeGreaterThan(0);
  });

  test('behavior: token amounts are printed as by a node', () => {
    const rows = parse(block).transactions.flatMap(
      (row: { meta: { preTokenBalances: unknown[] } }) => row.meta.preTokenBalances,
    ) as {
      uiTokenAmount: { amount: string; decimals: number; uiAmount: number; uiAmountString: string };
    }[];
    expect(rows.length).toBeGreaterThan(100);
    for (const { uiTokenAmount } of rows) {
      const { amount, decimals, uiAmount, uiAmountString } = uiTokenAmount;
      const [whole, part = ''] = uiAmountString.split('.');
      expect(BigInt(whole + part.padEnd(decimals, '0'))).toBe(BigInt(amount));
      expect(part.endsWith('0')).toBe(false);
      expect(uiAmount).toBe(amount === '0' ? null : Number(uiAmountString));
    }
  });

  test('limit: logs stay below 10,000 bytes, with one mark for the lines that did not fit', () => {
    const generator = new BlockGenerator(parseContentOptions(STRESS_PRESETS.at(-1)));
    let markCount = 0;
    let afterCount = 0;
    for (let slot = 0; slot < 40; slot++) {
      for (const { meta } of parse(generator.generate(chainBlockOf(slot))).transactions) {
        const lines: string[] = meta.logMessages ?? [];
        const mark = lines.indexOf('Log truncated');
        const kept = lines.filter((line) => line !== 'Log truncated');
        expect(kept.reduce((sum, line) => sum + Buffer.byteLength(line), 0)).toBeLessThan(10_000);
        if (mark === -1) continue;
        markCount++;
        expect(lines.lastIndexOf('Log truncated')).toBe(mark);
        if (mark < lines.length - 1) afterCount++;
      }
    }
    expect(markCount).toBeGreaterThan(20);
    expect(afterCount).toBeGreaterThan(5);
  });
});
