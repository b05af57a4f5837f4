/** Checks that the addresses in docs/simulator.md occur in the demo ledger. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { simulatedBlocks } from '../../packages/simulator/src/testing/simulated-blocks.ts';

const page = readFileSync(new URL('../../docs/simulator.md', import.meta.url), 'utf8');
const ADDRESS = /`([1-9A-HJ-NP-Za-km-z]{32,44})`/g;
/** The number of slots of one window of the demo ledger. */
const BLOCK_COUNT = 2048;

test('behavior: every address of the cast in docs/simulator.md is in a block of the demo ledger', () => {
  const start = page.indexOf('### The cast');
  const cast = page.slice(start, page.indexOf('\n## ', start));
  const missing = new Set([...cast.matchAll(ADDRESS)].map(([, address]) => address as string));
  expect(missing.size).toBeGreaterThan(60);
  const blocks = simulatedBlocks({ firstSlot: 0, blockCount: BLOCK_COUNT, skipRate: 0 });
  for (const { transactions, instructions } of blocks) {
    for (const { accountKeys, loadedAddresses } of transactions) {
      for (const key of accountKeys) missing.delete(key);
      for (const key of [...loadedAddresses.writable, ...loadedAddresses.readonly]) {
        missing.delete(key);
      }
    }
    for (const { programId } of instructions) missing.delete(programId);
  }
  expect([...missing]).toEqual([]);
});
