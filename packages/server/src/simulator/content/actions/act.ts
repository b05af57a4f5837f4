/** Chooses what the next transaction does. */
import { Choice } from '../distributions.ts';
import { COIN } from '../world/tokens.ts';
import { BOT_COUNT } from '../world/world.ts';
import { makeMarket, publishPrices, tryArbitrage, tryLiquidation } from './operator-actions.ts';
import type { Scene } from './scene.ts';
import { borrow, playLaunchpad, swapByRoute, swapDirectly, takeFromBook } from './trade-actions.ts';
import { fund, isOpen, sendCoins, sendTokens, stake } from './wallet-actions.ts';

type Action = (scene: Scene) => void;

const DIRECT = new Choice<Action>([
  [swapDirectly, 36],
  [swapByRoute, 20],
  [useApplications, 19],
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
  [useApplications, 10],
  [playLaunchpad, 6],
  [sendCoins, 3],
  [borrow, 1],
]);
/** Of the transactions that fail, so many are bots that found no profit; of the others the share of the cast. */
const BOT_RATE = 0.3;
const CAST_RATE = 0.13;
const APPLICATION_UNITS = 600_000;

/** A transaction of anybody while the window is young. */
export function act(scene: Scene): void {
  if (scene.random.chance(scene.isDoomed ? BOT_RATE : CAST_RATE)) {
    actAsCast(scene);
    return;
  }
  if (!isOpen(scene, scene.user) || scene.spendable < COIN) {
    if (scene.isDoomed) actAsCast(scene);
    else fund(scene);
  } else (scene.isDoomed ? DOOMED : DIRECT).draw(scene.random)(scene);
}

/** A transaction of those who are always there. */
export function actAsCast(scene: Scene): void {
  const { random } = scene;
  if (scene.isDoomed) {
    if (tryArbitrage(scene) || tryLiquidation(scene)) return;
    useApplicationsAs(scene, scene.world.bots + random.below(BOT_COUNT));
    return;
  }
  if (random.chance(0.3) && (tryArbitrage(scene) || tryLiquidation(scene))) return;
  if (random.chance(0.5)) publishPrices(scene);
  else if (random.chance(0.2)) makeMarket(scene);
  else useApplicationsAs(scene, scene.world.bots + random.below(BOT_COUNT));
}

function useApplications(scene: Scene): void {
  useApplicationsAs(scene, scene.wallet);
}

function useApplicationsAs(scene: Scene, user: number): void {
  const { vm, random, applications } = scene;
  const count = random.pick([1, 1, 2, 2, 3]);
  scene.begin(user, APPLICATION_UNITS);
  const failing = scene.isDoomed ? random.below(count) : -1;
  for (let i = 0; i < count; i++) {
    applications.call(vm, applications.drawRank(random), { user, isDoomed: i === failing });
  }
}
