/** The lending pool: it lends dollars against staked coins as collateral. A liquidator repays debts that have become too large. */
import type { Machine } from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import { DOLLAR, rentOf, STAKED, wholeUnits } from '../world/tokens.ts';
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
/** A user can borrow up to the first share of the collateral. A debt above the second share can be liquidated. */
const BORROW_SHARE = 0.75;
const LIQUIDATION_SHARE = 0.8;

/** Returns the value of an amount in lamports, by the prices of the oracle. */
function worth(world: World, token: number, amount: number): number {
  return (amount / wholeUnits(token)) * world.price(token);
}

export function isUnhealthy(world: World, user: number): boolean {
  const collateral = worth(world, STAKED, world.cell(world.collaterals + user));
  return worth(world, DOLLAR, world.cell(world.debts + user)) > collateral * LIQUIDATION_SHARE;
}

/** Returns the dollars that can be borrowed against a collateral. */
export function borrowable(world: World, collateral: number): number {
  const value = worth(world, STAKED, collateral) * BORROW_SHARE;
  return Math.floor((value / world.price(DOLLAR)) * 1_000_000);
}

/** The accounts of a caller for collateral and dollars. */
interface CallerAccounts {
  readonly collateral: number;
  readonly dollars: number;
}

/** Names the accounts of the pool and of the caller. */
function nameCommon({ refs, world }: Machine, accounts: CallerAccounts): void {
  const { lendingMarket, collateralVault, dollarVault, feeds } = world;
  refs.writable(lendingMarket).readonly(lendingMarket + 1);
  refs.writable(collateralVault).writable(dollarVault);
  refs.writable(accounts.collateral).writable(accounts.dollars);
  refs.readonly(feeds + STAKED - 1).readonly(feeds + DOLLAR - 1);
  refs.readonly(ID.token).readonly(ID.system);
}

function accountsOf(world: World, user: number): CallerAccounts {
  return { collateral: world.userToken(user, STAKED), dollars: world.userToken(user, DOLLAR) };
}

/** Deposits collateral and borrows dollars. The first deposit opens the obligation. */
export function depositAndBorrow(
  vm: Machine,
  { user, collateral, dollars }: { user: number; collateral: number; dollars: number },
): boolean {
  const { world } = vm;
  const { collateralVault, dollarVault } = world;
  const wallet = world.users + user;
  const obligation = world.obligations + user;
  const accounts = accountsOf(world, user);
  const data = vm.data.open(24).bytes(BORROW).u64(collateral).u64(dollars).done();
  vm.refs.payer(wallet).writable(obligation);
  nameCommon(vm, accounts);
  if (!vm.enterNamed(ID.lending, 'Instruction: DepositAndBorrow', data)) return false;
  if (dollars > borrowable(world, collateral)) return vm.leaveFailed(TOO_MUCH_DEBT, REFUSED_UNITS);
  const lamports = rentOf(OBLIGATION_BYTES);
  const space = { lamports, byteCount: OBLIGATION_BYTES, owner: ID.lending };
  const isOpen = world.exists(obligation) || createAccount(vm, wallet, obligation, space);
  const deposit = { from: accounts.collateral, to: collateralVault, authority: wallet };
  const loan = { from: dollarVault, to: accounts.dollars, authority: world.lendingMarket + 1 };
  if (
    isOpen &&
    transferTokens(vm, { ...deposit, amount: collateral }) &&
    transferTokens(vm, { ...loan, amount: dollars })
  ) {
    world.cells.add(world.collaterals + user, collateral);
    world.cells.add(world.debts + user, dollars);
  }
  return vm.leave(UNITS);
}

/** Repays the whole debt and closes the obligation. */
export function repayAndWithdraw(vm: Machine, user: number): boolean {
  const { world } = vm;
  const wallet = world.users + user;
  const accounts = accountsOf(world, user);
  const data = vm.data.open(8).bytes(REPAY).done();
  vm.refs.payer(wallet).writable(world.obligations + user);
  nameCommon(vm, accounts);
  if (!vm.enterNamed(ID.lending, 'Instruction: RepayAndWithdraw', data)) return false;
  settleDebt(vm, user, accounts, wallet);
  return vm.leave(UNITS);
}

/** The market maker pays the whole debt and takes the whole collateral. The lamports of the obligation go back to its owner. */
export function liquidate(vm: Machine, user: number, isForced: boolean): boolean {
  const { world } = vm;
  const { maker, makerTokens } = world;
  const obligation = world.obligations + user;
  const accounts = { collateral: makerTokens + STAKED, dollars: makerTokens + DOLLAR };
  const data = vm.data.open(9).bytes(LIQUIDATE);
  vm.refs
    .signer(maker)
    .writable(obligation)
    .writable(world.users + user);
  nameCommon(vm, accounts);
  if (!vm.enterNamed(ID.lending, 'Instruction: Liquidate', data.u8(isForced ? 1 : 0).done()))
    return false;
  if (!isForced && !isUnhealthy(world, user)) return vm.leaveFailed(HEALTHY, REFUSED_UNITS);
  const debt = world.cell(world.debts + user);
  const collateral = world.cell(world.collaterals + user);
  if (settleDebt(vm, user, accounts, maker)) {
    const event = vm.data.open(88).bytes(LIQUIDATION_EVENT).key(obligation).key(maker);
    vm.emit(event.u64(debt).u64(collateral).done());
  }
  return vm.leave(UNITS);
}

/** Moves the debt into the pool and the collateral out of it, and closes the obligation. */
function settleDebt(
  vm: Machine,
  user: number,
  accounts: CallerAccounts,
  authority: number,
): boolean {
  const { world } = vm;
  const { collateralVault, dollarVault } = world;
  const obligation = world.obligations + user;
  const debt = world.cell(world.debts + user);
  const pledged = world.cell(world.collaterals + user);
  const market = world.lendingMarket + 1;
  const payment = { from: accounts.dollars, to: dollarVault, authority, amount: debt };
  const refund = {
    from: collateralVault,
    to: accounts.collateral,
    authority: market,
    amount: pledged,
  };
  if (!transferTokens(vm, payment) || !transferTokens(vm, refund)) return false;
  world.cells.set(world.debts + user, 0);
  world.cells.set(world.collaterals + user, 0);
  moveLamports(vm, obligation, world.users + user, world.lamports(obligation));
  return true;
}
