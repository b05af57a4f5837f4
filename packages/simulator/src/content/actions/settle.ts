/**
 * The end of a window: ordinary transactions restore the state in which every window starts. Users end their sessions, the market maker
 * restores pools and markets, and the faucet evens out coins. After the last three transactions the leader lacks exactly its fee reward.
 * A stake account has paid what the faucet lacked, and gets the same amount back as a reward.
 */
import { SIGNATURE_FEE } from '../machine/machine.ts';
import { rebalance } from '../programs/amm.ts';
import { withdrawStake } from '../programs/native.ts';
import { updatePrices } from '../programs/oracle.ts';
import { quoteMarket } from '../programs/order-book.ts';
import { transferLamports } from '../programs/system.ts';
import { closeAccount, openWrapped, syncNative, transferTokens } from '../programs/token.ts';
import { COIN, MARKET_COUNT, POOL_COUNT, WRAPPED } from '../world/tokens.ts';
import { BOT_COUNT, FEED_COUNT } from '../world/world.ts';
import type { Scene } from './scene.ts';
import { endSession } from './wallet-actions.ts';

const TOP_UP_COUNT = 8;

/** Ends the session of the next user who has one. Returns false when no user has one. */
export function settleUser(scene: Scene): boolean {
  const { world } = scene;
  let user = world.cell(world.closeCursor);
  while (user < world.userCount && !world.exists(world.users + user)) user++;
  if (user !== world.cell(world.closeCursor)) world.cells.set(world.closeCursor, user);
  if (user === world.userCount) return false;
  endSession(scene, user);
  return true;
}

/** Adds one transaction that moves the state towards the state at the start of a window. Returns false when only the last three transactions are missing. */
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

/** Runs `act` for the first index below `count` that is not settled. */
function settleOne(count: number, isSettled: (i: number) => boolean, act: (i: number) => void) {
  for (let i = 0; i < count; i++) {
    if (isSettled(i)) continue;
    act(i);
    return true;
  }
  return false;
}

function settleMarkets(scene: Scene): boolean {
  const { vm, world } = scene;
  // A market offers no more than its vaults hold.
  const isSettled = (market: number): boolean =>
    [0, 1].every((side) => world.amount(world.marketVaults + market * 2 + side) === 0);
  return settleOne(MARKET_COUNT, isSettled, (market) => {
    scene.beginPlain(world.maker);
    quoteMarket(vm, market, [0, 0]);
  });
}

function settlePools(scene: Scene): boolean {
  const { vm, world } = scene;
  const vaultsOf = (pool: number) => [world.poolVault(pool, 0), world.poolVault(pool, 1)];
  const isSettled = (pool: number): boolean =>
    vaultsOf(pool).every((vault) => world.amountSinceStart(vault) === 0);
  return settleOne(POOL_COUNT, isSettled, (pool) => {
    scene.beginPlain(world.maker);
    const vaults = vaultsOf(pool);
    const targets = vaults.map((vault) => world.amount(vault) - world.amountSinceStart(vault));
    rebalance(vm, pool, targets);
  });
}

/** A bot transfers its profit to the market maker. */
function settleBots(scene: Scene): boolean {
  const { vm, world } = scene;
  const profitOf = (bot: number): number => world.amountSinceStart(world.botToken(bot, WRAPPED));
  const isSettled = (bot: number): boolean => profitOf(bot) === 0;
  return settleOne(BOT_COUNT, isSettled, (bot) => {
    const [from, authority] = [world.botToken(bot, WRAPPED), world.bots + bot];
    scene.beginPlain(authority);
    const to = world.makerTokens + WRAPPED;
    transferTokens(vm, { from, to, authority, amount: profitOf(bot) });
  });
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

/** Restores the wrapped coins of the market maker: the faucet takes a surplus and adds missing coins. */
function settleMaker(scene: Scene): boolean {
  const { vm, world } = scene;
  const { maker, faucet } = world;
  const wrappedAccount = world.makerTokens + WRAPPED;
  const surplus = world.amountSinceStart(wrappedAccount);
  if (surplus === 0) return false;
  if (surplus < 0) {
    scene.beginPlain(faucet);
    transferLamports(vm, faucet, wrappedAccount, -surplus);
    syncNative(vm, wrappedAccount);
    return true;
  }
  scene.beginPlain(maker);
  const passing = openWrapped(vm, maker, 0);
  transferTokens(vm, { from: wrappedAccount, to: passing, authority: maker, amount: surplus });
  closeAccount(vm, { account: passing, to: faucet, authority: maker });
  return true;
}

/** Accounts with too few lamports are topped up together; those with too many pay back one by one. */
function settleCoins(scene: Scene, leader: number): boolean {
  const { vm, world } = scene;
  const low: number[] = [];
  for (const account of listHolders(scene)) {
    if (account === leader) continue;
    const surplus = world.lamportsSinceStart(account);
    if (surplus > SIGNATURE_FEE) {
      scene.beginPlain(account);
      transferLamports(vm, account, world.faucet, surplus - SIGNATURE_FEE);
      return true;
    }
    if (surplus !== 0) low.push(account);
    if (low.length === TOP_UP_COUNT) break;
  }
  if (low.length === 0) return false;
  scene.beginPlain(world.faucet);
  for (const account of low) {
    const surplus = world.lamportsSinceStart(account);
    // A surplus that is smaller than the fee for returning it is increased first.
    transferLamports(vm, world.faucet, account, surplus < 0 ? -surplus : 2 * SIGNATURE_FEE);
  }
  return true;
}

function* listHolders({ world }: Scene): Generator<number> {
  yield* [world.maker, world.foundation, world.reserve];
  for (let i = 0; i < BOT_COUNT; i++) yield world.bots + i;
  for (let i = 0; i < 2; i++) yield world.publishers + i;
  for (let i = 0; i < world.validatorCount; i++) yield world.identities + i;
}

/** The number of transactions after everything else is settled. */
export const LAST_COUNT = 3;

/**
 * Runs one of the last three transactions. `feesBefore` is the sum of all fees of the block before this one; the reward of the leader is
 * half of all fees.
 */
export function settleLast(scene: Scene, step: number, leader: number, feesBefore: number): void {
  const { vm, world } = scene;
  const { faucet, foundation: owner, foundationStake: account } = world;
  if (step === 0) {
    scene.beginPlain(faucet);
    transferLamports(vm, faucet, leader, COIN);
  } else if (step === 1) {
    // This transaction pays for one signature, the last one for two.
    const reward = Math.floor((feesBefore + 3 * SIGNATURE_FEE) / 2);
    scene.beginPlain(leader);
    transferLamports(vm, leader, faucet, world.lamportsSinceStart(leader) + reward);
  } else {
    scene.beginPlain(faucet, 2);
    withdrawStake(vm, { account, owner, to: faucet, lamports: -world.lamportsSinceStart(faucet) });
  }
}
