/** Chooses the action of the next transaction. */
import { buildChoice } from '../distributions.ts';
import { transferLamports } from '../programs/system.ts';
import { COIN } from '../world/tokens.ts';
import { BOT_COUNT } from '../world/world.ts';
import { makeMarket, publishPrices, tryArbitrage, tryLiquidation } from './operator-actions.ts';
import type { Scene } from './scene.ts';
import { borrow, playLaunchpad, swapByRoute, swapDirectly, takeFromBook } from './trade-actions.ts';
import { fund, sendCoins, sendTokens, stake } from './wallet-actions.ts';

type Action = (scene: Scene) => void;

const drawDirect = buildChoice<Action>([
  [swapDirectly, 32],
  [swapByRoute, 35],
  [(scene) => useApplications(scene, scene.wallet), 21],
  [sendTokens, 4],
  [sendCoins, 8],
  [playLaunchpad, 6],
  [takeFromBook, 5],
  [borrow, 3],
  [stake, 1],
]);
const drawDoomed = buildChoice<Action>([
  [swapDirectly, 15],
  [swapByRoute, 18],
  [sendTokens, 28],
  [(scene) => useApplications(scene, scene.wallet), 20],
  [playLaunchpad, 6],
  [sendCoins, 3],
  [borrow, 1],
]);
/** Among failed transactions, the share of bots that found no profit; among the others, the share of operators. */
const BOT_RATE = 0.22;
const CAST_RATE = 0.06;
/** The share of application calls by users that end with a tip to a wallet that is used only once. */
const TIP_RATE = 0.5;
const TIP_LAMPORTS = COIN / 500;
const APPLICATION_UNITS = 1_000_000;

/** Runs a transaction of a user or of an operator, before the window ends. */
export function act(scene: Scene): void {
  const { isDoomed, random } = scene;
  const isFunded = scene.world.exists(scene.wallet) && scene.spendable >= COIN;
  if (random.chance(isDoomed ? BOT_RATE : CAST_RATE) || (isDoomed && !isFunded)) actAsCast(scene);
  else if (!isFunded) fund(scene);
  else (isDoomed ? drawDoomed : drawDirect)(random)(scene);
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
  const count = random.pick([2, 3, 3, 4]);
  scene.begin(user, APPLICATION_UNITS);
  const failing = scene.isDoomed ? random.below(count) : -1;
  for (let i = 0; i < count; i++) applications.call(vm, { user, isDoomed: i === failing });
  if (user === scene.wallet && random.chance(TIP_RATE)) {
    transferLamports(vm, user, vm.scratch(0), TIP_LAMPORTS);
  }
}
