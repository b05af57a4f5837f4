/** The order book: the market maker quotes both sides of a market, others take. Events are calls of the program to itself. */
import { type Machine, readonly, signer, writable } from '../machine/machine.ts';
import type { PooledText } from '../text-pool.ts';
import { ID } from '../world/known-addresses.ts';
import { DOLLAR, MARKETS, POWERS_OF_TEN } from '../world/tokens.ts';
import type { World } from '../world/world.ts';
import { BOOK_EMPTY } from './causes.ts';
import { discriminator, EVENT_CALL } from './discriminator.ts';
import { transferTokens } from './token.ts';

const QUOTE = discriminator('global', 'quote');
const TAKE = discriminator('global', 'take');
const FILL_EVENT = discriminator('event', 'FillEvent');
const QUOTE_UNITS = 24_600;
const TAKE_UNITS = 31_300;
const REFUSED_UNITS = 12_100;
const EVENT_UNITS = 480;
/** The distance of each side from the price of the oracle. */
const SPREAD = 0.001;

/** The dollars, in millionths, that a whole base token costs. */
export function marketPrice(world: World, market: number): number {
  const lamports = world.price(MARKETS[market] as number);
  return Math.round((lamports / world.price(DOLLAR)) * 1_000_000);
}

function priceOf(world: World, market: number, isBuy: boolean): number {
  return Math.round(marketPrice(world, market) * (isBuy ? 1 + SPREAD : 1 - SPREAD));
}

function dollarsFor(world: World, market: number, size: number, price: number): number {
  const mint = world.mint(MARKETS[market] as number);
  return Math.ceil((size / (POWERS_OF_TEN[world.decimalsOf[mint] as number] as number)) * price);
}

function marketRefs(world: World, market: number): number[] {
  const state = world.markets + market * 3;
  return [
    writable(state),
    writable(state + 1),
    writable(state + 2),
    writable(world.marketVaults + market * 2),
    writable(world.marketVaults + market * 2 + 1),
  ];
}

/** The market maker takes back what is in the vaults and locks what it now offers: base tokens to sell, dollars to buy with. */
export function quoteMarket(
  vm: Machine,
  market: number,
  sizes: readonly [number, number],
): boolean {
  const { world } = vm;
  const base = MARKETS[market] as number;
  const data = vm.data.open(24).bytes(QUOTE).u64(sizes[0]).u64(sizes[1]).done();
  const own = [world.makerTokens + base, world.makerTokens + DOLLAR] as const;
  const refs = [
    signer(world.maker),
    ...marketRefs(world, market),
    writable(own[0]),
    writable(own[1]),
    readonly(ID.token),
  ];
  if (!vm.enter(ID.orderBook, data, refs)) return false;
  vm.print('Instruction: Quote');
  for (const side of [0, 1] as const) {
    const vault = world.marketVaults + market * 2 + side;
    const change = sizes[side] - world.amount(vault);
    const state = world.markets + market * 3;
    if (change > 0) {
      transferTokens(vm, { from: own[side], to: vault, authority: world.maker, amount: change });
    } else if (change < 0) {
      transferTokens(vm, { from: vault, to: own[side], authority: state, amount: -change });
    }
  }
  world.cells.set(world.asks + market, sizes[0]);
  world.cells.set(world.bids + market, sizes[1]);
  return vm.leave(QUOTE_UNITS);
}

export interface Take {
  readonly market: number;
  readonly user: number;
  /** The taker's accounts of the base token and of dollars. */
  readonly base: number;
  readonly dollars: number;
  readonly isBuy: boolean;
  /** Base tokens. */
  readonly size: number;
}

export function take(vm: Machine, { market, user, base, dollars, isBuy, size }: Take): boolean {
  const { world } = vm;
  const data = vm.data
    .open(17)
    .bytes(TAKE)
    .u64(size)
    .u8(isBuy ? 0 : 1)
    .done();
  const state = world.markets + market * 3;
  const [baseVault, dollarVault] = [
    world.marketVaults + market * 2,
    world.marketVaults + market * 2 + 1,
  ];
  const refs = [
    signer(user),
    ...marketRefs(world, market),
    writable(base),
    writable(dollars),
    readonly(ID.token),
    readonly(world.eventAuthority(ID.orderBook)),
    readonly(ID.orderBook),
  ];
  if (!vm.enter(ID.orderBook, data, refs)) return false;
  vm.print('Instruction: Take');
  const price = priceOf(world, market, isBuy);
  const cost = dollarsFor(world, market, size, price);
  const isOffered = isBuy
    ? world.cell(world.asks + market) >= size
    : world.cell(world.bids + market) >= cost;
  if (!isOffered) {
    vm.fail(BOOK_EMPTY);
    return vm.leave(REFUSED_UNITS);
  }
  const isPaid = isBuy
    ? transferTokens(vm, { from: dollars, to: dollarVault, authority: user, amount: cost }) &&
      transferTokens(vm, { from: baseVault, to: base, authority: state, amount: size })
    : transferTokens(vm, { from: base, to: baseVault, authority: user, amount: size }) &&
      transferTokens(vm, { from: dollarVault, to: dollars, authority: state, amount: cost });
  if (isPaid) {
    // What was bought is no longer offered; what was paid waits for the maker.
    if (isBuy) world.cells.add(world.asks + market, -size);
    else world.cells.add(world.bids + market, -cost);
    const event = vm.data.open(105).bytes(EVENT_CALL).bytes(FILL_EVENT).key(state).key(user);
    emitByCall(
      vm,
      ID.orderBook,
      event
        .u64(size)
        .u64(cost)
        .u64(price)
        .u8(isBuy ? 0 : 1)
        .done(),
    );
  }
  return vm.leave(TAKE_UNITS);
}

/** Leaves an event in the ledger: the program calls itself with it. */
export function emitByCall(vm: Machine, program: number, event: PooledText): void {
  if (vm.enter(program, event, [signer(vm.world.eventAuthority(program))])) vm.leave(EVENT_UNITS);
}
