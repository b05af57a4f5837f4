/** Transactions of the operators: the market maker, the bots, and the publishers of the oracle. */
import { elementAt } from '@sluice/base/element-at';
import { rebalance } from '../programs/amm.ts';
import { isUnhealthy, liquidate } from '../programs/lending.ts';
import { updatePrices } from '../programs/oracle.ts';
import { quoteMarket } from '../programs/order-book.ts';
import { arbitrage, type Hop, quoteRoute } from '../programs/router.ts';
import {
  COIN,
  DOLLAR,
  MARKET_COUNT,
  MARKETS,
  POOL_COUNT,
  POOLS,
  unitsPerCoin,
  WRAPPED,
} from '../world/tokens.ts';
import { BOT_COUNT, FEED_COUNT } from '../world/world.ts';
import type { Scene } from './scene.ts';

const UNITS = 600_000;
const QUOTED_COINS = 400;
const LIQUIDATION_TRIES = 64;
const FIRST_DOLLAR_POOL = POOLS.findIndex(([, quoted]) => quoted === DOLLAR);

/** Returns a route from the coin to a token, to dollars and back, or in the other direction. */
function circle(scene: Scene, bot: number, pool: number, isReversed: boolean): Hop[] {
  const { world } = scene;
  const [base] = elementAt(POOLS, pool);
  const coins = world.botToken(bot, WRAPPED);
  const tokens = world.botToken(bot, base);
  const dollars = world.botToken(bot, DOLLAR);
  const hops: Hop[] = [
    { pool: base - 1, side: 1, from: coins, to: tokens },
    { pool, side: 0, from: tokens, to: dollars },
    { pool: DOLLAR - 1, side: 0, from: dollars, to: coins },
  ];
  if (!isReversed) return hops;
  return hops.reverse().map((hop) => {
    return { pool: hop.pool, side: hop.side === 0 ? 1 : 0, from: hop.to, to: hop.from };
  });
}

/** Swaps along a circular route. It fails unless the pools leave a profit, which happens after large trades. */
export function tryArbitrage(scene: Scene): boolean {
  const { vm, world, random } = scene;
  const bot = random.below(BOT_COUNT);
  const pool = FIRST_DOLLAR_POOL + random.below(POOL_COUNT - FIRST_DOLLAR_POOL);
  const amount = random.between(1, 20) * COIN;
  const hops = circle(scene, bot, pool, random.chance(0.5));
  const isProfitable = quoteRoute(world, hops, amount) > amount;
  if (isProfitable === scene.isDoomed) return false;
  const user = world.bots + bot;
  scene.begin(user, UNITS);
  arbitrage(vm, { user, hops, amount, amountMin: 0, looksFirst: random.chance(0.8) });
  return true;
}

export function publishPrices(scene: Scene): void {
  const { vm, world, random } = scene;
  const publisher = world.publishers + random.below(2);
  const first = random.below(FEED_COUNT);
  const count = random.between(1, 3);
  const tokens = Array.from({ length: count }, (_, i) => 1 + ((first + i) % FEED_COUNT));
  scene.begin(publisher, 40_000);
  updatePrices(vm, publisher, tokens);
}

/** Updates the quotes of a market, or changes the reserves of a pool by up to two percent. */
export function makeMarket(scene: Scene): void {
  const { vm, world, random } = scene;
  scene.begin(world.maker, 120_000);
  if (random.chance(0.75)) {
    const market = random.below(MARKET_COUNT);
    const sizes = [elementAt(MARKETS, market), DOLLAR].map((token) => {
      return Math.floor(unitsPerCoin(token) * random.between(QUOTED_COINS / 2, QUOTED_COINS));
    });
    quoteMarket(vm, market, sizes);
    return;
  }
  const pool = random.below(POOL_COUNT);
  const factor = 1 + random.pick([-20, -10, -5, 5, 10, 20]) / 1000;
  const reserves = [0, 1].map((side) => world.amount(world.poolVault(pool, side)));
  const targets = reserves.map((reserve) => Math.floor(reserve * factor));
  rebalance(vm, pool, targets);
}

/** Looks for a debt that can be liquidated among some of the users. Returns false if it finds none. */
export function tryLiquidation(scene: Scene): boolean {
  const { vm, world, random } = scene;
  const first = random.below(world.userCount);
  for (let i = 0; i < Math.min(LIQUIDATION_TRIES, world.userCount); i++) {
    const user = (first + i) % world.userCount;
    if (world.cell(world.debts + user) === 0) continue;
    if (isUnhealthy(world, user) === scene.isDoomed) continue;
    scene.begin(world.maker, 120_000);
    liquidate(vm, user, false);
    return true;
  }
  return false;
}
