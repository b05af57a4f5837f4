/** Programs that swap through several pools: a router for users, and an arbitrage program for bots. */
import { elementAt } from '@sluice/base/element-at';
import type { Machine } from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import type { World } from '../world/world.ts';
import { nameFees, namePool, nameTicks, quote, type Swap, swap } from './amm.ts';
import { NO_PROFIT, SLIPPAGE } from './causes.ts';
import { discriminator, EVENT_CALL } from './discriminator.ts';

const ROUTE = discriminator('global', 'route');
const ROUTE_EVENT = discriminator('event', 'RouteEvent');
const ARBITRAGE = discriminator('global', 'arbitrage');
const ROUTE_UNITS = 74_600;
const ARBITRAGE_UNITS = 29_300;
const REFUSED_UNITS = 6200;

/** One swap of a route, with the accounts of the user for both tokens. */
export type Hop = Pick<Swap, 'pool' | 'side' | 'from' | 'to'>;

export interface Route {
  readonly user: number;
  readonly hops: readonly Hop[];
  readonly amount: number;
  readonly amountMin: number;
}

/** Returns the result of a route. No pool occurs twice in a route, so the hops can be quoted separately. */
export function quoteRoute(world: World, hops: readonly Hop[], amount: number): number {
  let held = amount;
  for (const hop of hops) held = quote(world, hop, held).out;
  return held;
}

function nameHops(vm: Machine, hops: readonly Hop[]): void {
  const { world, refs } = vm;
  for (const { pool, side, from, to } of hops) {
    const vaultIn = world.poolVault(pool, side);
    const vaultOut = world.poolVault(pool, 1 - side);
    refs.readonly(ID.amm);
    namePool(vm, pool);
    nameTicks(vm, pool);
    refs.writable(from).writable(to).writable(vaultIn).writable(vaultOut);
    refs.readonly(world.mintAt(vaultIn)).readonly(world.mintAt(vaultOut));
  }
}

/** Runs all swaps. Each hop swaps the whole result of the previous one. */
function swapAll(vm: Machine, { user, hops, amount }: Route): number {
  let held = amount;
  for (const hop of hops) {
    const { pool, side, from, to } = hop;
    const { out } = quote(vm.world, hop, held);
    if (!swap(vm, { pool, side, from, to, user, amount: held, amountMin: 0 })) return 0;
    held = out;
  }
  return held;
}

export function route(vm: Machine, plan: Route): boolean {
  const { user, hops, amount, amountMin } = plan;
  const { world, refs } = vm;
  const data = vm.data.open(28 + hops.length * 2);
  data.bytes(ROUTE).u32(hops.length);
  for (const { pool, side } of hops) data.u8(pool).u8(side);
  data.u64(amount).u64(amountMin);
  refs.readonly(ID.token).signer(user);
  refs.readonly(world.eventAuthorities + ID.router).readonly(ID.router);
  nameHops(vm, hops);
  for (const { pool } of hops) nameFees(vm, pool);
  if (!vm.enterNamed(ID.router, 'Instruction: Route', data.done())) return false;
  const out = swapAll(vm, plan);
  if (vm.error !== null) return vm.leave(ROUTE_UNITS);
  if (out < amountMin) return vm.leaveFailed(SLIPPAGE, ROUTE_UNITS);
  const event = vm.data.open(160).bytes(EVENT_CALL).bytes(ROUTE_EVENT).key(ID.amm).key(user);
  event.key(world.mintAt(elementAt(hops, 0).from)).u64(amount);
  event.key(world.mintAt(elementAt(hops, -1).to)).u64(out);
  vm.emitByCall(ID.router, event.done());
  // The result of a single swap is in its event.
  const returned = hops.length > 1 ? vm.data.open(8).u64(out).done() : undefined;
  return vm.leave(ROUTE_UNITS, returned);
}

/** Runs a circular route. Without a profit it fails before the swaps if `looksFirst` is set, and after them otherwise. */
export function arbitrage(vm: Machine, plan: Route & { readonly looksFirst: boolean }): boolean {
  const { user, hops, amount, looksFirst } = plan;
  const data = vm.data.open(17 + hops.length);
  data.bytes(ARBITRAGE).u64(amount).u8(hops.length);
  for (const { pool } of hops) data.u8(pool);
  vm.refs.signer(user).readonly(ID.token);
  nameHops(vm, hops);
  if (!vm.enter(ID.arbitrage, data.done())) return false;
  const expected = quoteRoute(vm.world, hops, amount);
  vm.printNumber('in: ', amount);
  vm.printNumber('out: ', expected);
  if (looksFirst && expected <= amount) return vm.leaveFailed(NO_PROFIT, REFUSED_UNITS);
  const out = swapAll(vm, plan);
  if (vm.error === null && out <= amount) vm.fail(NO_PROFIT);
  return vm.leave(ARBITRAGE_UNITS);
}
