/** Transactions of users without an application: users are funded, send coins and tokens, stake, and end their sessions. */
import { createAssociated } from '../programs/associated.ts';
import { liquidate, repayAndWithdraw } from '../programs/lending.ts';
import {
  deactivateStake,
  delegateStake,
  openStake,
  withdrawStake,
  writeMemo,
} from '../programs/native.ts';
import { transferLamports } from '../programs/system.ts';
import { closeAccount, transferChecked, transferTokens } from '../programs/token.ts';
import { COIN, DOLLAR, TOKEN_COUNT } from '../world/tokens.ts';
import type { Scene } from './scene.ts';

const WHALE_COINS = 1500;
const UNITS = 3000;
const ASSOCIATE_UNITS = 60_000;
/** The maximum number of token accounts that one transaction at the end of a session closes. */
const RETURNED_COUNT = 4;

/** The faucet sends coins for a new session, or additional coins. */
export function fund(scene: Scene): void {
  const { vm, world, random } = scene;
  const coins = scene.isWhale ? WHALE_COINS : 2 + random.below(40);
  scene.begin(world.faucet, UNITS);
  transferLamports(vm, world.faucet, scene.wallet, coins * COIN + random.below(COIN));
}

export function sendCoins(scene: Scene): void {
  const { vm, world, random } = scene;
  const other = scene.drawOther();
  const share = random.between(1, 20) / 100;
  const isReserve = scene.isWhale && random.chance(0.5);
  const amount = Math.max(COIN / 50, Math.floor(scene.spendable * share));
  scene.begin(scene.wallet, UNITS + 12_000);
  if (random.chance(0.25)) writeMemo(vm, `pay ${random.between(10_000, 99_999)}`);
  const lamports = scene.isDoomed ? world.lamports(scene.wallet) + COIN + amount : amount;
  if (isReserve) transferLamports(vm, scene.wallet, world.reserve, lamports);
  else if (other >= 0) transferLamports(vm, scene.wallet, world.users + other, lamports);
  // Recipients that are used only once: a few, or those of an airdrop.
  const fewCount = random.chance(0.4) ? random.between(1, 3) : 0;
  const count = random.chance(0.12) ? random.between(8, 14) : fewCount;
  const tip = Math.max(COIN / 500, Math.floor(amount / 40));
  for (let i = 0; i < count; i++) transferLamports(vm, scene.wallet, vm.scratch(0), tip);
  if (other < 0 && !isReserve) transferLamports(vm, scene.wallet, world.faucet, lamports);
}

/** Sends tokens to the market maker or to another user, for whom an account is opened if it does not exist. */
export function sendTokens(scene: Scene): void {
  const { vm, world, random, user } = scene;
  const held = scene.drawHeldToken();
  if (held === 0 && !scene.isDoomed) {
    sendCoins(scene);
    return;
  }
  const token = held === 0 ? scene.drawWantedToken() : held;
  const mint = world.mint(token);
  const userAccount = world.userToken(user, token);
  const other = random.chance(0.35) ? scene.drawOther() : -1;
  const to = other < 0 ? world.makerTokens + token : world.userToken(other, token);
  scene.begin(scene.wallet, ASSOCIATE_UNITS * 2);
  const open = { from: scene.wallet, mint };
  const isMissing = !world.exists(userAccount);
  // Opening an account that exists fails.
  if (isMissing || (scene.isDoomed && random.chance(0.3))) {
    createAssociated(vm, {
      ...open,
      isStrict: !isMissing,
      account: userAccount,
      owner: scene.wallet,
    });
  }
  if (other >= 0 && !world.exists(to)) {
    const owner = world.users + other;
    createAssociated(vm, { ...open, isStrict: random.chance(0.5), account: to, owner });
  }
  const part = Math.floor(world.amount(userAccount) / random.between(1, 8));
  const amount = scene.isDoomed ? world.amount(userAccount) + 1 + random.below(1e9) : part;
  const transfer = { from: userAccount, to, authority: scene.wallet, amount };
  if (random.chance(0.7)) transferChecked(vm, transfer);
  else transferTokens(vm, transfer);
}

/** Stakes if nothing is staked. Otherwise withdraws the stake, which is possible immediately because it was never active. */
export function stake(scene: Scene): void {
  const { vm, world, random, user } = scene;
  const account = world.userStakes + user;
  const owner = scene.wallet;
  if (world.exists(account)) {
    scene.begin(owner, ASSOCIATE_UNITS);
    unstake(scene, user);
    return;
  }
  const voteAccount = world.voteAccounts + random.below(world.validatorCount);
  // The minimum delegation is one coin.
  const lamports = Math.max(COIN, Math.floor(scene.spendable / 3));
  scene.begin(owner, ASSOCIATE_UNITS, 2);
  if (
    openStake(vm, { account, owner, lamports }) &&
    delegateStake(vm, { account, owner, voteAccount })
  ) {
    world.cells.set(world.isDelegated + user, 1);
  }
}

function unstake(scene: Scene, user: number): void {
  const { vm, world } = scene;
  const account = world.userStakes + user;
  const owner = world.users + user;
  if (world.cell(world.isDelegated + user) === 1) deactivateStake(vm, account, owner);
  withdrawStake(vm, { account, owner, to: owner, lamports: world.lamports(account) });
  world.cells.set(world.isDelegated + user, 0);
}

/**
 * Runs one transaction of the end of a user's session, which returns debts, then the stake, then tokens, then the remaining coins.
 * Launchpad coins of this window are not returned, because they are not traded any more.
 */
export function endSession(scene: Scene, user: number): void {
  const { vm, world } = scene;
  const wallet = world.users + user;
  if (world.cell(world.collaterals + user) > 0) {
    const isPayable = world.amount(world.userToken(user, DOLLAR)) >= world.cell(world.debts + user);
    scene.beginPlain(isPayable ? wallet : world.maker);
    if (isPayable) repayAndWithdraw(vm, user);
    else liquidate(vm, user, true);
    return;
  }
  scene.beginPlain(wallet);
  if (world.exists(world.userStakes + user)) {
    unstake(scene, user);
    return;
  }
  let left = RETURNED_COUNT;
  for (let token = 0; token < TOKEN_COUNT; token++) {
    const account = world.userToken(user, token);
    if (!world.exists(account)) continue;
    if (left-- === 0) return;
    const amount = world.amount(account);
    const to = world.makerTokens + token;
    if (token > 0 && amount > 0)
      transferChecked(vm, { from: account, to, authority: wallet, amount });
    closeAccount(vm, { account, to: wallet, authority: wallet });
  }
  transferLamports(vm, wallet, world.faucet, world.lamports(wallet));
}
