/**
 * The order book: the market maker quotes both sides of a market, and users take the offers. Events are calls of the program to itself.
 */
import { elementAt } from '@sluice/base/element-at';
import type { Machine } from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import { DOLLAR, MARKETS, wholeUnits } from '../world/tokens.ts';
import type { World } from '../world/world.ts';
import { BOOK_EMPTY } from './causes.ts';
import { discriminator, EVENT_CALL } from './discriminator.ts';
import { adjustVault, transferTokens } from './token.ts';

const QUOTE = discriminator('global', 'quote');
const TAKE = discriminator('global', 'take');
const FILL_EVENT = discriminator('event', 'FillEvent');
const QUOTE_UNITS = 24_600;
const TAKE_UNITS = 31_300;
const REFUSED_UNITS = 12_100;
/** The distance of each side from the price of the oracle. */
const SPREAD = 0.001;

/** Returns the price of a whole base token in millionths of a dollar. */
export function marketPrice(world: World, market: number): number {
  const lamports = world.price(elementAt(MARKETS, market));
  return Math.round((lamports / world.price(DOLLAR)) * 1_000_000);
}

function nameMarket({ refs, world }: Machine, market: number): void {
  const state = world.markets + market * 3;
  const vault = world.marketVaults + market * 2;
  for (let i = 0; i < 3; i++) refs.writable(state + i);
  refs.writable(vault).writable(vault + 1);
}

/** The market maker withdraws the vaults and deposits its new offer: base tokens to sell, and dollars to buy with. */
export function quoteMarket(vm: Machine, market: number, sizes: readonly number[]): boolean {
  const { world } = vm;
  const { maker, makerTokens } = world;
  const [ask = 0, bid = 0] = sizes;
  const data = vm.data.open(24).bytes(QUOTE).u64(ask).u64(bid).done();
  const makerAccounts = [makerTokens + elementAt(MARKETS, market), makerTokens + DOLLAR];
  vm.refs.signer(maker);
  nameMarket(vm, market);
  for (const account of makerAccounts) vm.refs.writable(account);
  vm.refs.readonly(ID.token);
  if (!vm.enterNamed(ID.orderBook, 'Instruction: Quote', data)) return false;
  makerAccounts.forEach((account, side) => {
    const vault = world.marketVaults + market * 2 + side;
    adjustVault(vm, { vault, account, amount: elementAt(sizes, side) });
  });
  world.cells.set(world.asks + market, ask);
  world.cells.set(world.bids + market, bid);
  return vm.leave(QUOTE_UNITS);
}

export interface Take {
  readonly market: number;
  readonly user: number;
  /** The accounts of the taker for the base token and for dollars. */
  readonly base: number;
  readonly dollars: number;
  readonly isBuy: boolean;
  /** The amount of base tokens. */
  readonly size: number;
}

export function take(vm: Machine, { market, user, base, dollars, isBuy, size }: Take): boolean {
  const { world } = vm;
  const side = isBuy ? 0 : 1;
  const data = vm.data.open(17).bytes(TAKE).u64(size).u8(side).done();
  const state = world.markets + market * 3;
  const baseVault = world.marketVaults + market * 2;
  vm.refs.signer(user);
  nameMarket(vm, market);
  vm.refs.writable(base).writable(dollars).readonly(ID.token);
  vm.refs.readonly(world.eventAuthorities + ID.orderBook).readonly(ID.orderBook);
  if (!vm.enterNamed(ID.orderBook, 'Instruction: Take', data)) return false;
  const price = Math.round(marketPrice(world, market) * (isBuy ? 1 + SPREAD : 1 - SPREAD));
  const cost = Math.ceil((size / wholeUnits(elementAt(MARKETS, market))) * price);
  const offer = isBuy ? world.asks + market : world.bids + market;
  const wanted = isBuy ? size : cost;
  if (world.cell(offer) < wanted) return vm.leaveFailed(BOOK_EMPTY, REFUSED_UNITS);
  const payment = isBuy
    ? { from: dollars, to: baseVault + 1, authority: user, amount: cost }
    : { from: base, to: baseVault, authority: user, amount: size };
  const delivery = isBuy
    ? { from: baseVault, to: base, authority: state, amount: size }
    : { from: baseVault + 1, to: dollars, authority: state, amount: cost };
  if (transferTokens(vm, payment) && transferTokens(vm, delivery)) {
    // Sold tokens are no longer offered. The payment stays in the vault until the market maker withdraws it.
    world.cells.add(offer, -wanted);
    const event = vm.data.open(105).bytes(EVENT_CALL).bytes(FILL_EVENT).key(state).key(user);
    vm.emitByCall(ID.orderBook, event.u64(size).u64(cost).u64(price).u8(side).done());
  }
  return vm.leave(TAKE_UNITS);
}
