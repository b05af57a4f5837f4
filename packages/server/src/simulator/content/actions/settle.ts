/**
 * The end of a window: everything that lasts returns to the state in which every window begins, by transactions like any
 * others. Users end their sessions, the market maker restores pools and markets, the faucet evens out coins. Then
 *
 *   the leader keeps what its fee reward will make whole, the faucet is refilled from a stake, and that stake earns as much.
 */
import { rebalance } from '../programs/amm.ts';
import { withdrawStake } from '../programs/native.ts';
import { updatePrices } from '../programs/oracle.ts';
import { quoteMarket } from '../programs/order-book.ts';
import { createWithSeed, transferLamports } from '../programs/system.ts';
import { closeAccount, initializeAccount, syncNative, transferTokens } from '../programs/token.ts';
import { ID } from '../world/known-addresses.ts';
import { COIN, MARKET_COUNT, POOL_COUNT, TOKEN_BYTES, WRAPPED } from '../world/tokens.ts';
import { BOT_COUNT, FEED_COUNT } from '../world/world.ts';
import type { Scene } from './scene.ts';
import { endSession, isOpen } from './wallet-actions.ts';

const PLAIN_FEE = 5000;
const TOP_UP_COUNT = 8;

/** Ends the session of the next user who has one. False if there is none. */
export function settleUser(scene: Scene): boolean {
  const { world } = scene;
  let user = world.cell(world.closeCursor);
  while (user < world.userCount && !isOpen(scene, user)) user++;
  if (user !== world.cell(world.closeCursor)) world.cells.set(world.closeCursor, user);
  if (user === world.userCount) return false;
  endSession(scene, user);
  return true;
}

/** One transaction towards the state of a window's start. False if nothing is left but the last three. */
export function settleCast(scene: Scene, leader: number): boolean {
  return (
    settleMarkets(scene) ||
    settlePools(scene) ||
    settleBots(scene) ||
    settlePrices(scene) ||
    settleMaker(scene) ||
    settleCoins(scene, leader)
  );
}

function settleMarkets(scene: Scene): boolean {
  const { vm, world } = scene;
  for (let market = 0; market < MARKET_COUNT; market++) {
    const vault = world.marketVaults + market * 2;
    const state = [world.asks + market, world.bids + market, world.accountCount + vault];
    if ([...state, world.accountCount + vault + 1].every((cell) => world.cell(cell) === 0))
      continue;
    scene.beginPlain(world.maker);
    quoteMarket(vm, market, [0, 0]);
    return true;
  }
  return false;
}

function settlePools(scene: Scene): boolean {
  const { vm, world } = scene;
  for (let pool = 0; pool < POOL_COUNT; pool++) {
    const targets = [world.poolVault(pool, 0), world.poolVault(pool, 1)].map((vault) => {
      return world.start[world.accountCount + vault] as number;
    }) as [number, number];
    const supply = world.accountCount + world.liquidityMints + pool;
    if (
      world.amount(world.poolVault(pool, 0)) === targets[0] &&
      world.amount(world.poolVault(pool, 1)) === targets[1] &&
      world.cell(supply) === world.start[supply]
    ) {
      continue;
    }
    scene.beginPlain(world.maker);
    rebalance(vm, pool, targets);
    return true;
  }
  return false;
}

/** A bot pays its profit out to the market maker. */
function settleBots(scene: Scene): boolean {
  const { vm, world } = scene;
  for (let bot = 0; bot < BOT_COUNT; bot++) {
    const from = world.botToken(bot, WRAPPED);
    const amount = world.amount(from) - (world.start[world.accountCount + from] as number);
    if (amount === 0) continue;
    const authority = world.bots + bot;
    scene.beginPlain(authority);
    transferTokens(vm, { from, to: world.makerTokens + WRAPPED, authority, amount });
    return true;
  }
  return false;
}

function settlePrices(scene: Scene): boolean {
  const { vm, world } = scene;
  const tokens: number[] = [];
  for (let token = 1; token <= FEED_COUNT; token++) {
    if (world.price(token) !== world.start[world.prices + token - 1]) tokens.push(token);
  }
  if (tokens.length === 0) return false;
  scene.beginPlain(world.publishers);
  updatePrices(vm, world.publishers, tokens);
  return true;
}

/** The market maker's wrapped coins: too many are unwrapped for the faucet, missing ones come from it. */
function settleMaker(scene: Scene): boolean {
  const { vm, world } = scene;
  const own = world.makerTokens + WRAPPED;
  const surplus = world.amount(own) - (world.start[world.accountCount + own] as number);
  if (surplus === 0) return false;
  if (surplus < 0) {
    scene.beginPlain(world.faucet);
    transferLamports(vm, world.faucet, own, -surplus);
    syncNative(vm, own);
    return true;
  }
  const { maker, faucet } = world;
  const lamports = world.rentOfToken(ID.wrappedCoin);
  scene.beginPlain(maker);
  const passing = createWithSeed(vm, maker, { lamports, byteCount: TOKEN_BYTES, owner: ID.token });
  initializeAccount(vm, { account: passing, mint: ID.wrappedCoin, owner: maker });
  transferTokens(vm, { from: own, to: passing, authority: maker, amount: surplus });
  closeAccount(vm, { account: passing, to: faucet, authority: maker });
  return true;
}

/** Accounts whose lamports moved: those with too few are topped up together, those with too many pay back one by one. */
function settleCoins(scene: Scene, leader: number): boolean {
  const { vm, world } = scene;
  const low: number[] = [];
  for (const account of listHolders(scene)) {
    if (account === leader) continue;
    const surplus = world.lamports(account) - (world.start[account] as number);
    if (surplus > PLAIN_FEE) {
      payBack(scene, account, surplus);
      return true;
    }
    if (surplus !== 0) low.push(account);
    if (low.length === TOP_UP_COUNT) break;
  }
  if (low.length === 0) return false;
  scene.beginPlain(world.faucet);
  for (const account of low) {
    const surplus = world.lamports(account) - (world.start[account] as number);
    // A surplus that does not pay the fee of its return is raised until it does.
    transferLamports(vm, world.faucet, account, surplus < 0 ? -surplus : 2 * PLAIN_FEE);
  }
  return true;
}

function payBack(scene: Scene, account: number, surplus: number): void {
  const { vm, world } = scene;
  scene.beginPlain(account);
  transferLamports(vm, account, world.faucet, surplus - PLAIN_FEE);
}

function* listHolders({ world }: Scene): Generator<number> {
  yield world.maker;
  yield world.foundation;
  yield world.reserve;
  for (let i = 0; i < BOT_COUNT; i++) yield world.bots + i;
  for (let i = 0; i < 2; i++) yield world.publishers + i;
  for (let i = 0; i < world.validatorCount; i++) yield world.identities + i;
}

/** How many transactions follow once nothing else is left. */
export const LAST_COUNT = 3;

/**
 * One of the last transactions. `feesBefore` are those of all transactions of the block before this one; the reward of the
 * leader is half of all fees.
 */
export function settleLast(scene: Scene, step: number, leader: number, feesBefore: number): void {
  const { vm, world } = scene;
  if (step === 0) {
    scene.beginPlain(world.faucet);
    transferLamports(vm, world.faucet, leader, COIN);
  } else if (step === 1) {
    // This transaction has one signature, the last one two.
    const reward = Math.floor((feesBefore + 3 * PLAIN_FEE) / 2);
    scene.beginPlain(leader);
    const kept = (world.start[leader] as number) - reward;
    transferLamports(vm, leader, world.faucet, world.lamports(leader) - kept);
  } else {
    scene.beginPlain(world.faucet, 2);
    const missing = (world.start[world.faucet] as number) - world.lamports(world.faucet);
    const { foundation, foundationStake } = world;
    withdrawStake(vm, {
      account: foundationStake,
      owner: foundation,
      to: world.faucet,
      lamports: missing,
    });
  }
}
