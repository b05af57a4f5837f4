import { describe, expect, test } from 'vitest';
import type { ChainBlock } from '../chain/chain-block.ts';
import type { Timeline } from './blocks/timeline.ts';
import { parseContentOptions } from './content-options.ts';
import { createStock } from './generate-block.ts';
import { chainBlockOf } from './testing/chain-block-of.ts';
import { ID } from './world/known-addresses.ts';
import { MARKETS } from './world/tokens.ts';
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

/** Returns the cells that differ from the start of the window, except those of accounts that only one window uses. */
function listUnsettled(world: World): number[] {
  const { launchMints, accountCount, launchCount } = world;
  const isOff = (cell: number): boolean => world.cell(cell) !== world.start[cell];
  const isLasting = (cell: number): boolean =>
    cell < launchMints || (cell >= accountCount && cell < accountCount + launchMints);
  // The cells of programs follow those of the accounts. The last two count the coins and the ended sessions of the window.
  const isProgram = (cell: number): boolean => cell >= accountCount * 2 && cell < launchCount;
  const cells = Array.from(world.start, (_, cell) => cell);
  return cells.filter((cell) => (isLasting(cell) || isProgram(cell)) && isOff(cell));
}

function countSessions(world: World): number {
  const users = Array.from({ length: world.userCount }, (_, user) => world.users + user);
  return users.filter((user) => world.exists(user)).length;
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

  test.each([
    ['the last slot', [], 1],
    ['an earlier slot, if the last slots are skipped', [1, 2, 3], 4],
  ])(
    "property: the last block of a window, in %s, restores the state of the window's start",
    (...row) => {
      const [, skippedFromEnd, lastFromEnd] = row as [string, number[], number];
      const { world, timeline } = createStock(options);
      // The first window is not used, because it pays rewards to vote accounts, which keep them.
      const end = timeline.windowSlots * 4;
      const skipped = skippedFromEnd.map((distance) => end - distance);
      const last = end - lastFromEnd;
      timeline.run(chainBlockOf(end - timeline.windowSlots / 2, 0, skipped), null);
      const halfway = listUnsettled(world);
      // Debts, stakes and offers exist before the end, so that settling them is tested.
      for (const first of [world.debts, world.collaterals, world.isDelegated]) {
        const isIn = (cell: number) => cell >= first && cell < first + world.userCount;
        expect(halfway.filter(isIn).length).toBeGreaterThan(0);
      }
      expect(halfway.filter((cell) => cell >= world.asks).length).toBeGreaterThan(3);
      timeline.run(chainBlockOf(last - 1, 0, skipped), null);
      expect(listUnsettled(world).length).toBeGreaterThan(50);
      timeline.run(chainBlockOf(last, 0, skipped), null);
      expect(listUnsettled(world)).toEqual([]);
      expect(world.cell(world.launchCount)).toBeGreaterThan(0);
      // The next window starts with the same state, without the coins of the last one.
      timeline.run(chainBlockOf(end, 0, skipped), null);
      expect(world.cell(world.closeCursor)).toBe(0);
      expect(world.cell(world.launchCount)).toBeLessThanOrEqual(1);
    },
  );

  test('behavior: a market whose base tokens were all bought is settled at the end of a window', () => {
    const { world, timeline } = createStock(options);
    const last = timeline.windowSlots * 4 - 1;
    timeline.run(chainBlockOf(last - 1), null);
    MARKETS.forEach((token, market) => {
      const vault = world.marketVaults + market * 2;
      const amount = world.amount(vault);
      expect(world.amount(vault + 1)).toBeGreaterThan(0);
      world.addAmount(vault, -amount);
      world.addAmount(world.makerTokens + token, amount);
      world.cells.set(world.asks + market, 0);
    });
    timeline.run(chainBlockOf(last), null);
    expect(listUnsettled(world)).toEqual([]);
  });

  test('behavior: sessions begin to end before the last block of a window', () => {
    const { world, timeline } = createStock(options);
    timeline.run(chainBlockOf(timeline.windowSlots - 30), null);
    const openCount = countSessions(world);
    expect(openCount).toBeGreaterThan(world.userCount / 2);
    timeline.run(chainBlockOf(timeline.windowSlots - 2), null);
    expect(countSessions(world)).toBeLessThan(openCount * 0.7);
    timeline.run(chainBlockOf(timeline.windowSlots - 1), null);
    expect(countSessions(world)).toBe(0);
  });

  test('behavior: the balances of vote accounts follow the parent of the window on every branch', () => {
    // An epoch starts in the last slot of a window and pays its first voters there, or in the next block if this slot is skipped.
    const { windowSlots } = createStock(options).timeline;
    const epochs = { ...options, slotsPerEpoch: windowSlots * 2 - 1 };
    const boundary = windowSlots * 2;
    const rewardsOf = (timeline: Timeline, branch: number, skipped: number[]) =>
      timeline
        .rewardsOf(chainBlockOf(boundary, branch, skipped))
        .filter(({ rewardType }) => rewardType === 'Voting');
    const { timeline } = createStock(epochs);
    const paidBefore = rewardsOf(timeline, 0, []);
    const paidNow = rewardsOf(timeline, 1, [boundary - 1]);
    expect(paidNow.length).toBeGreaterThan(paidBefore.length);
    expect(paidNow).toEqual(rewardsOf(createStock(epochs).timeline, 1, [boundary - 1]));
    expect(new Set(paidNow.map(({ postBalance }) => postBalance)).size).toBe(1);
    expect(rewardsOf(timeline, 0, [])).toEqual(paidBefore);
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
    expect(new Set(requested).size).toBe(slot - windowStart + 1);
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
