/** Chooses what the next transaction does. */
import { Choice } from '../distributions.ts';
import { COIN } from '../world/tokens.ts';
import { BOT_COUNT } from '../world/world.ts';
import { makeMarket, publishPrices, tryArbitrage, tryLiquidation } from './operator-actions.ts';
import type { Scene } from './scene.ts';
import { borrow, playLaunchpad, swapByRoute, swapDirectly, takeFromBook } from './trade-actions.ts';
import { fund, sendCoins, sendTokens, stake } from './wallet-actions.ts';

type Action = (scene: Scene) => void;

const DIRECT = new Choice<Action>([
  [swapDirectly, 36],
  [swapByRoute, 20],
  [(scene) => useApplications(scene, scene.wallet), 19],
  [sendTokens, 7],
  [sendCoins, 8],
  [playLaunchpad, 7],
  [takeFromBook, 5],
  [borrow, 3],
  [stake, 1],
]);
const DOOMED = new Choice<Action>([
  [swapDirectly, 20],
  [swapByRoute, 18],
  [sendTokens, 30],
  [(scene) => useApplications(scene, scene.wallet), 10],
  [playLaunchpad, 6],
  [sendCoins, 3],
  [borrow, 1],
]);
/** The share of bots that found no profit among failed transactions, and of the cast among the others. */
const BOT_RATE = 0.3;
const CAST_RATE = 0.13;
const APPLICATION_UNITS = 1_000_000;

/** A transaction of a user or of the cast, before the window ends. */
export function act(scene: Scene): void {
  const { isDoomed, random } = scene;
  const isFunded = scene.world.exists(scene.wallet) && scene.spendable >= COIN;
  if (random.chance(isDoomed ? BOT_RATE : CAST_RATE) || (isDoomed && !isFunded)) actAsCast(scene);
  else if (!isFunded) fund(scene);
  else (isDoomed ? DOOMED : DIRECT).draw(random)(scene);
}

/** A transaction of a bot, the market maker or a publisher of prices. */
export function actAsCast(scene: Scene): void {
  const { random } = scene;
  const looksForProfit = scene.isDoomed || random.chance(0.3);
  if (looksForProfit && (tryArbitrage(scene) || tryLiquidation(scene))) return;
  if (!scene.isDoomed && random.chance(0.5)) publishPrices(scene);
  else if (!scene.isDoomed && random.chance(0.2)) makeMarket(scene);
  else useApplications(scene, scene.world.bots + random.below(BOT_COUNT));
}

function useApplications(scene: Scene, user: number): void {
  const { vm, random, applications } = scene;
  const count = random.pick([1, 1, 2, 2, 3]);
  scene.begin(user, APPLICATION_UNITS);
  const failing = scene.isDoomed ? random.below(count) : -1;
  for (let i = 0; i < count; i++) applications.call(vm, { user, isDoomed: i === failing });
}
