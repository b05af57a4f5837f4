/** Transactions of users with the programs of the simulator: swap, route, take from the book, trade new coins, borrow. */
import { elementAt } from '@sluice/base/element-at';
import { quote, swap } from '../programs/amm.ts';
import { createAssociated } from '../programs/associated.ts';
import { createCoin, quoteCoin, tradeCoin } from '../programs/launchpad.ts';
import {
  borrowable,
  depositAndBorrow,
  isUnhealthy,
  repayAndWithdraw,
} from '../programs/lending.ts';
import { marketPrice, take } from '../programs/order-book.ts';
import { type Hop, quoteRoute, route } from '../programs/router.ts';
import { transferLamports } from '../programs/system.ts';
import { burnTokens, closeAccount, openWrapped, syncNative } from '../programs/token.ts';
import {
  COIN,
  DOLLAR,
  MARKET_COUNT,
  MARKETS,
  STAKED,
  WRAPPED,
  wholeUnits,
} from '../world/tokens.ts';
import { LAUNCH_COUNT } from '../world/world.ts';
import type { Scene } from './scene.ts';
import { sendCoins } from './wallet-actions.ts';

const SWAP_UNITS = 140_000;
const ROUTE_UNITS = 400_000;
/** The slippage that a trade accepts, in thousandths. */
const TOLERANCE = 10;
/** The share of launchpad trades whose coin is chosen independently of what the user holds. */
const NEW_COIN_RATE = 0.12;
/** The share of new token accounts that are created by the instruction that fails if the account exists. */
const STRICT_RATE = 0.6;
/** The share of routes that close the account of the wrapped coin. Routes that opened the account themselves close it more often. */
const CLOSE_RATES = { opened: 0.1, known: 0.03 };
/** The share of sales of a launchpad coin that burn it instead. */
const BURN_RATE = 0.05;

/** Returns the minimum result that a trade accepts. For a trade that should fail it is more than the pool returns. */
function leastOf(scene: Scene, out: number): number {
  if (scene.isDoomed) return Math.ceil(out * 1.01) + 1;
  return Math.floor(out * (1 - scene.random.between(1, TOLERANCE) / 1000));
}

function drawCoins(scene: Scene): number {
  const share = scene.random.between(2, 30) / 100;
  return Math.max(COIN / 1000, Math.floor(scene.spendable * share));
}

function associate(scene: Scene, account: number): void {
  const { vm, world, random } = scene;
  const mint = world.mintAt(account);
  const owner = world.ownerAt(account);
  const exists = world.exists(account);
  if (exists && !random.chance(0.01)) return;
  const isStrict = !exists && random.chance(STRICT_RATE);
  createAssociated(vm, { from: scene.wallet, account, owner, mint, isStrict });
}

/** Buys or sells in one pool, through a temporary account of the wrapped coin. */
export function swapDirectly(scene: Scene): void {
  const { vm, world, random } = scene;
  const held = random.chance(0.5) ? scene.drawHeldToken() : 0;
  const token = held === 0 ? scene.drawWantedToken() : held;
  const isBuy = held === 0;
  const pool = token - 1;
  const userAccount = world.userToken(scene.user, token);
  const coins = isBuy ? drawCoins(scene) : 0;
  const amount = isBuy
    ? coins
    : Math.max(1, Math.floor(world.amount(userAccount) / random.between(1, 3)));
  const side = isBuy ? 1 : 0;
  scene.begin(scene.wallet, SWAP_UNITS, random.chance(0.4) ? 2 : 1);
  const passing = openWrapped(vm, scene.wallet, coins);
  if (isBuy) associate(scene, userAccount);
  const amountMin = leastOf(scene, quote(world, { pool, side }, amount).out);
  const [from, to] = isBuy ? [passing, userAccount] : [userAccount, passing];
  swap(vm, { pool, side, user: scene.wallet, from, to, amount, amountMin });
  closeAccount(vm, { account: passing, to: scene.wallet, authority: scene.wallet });
}

/** Swaps through the router: coins to a token, or a held token through the coin to another token. */
export function swapByRoute(scene: Scene): void {
  const { vm, world, random, user } = scene;
  const held = random.chance(0.85) ? scene.drawHeldToken() : 0;
  const wanted = scene.drawWantedToken();
  const wrapped = world.userToken(user, WRAPPED);
  const hops: Hop[] = [];
  if (held > 0) {
    hops.push({ pool: held - 1, side: 0, from: world.userToken(user, held), to: wrapped });
  }
  if (held !== wanted) {
    hops.push({ pool: wanted - 1, side: 1, from: wrapped, to: world.userToken(user, wanted) });
  }
  const coins = held > 0 ? 0 : drawCoins(scene);
  const amount =
    held > 0 ? Math.max(1, Math.floor(world.amount(world.userToken(user, held)) / 2)) : coins;
  const closeRate = world.exists(wrapped) ? CLOSE_RATES.known : CLOSE_RATES.opened;
  scene.begin(scene.wallet, ROUTE_UNITS);
  associate(scene, wrapped);
  if (held !== wanted) associate(scene, world.userToken(user, wanted));
  if (coins > 0) {
    transferLamports(vm, scene.wallet, wrapped, coins);
    syncNative(vm, wrapped);
  }
  const amountMin = leastOf(scene, quoteRoute(world, hops, amount));
  route(vm, { user: scene.wallet, hops, amount, amountMin });
  if (random.chance(closeRate)) {
    closeAccount(vm, { account: wrapped, to: scene.wallet, authority: scene.wallet });
  }
}

/** Buys base tokens if the user has dollars. Otherwise sells base tokens, or swaps coins for dollars. */
export function takeFromBook(scene: Scene): void {
  const { vm, world, random, user } = scene;
  const market = random.below(MARKET_COUNT);
  const token = elementAt(MARKETS, market);
  const base = world.userToken(user, token);
  const dollars = world.userToken(user, DOLLAR);
  const isBuy = world.amount(dollars) > 1_000_000;
  const unit = wholeUnits(token);
  const budget = Math.floor((world.amount(dollars) / marketPrice(world, market)) * unit);
  const size = Math.floor((isBuy ? budget : world.amount(base)) / random.between(2, 6));
  const offered = world.cell(isBuy ? world.asks + market : world.bids + market);
  const worth = isBuy ? size : Math.ceil((size / unit) * marketPrice(world, market) * 1.01);
  if (size < 10 || offered < worth === !scene.isDoomed) {
    swapDirectly(scene);
    return;
  }
  scene.begin(scene.wallet, SWAP_UNITS);
  associate(scene, isBuy ? base : dollars);
  take(vm, { market, user: scene.wallet, base, dollars, isBuy, size });
}

/** Returns a launchpad coin: usually one for which the user has an account, otherwise a random one; newer coins are more frequent. */
function drawLaunch({ world, random, user }: Scene, count: number): number {
  const first = count - 1 - Math.floor(random.unit() * random.unit() * count);
  if (random.chance(NEW_COIN_RATE)) return first;
  for (let i = 0; i < count; i++) {
    const launch = (first + i) % count;
    if (world.exists(world.launchToken(user, launch))) return launch;
  }
  return first;
}

/** Creates a coin if the window allows another one. Otherwise buys or sells one. */
export function playLaunchpad(scene: Scene): void {
  const { vm, world, random, user } = scene;
  const count = world.cell(world.launchCount);
  if (count === 0 && scene.isDoomed) {
    swapDirectly(scene);
    return;
  }
  if (count === 0 || (count < LAUNCH_COUNT && !scene.isDoomed && random.chance(0.01))) {
    scene.begin(scene.wallet, SWAP_UNITS * 2, 2);
    createCoin(vm, scene.wallet, count);
    return;
  }
  const launch = drawLaunch(scene, count);
  const account = world.launchToken(user, launch);
  const held = world.amount(account);
  const isBuy = held === 0 || random.chance(0.5);
  const amount = isBuy
    ? Math.min(COIN * 3, drawCoins(scene))
    : Math.ceil(held / random.between(1, 3));
  const out = quoteCoin(world, { launch, isBuy, amount });
  scene.begin(scene.wallet, SWAP_UNITS);
  if (!isBuy && !scene.isDoomed && random.chance(BURN_RATE)) {
    burnTokens(vm, { from: account, authority: scene.wallet, amount });
    return;
  }
  if (isBuy && !world.exists(account)) associate(scene, account);
  const amountMin = leastOf(scene, out);
  tradeCoin(vm, { launch, user: scene.wallet, account, isBuy, amount, amountMin });
}

/** Borrows against staked coins, repays a debt, or first gets staked coins. */
export function borrow(scene: Scene): void {
  const { vm, world, random, user } = scene;
  const userAccount = world.userToken(user, STAKED);
  const debt = world.cell(world.debts + user);
  if (debt > 0) {
    const isPayable = world.amount(world.userToken(user, DOLLAR)) >= debt;
    if (scene.isDoomed || isUnhealthy(world, user) || !isPayable) {
      sendCoins(scene);
      return;
    }
    scene.begin(scene.wallet, SWAP_UNITS);
    repayAndWithdraw(vm, user);
    return;
  }
  const collateral = Math.floor(world.amount(userAccount) / 2);
  const most = borrowable(world, collateral);
  if (most < 100_000 || most > world.amount(world.dollarVault)) {
    swapDirectly(scene);
    return;
  }
  scene.begin(scene.wallet, SWAP_UNITS);
  associate(scene, world.userToken(user, DOLLAR));
  const share = scene.isDoomed ? 1.2 : random.between(60, 99) / 100;
  depositAndBorrow(vm, { user, collateral, dollars: Math.floor(most * share) });
}
