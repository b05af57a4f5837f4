/** Programs that swap through several pools: a router for wallets, and a bot that swaps in a circle for a profit. */
import { elementAt } from '../../../base/element-at.ts';
import { type Machine, readonly, readonlys, signer, writables } from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import type { World } from '../world/world.ts';
import { feeRefs, poolRefs, quote, type Swap, swap, tickRefs } from './amm.ts';
import { NO_PROFIT, SLIPPAGE } from './causes.ts';
import { discriminator, EVENT_CALL } from './discriminator.ts';

const ROUTE = discriminator('global', 'route');
const ROUTE_EVENT = discriminator('event', 'RouteEvent');
const ARBITRAGE = discriminator('global', 'arbitrage');
const ROUTE_UNITS = 74_600;
const ARBITRAGE_UNITS = 29_300;
const REFUSED_UNITS = 6200;

/** One swap of a route; the accounts of the user for what goes in and what comes out. */
export type Hop = Pick<Swap, 'pool' | 'side' | 'from' | 'to'>;

export interface Route {
  readonly user: number;
  readonly hops: readonly Hop[];
  readonly amount: number;
  readonly amountMin: number;
}

/** Returns what comes out of a route. Hops never share a pool, so each can be quoted alone. */
export function quoteRoute(world: World, hops: readonly Hop[], amount: number): number {
  return hops.reduce((held, hop) => quote(world, hop, held).out, amount);
}

function hopRefs(world: World, hops: readonly Hop[]): number[] {
  return hops.flatMap(({ pool, side, from, to }) => {
    const [vaultIn, vaultOut] = [world.poolVault(pool, side), world.poolVault(pool, 1 - side)];
    return [
      readonly(ID.amm),
      ...poolRefs(world, pool),
      ...tickRefs(world, pool),
      ...writables(from, to, vaultIn, vaultOut),
      ...readonlys(world.mintAt(vaultIn), world.mintAt(vaultOut)),
    ];
  });
}

/** Each hop takes the whole result of the hop before it. */
function swapAll(vm: Machine, { user, hops, amount }: Route): number {
  let held = amount;
  for (const hop of hops) {
    const { out } = quote(vm.world, hop, held);
    if (!swap(vm, { ...hop, user, amount: held, amountMin: 0 })) return 0;
    held = out;
  }
  return held;
}

export function route(vm: Machine, plan: Route): boolean {
  const { user, hops, amount, amountMin } = plan;
  const { world } = vm;
  const data = vm.data.open(28 + hops.length * 2);
  data.bytes(ROUTE).u32(hops.length);
  for (const { pool, side } of hops) data.u8(pool).u8(side);
  data.u64(amount).u64(amountMin);
  const refs = [
    readonly(ID.token),
    signer(user),
    ...readonlys(world.eventAuthority(ID.router), ID.router),
    ...hopRefs(world, hops),
    ...hops.flatMap(({ pool }) => feeRefs(world, pool)),
  ];
  if (!vm.enterNamed(ID.router, 'Route', data.done(), refs)) return false;
  const out = swapAll(vm, plan);
  if (vm.error !== null) return vm.leave(ROUTE_UNITS);
  if (out < amountMin) return vm.leaveFailed(SLIPPAGE, ROUTE_UNITS);
  const event = vm.data.open(160).bytes(EVENT_CALL).bytes(ROUTE_EVENT).key(ID.amm).key(user);
  event.key(world.mintAt(elementAt(hops, 0).from)).u64(amount);
  event.key(world.mintAt(elementAt(hops, -1).to)).u64(out);
  vm.emitByCall(ID.router, event.done());
  // A single swap's result is in its event.
  const returned = hops.length > 1 ? vm.data.open(8).u64(out).done() : undefined;
  return vm.leave(ROUTE_UNITS, returned);
}

/** Fails at once if the pools leave no profit, or only after the swaps if the bot did not look first. */
export function arbitrage(vm: Machine, plan: Route & { readonly looksFirst: boolean }): boolean {
  const { user, hops, amount, looksFirst } = plan;
  const data = vm.data.open(17 + hops.length);
  data.bytes(ARBITRAGE).u64(amount).u8(hops.length);
  for (const { pool } of hops) data.u8(pool);
  const refs = [signer(user), readonly(ID.token), ...hopRefs(vm.world, hops)];
  if (!vm.enter(ID.arbitrage, data.done(), refs)) return false;
  const expected = quoteRoute(vm.world, hops, amount);
  vm.printNumber('in: ', amount);
  vm.printNumber('out: ', expected);
  if (looksFirst && expected <= amount) return vm.leaveFailed(NO_PROFIT, REFUSED_UNITS);
  const out = swapAll(vm, plan);
  if (vm.error === null && out <= amount) vm.fail(NO_PROFIT);
  return vm.leave(ARBITRAGE_UNITS);
}
