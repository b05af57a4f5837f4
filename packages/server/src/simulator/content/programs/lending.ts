/** The lending pool: staked coins are the collateral, dollars are lent. A liquidator pays debts that grew too large. */
import { type Machine, payer, readonly, signer, writable } from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import { DOLLAR, POWERS_OF_TEN, rentOf, STAKED } from '../world/tokens.ts';
import type { World } from '../world/world.ts';
import { HEALTHY, TOO_MUCH_DEBT } from './causes.ts';
import { discriminator } from './discriminator.ts';
import { createAccount, moveLamports } from './system.ts';
import { transferTokens } from './token.ts';

const BORROW = discriminator('global', 'deposit_and_borrow');
const REPAY = discriminator('global', 'repay_and_withdraw');
const LIQUIDATE = discriminator('global', 'liquidate');
const LIQUIDATION_EVENT = discriminator('event', 'LiquidationEvent');
const OBLIGATION_BYTES = 1300;
const UNITS = 48_700;
const REFUSED_UNITS = 15_900;
/** Debt up to this share of the collateral can be taken, above the second it can be liquidated. */
const BORROW_SHARE = 0.75;
const LIQUIDATION_SHARE = 0.8;

/** The lamports that an amount is worth, by the prices of the oracle. */
function worth(world: World, token: number, amount: number): number {
  const decimals = world.decimalsOf[world.mint(token)] as number;
  return (amount / (POWERS_OF_TEN[decimals] as number)) * world.price(token);
}

export function isUnhealthy(world: World, user: number): boolean {
  const collateral = worth(world, STAKED, world.cell(world.collaterals + user));
  return worth(world, DOLLAR, world.cell(world.debts + user)) > collateral * LIQUIDATION_SHARE;
}

/** The dollars that so much collateral allows. */
export function borrowable(world: World, collateral: number): number {
  const value = worth(world, STAKED, collateral) * BORROW_SHARE;
  return Math.floor((value / world.price(DOLLAR)) * 1_000_000);
}

function lendingRefs(world: World, user: number): number[] {
  return [
    writable(world.obligations + user),
    writable(world.lendingMarket),
    readonly(world.lendingMarket + 1),
    writable(world.collateralVault),
    writable(world.dollarVault),
    writable(world.userToken(user, STAKED)),
    writable(world.userToken(user, DOLLAR)),
    readonly(world.feeds + STAKED - 1),
    readonly(world.feeds + DOLLAR - 1),
    readonly(ID.token),
    readonly(ID.system),
  ];
}

/** The obligation is opened with the first deposit. */
export function depositAndBorrow(
  vm: Machine,
  { user, collateral, dollars }: { user: number; collateral: number; dollars: number },
): boolean {
  const { world } = vm;
  const wallet = world.users + user;
  const obligation = world.obligations + user;
  const data = vm.data.open(24).bytes(BORROW).u64(collateral).u64(dollars).done();
  if (!vm.enter(ID.lending, data, [payer(wallet), ...lendingRefs(world, user)])) return false;
  vm.print('Instruction: DepositAndBorrow');
  if (dollars > borrowable(world, collateral)) {
    vm.fail(TOO_MUCH_DEBT);
    return vm.leave(REFUSED_UNITS);
  }
  const lamports = rentOf(OBLIGATION_BYTES);
  const space = { lamports, byteCount: OBLIGATION_BYTES, owner: ID.lending };
  const isOpen = world.exists(obligation) || createAccount(vm, wallet, obligation, space);
  const own = { collateral: world.userToken(user, STAKED), dollars: world.userToken(user, DOLLAR) };
  const market = world.lendingMarket + 1;
  const { collateralVault, dollarVault } = world;
  if (
    isOpen &&
    transferTokens(vm, {
      from: own.collateral,
      to: collateralVault,
      authority: wallet,
      amount: collateral,
    }) &&
    transferTokens(vm, { from: dollarVault, to: own.dollars, authority: market, amount: dollars })
  ) {
    world.cells.add(world.collaterals + user, collateral);
    world.cells.add(world.debts + user, dollars);
  }
  return vm.leave(UNITS);
}

/** Pays everything back and closes the obligation. */
export function repayAndWithdraw(vm: Machine, user: number): boolean {
  const { world } = vm;
  const wallet = world.users + user;
  const obligation = world.obligations + user;
  const data = vm.data.open(8).bytes(REPAY).done();
  if (!vm.enter(ID.lending, data, [payer(wallet), ...lendingRefs(world, user)])) return false;
  vm.print('Instruction: RepayAndWithdraw');
  const { collateralVault, dollarVault } = world;
  const debt = world.cell(world.debts + user);
  const collateral = world.cell(world.collaterals + user);
  const from = world.userToken(user, DOLLAR);
  const to = world.userToken(user, STAKED);
  const market = world.lendingMarket + 1;
  if (
    transferTokens(vm, { from, to: dollarVault, authority: wallet, amount: debt }) &&
    transferTokens(vm, { from: collateralVault, to, authority: market, amount: collateral })
  ) {
    closeObligation(vm, user, obligation);
  }
  return vm.leave(UNITS);
}

/** The market maker pays the whole debt and takes the whole collateral; what the obligation held goes back to its owner. */
export function liquidate(vm: Machine, user: number, isForced: boolean): boolean {
  const { world } = vm;
  const { maker, collateralVault, dollarVault } = world;
  const obligation = world.obligations + user;
  const from = world.makerTokens + DOLLAR;
  const to = world.makerTokens + STAKED;
  const data = vm.data
    .open(9)
    .bytes(LIQUIDATE)
    .u8(isForced ? 1 : 0)
    .done();
  const refs = [
    signer(maker),
    writable(obligation),
    writable(world.users + user),
    writable(world.lendingMarket),
    readonly(world.lendingMarket + 1),
    writable(collateralVault),
    writable(dollarVault),
    writable(from),
    writable(to),
    readonly(world.feeds + STAKED - 1),
    readonly(world.feeds + DOLLAR - 1),
    readonly(ID.token),
  ];
  if (!vm.enter(ID.lending, data, refs)) return false;
  vm.print('Instruction: Liquidate');
  if (!isForced && !isUnhealthy(world, user)) {
    vm.fail(HEALTHY);
    return vm.leave(REFUSED_UNITS);
  }
  const debt = world.cell(world.debts + user);
  const collateral = world.cell(world.collaterals + user);
  const authority = world.lendingMarket + 1;
  if (
    transferTokens(vm, { from, to: dollarVault, authority: maker, amount: debt }) &&
    transferTokens(vm, { from: collateralVault, to, authority, amount: collateral })
  ) {
    closeObligation(vm, user, obligation);
    const event = vm.data.open(88).bytes(LIQUIDATION_EVENT).key(obligation).key(maker);
    vm.emit(event.u64(debt).u64(collateral).done());
  }
  return vm.leave(UNITS);
}

function closeObligation(vm: Machine, user: number, obligation: number): void {
  const { world } = vm;
  world.cells.set(world.debts + user, 0);
  world.cells.set(world.collaterals + user, 0);
  moveLamports(vm, obligation, world.users + user, world.lamports(obligation));
}
