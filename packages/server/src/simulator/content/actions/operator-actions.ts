/** What the cast does on its own account: the market maker, the bots, the publishers of the oracle. */
import { changeLiquidity } from '../programs/amm.ts';
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
const QUOTED_COINS = 4000;

/** From the coin to a token, to dollars and back, or the other way round. */
function circle(scene: Scene, bot: number, pool: number, isReversed: boolean): Hop[] {
  const { world } = scene;
  const [base] = POOLS[pool] as readonly [number, number];
  const coins = world.botToken(bot, WRAPPED);
  const tokens = world.botToken(bot, base);
  const dollars = world.botToken(bot, DOLLAR);
  return isReversed
    ? [
        { pool: DOLLAR - 1, side: 1, from: coins, to: dollars },
        { pool, side: 1, from: dollars, to: tokens },
        { pool: base - 1, side: 0, from: tokens, to: coins },
      ]
    : [
        { pool: base - 1, side: 1, from: coins, to: tokens },
        { pool, side: 0, from: tokens, to: dollars },
        { pool: DOLLAR - 1, side: 0, from: dollars, to: coins },
      ];
}

const FIRST_DOLLAR_POOL = POOLS.findIndex(([, quoted]) => quoted === DOLLAR);

/** Swaps in a circle. It fails unless the pools happen to leave a profit, which they do after large trades. */
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
  const tokens = Array.from(
    { length: random.between(1, 3) },
    (_, i) => 1 + ((first + i) % FEED_COUNT),
  );
  scene.begin(publisher, 40_000);
  updatePrices(vm, publisher, tokens);
}

/** Quotes a market anew, or changes the liquidity of a pool. */
export function makeMarket(scene: Scene): void {
  const { vm, world, random } = scene;
  scene.begin(world.maker, 120_000);
  if (random.chance(0.75)) {
    const market = random.below(MARKET_COUNT);
    const sizes = [MARKETS[market] as number, DOLLAR].map((token) => {
      return Math.floor(
        (unitsPerCoin(token) * random.between(QUOTED_COINS / 2, QUOTED_COINS)) / 10,
      );
    });
    quoteMarket(vm, market, sizes as [number, number]);
    return;
  }
  changeLiquidity(vm, random.below(POOL_COUNT), random.pick([-20, -10, -5, 5, 10, 20]));
}

/** Looks for a debt that may be liquidated, among some of the users. */
export function tryLiquidation(scene: Scene): boolean {
  const { vm, world, random } = scene;
  const first = random.below(world.userCount);
  for (let i = 0; i < Math.min(64, world.userCount); i++) {
    const user = (first + i) % world.userCount;
    if (world.cell(world.debts + user) === 0) continue;
    if (isUnhealthy(world, user) === scene.isDoomed) continue;
    scene.begin(world.maker, 120_000);
    liquidate(vm, user, false);
    return true;
  }
  return false;
}
