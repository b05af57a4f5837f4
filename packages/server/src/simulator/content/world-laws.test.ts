import { describe, expect, test } from 'vitest';
import type { ChainBlock } from '../chain/chain-block.ts';
import { parseContentOptions } from './content-options.ts';
import { createStock } from './generate-block.ts';
import { chainBlockOf } from './testing/chain-block-of.ts';
import { ID } from './world/known-addresses.ts';
import { NO_ACCOUNT, type World } from './world/world.ts';

/** Returns the mints whose supply differs from the sum of their accounts. */
function listOff(world: World): number[] {
  const held = new Map<number, number>();
  for (let account = 0; account < world.accountCount; account++) {
    const mint = world.mintOf[account] as number;
    // Accounts that exist only during one transaction are closed in it.
    if (mint === NO_ACCOUNT || mint === ID.wrappedCoin || account >= world.scratch) continue;
    held.set(mint, (held.get(mint) ?? 0) + world.amount(account));
  }
  return [...held].filter(([mint, amount]) => world.amount(mint) !== amount).map(([mint]) => mint);
}

const options = parseContentOptions({ transactionsPerBlock: 40, votes: 5 });

describe('the world', () => {
  test('property: the supply of a mint is the sum of its accounts, and wrapped coins equal lamports', () => {
    const { world, timeline } = createStock(options);
    expect(listOff(world)).toEqual([]);
    for (let slot = 0; slot < timeline.windowSlots; slot += 37) {
      timeline.run(chainBlockOf(slot), null);
      expect(listOff(world)).toEqual([]);
      for (let account = 0; account < world.scratch; account++) {
        if (world.mintOf[account] !== ID.wrappedCoin || !world.exists(account)) continue;
        const rent = world.rentOfToken(ID.wrappedCoin);
        expect(world.lamports(account)).toBe(rent + world.amount(account));
      }
    }
  });

  test("property: the last block of a window restores the state of the window's start", () => {
    const { world, timeline } = createStock(options);
    // The first window is not used, because it pays rewards to vote accounts, which keep them.
    const end = timeline.windowSlots * 4;
    timeline.run(chainBlockOf(end - 2), null);
    const isOff = (cell: number) => world.cell(cell) !== world.start[cell];
    const lasting = Array.from({ length: world.launchMints }, (_, account) => account);
    const cells = lasting.flatMap((account) => [account, world.accountCount + account]);
    expect(cells.filter(isOff).length).toBeGreaterThan(50);
    timeline.run(chainBlockOf(end - 1), null);
    expect(cells.filter(isOff)).toEqual([]);
    const others = [world.asks, world.bids, world.prices, world.debts, world.collaterals];
    expect(others.filter(isOff)).toEqual([]);
  });

  test('limit: to generate a block at a far slot, only the blocks of its window are run', () => {
    const { timeline } = createStock(options);
    const slot = 50_000_000_000 - 3;
    const requested: number[] = [];
    const watch = (block: ChainBlock): ChainBlock => ({
      ...block,
      parent: () => {
        requested.push(block.slot - 1);
        return watch(chainBlockOf(block.slot - 1));
      },
    });
    timeline.run(watch(chainBlockOf(slot)), null);
    const windowStart = Math.floor(slot / timeline.windowSlots) * timeline.windowSlots;
    // Only the slot of the block before the window is read.
    expect(Math.min(...requested)).toBe(windowStart - 1);
    expect(requested).toHaveLength(slot - windowStart + 1);
  });

  test('limit: the world of a busy ledger has 100,000 accounts, and its journal is cleared at the end of the window', () => {
    const busy = createStock(parseContentOptions({ profile: 'busy', votes: 100 }));
    expect(busy.world.accountCount).toBeGreaterThan(100_000);
    busy.timeline.run(chainBlockOf(3), null);
    const { mark } = busy.world.cells;
    expect(mark).toBeGreaterThan(0);
    busy.timeline.run(chainBlockOf(busy.timeline.windowSlots), null);
    expect(busy.world.cells.mark).toBeLessThan(mark);
  });
});
