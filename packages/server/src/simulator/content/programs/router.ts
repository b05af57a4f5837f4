/** Programs that swap through several pools: a router for wallets, and a bot that swaps in a circle for a profit. */
import { type Machine, readonly, signer, writable } from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import { POOL_EXTRA_COUNT, type World } from '../world/world.ts';
import { poolRefs, quote, swap } from './amm.ts';
import { NO_PROFIT, SLIPPAGE } from './causes.ts';
import { discriminator, EVENT_CALL } from './discriminator.ts';
import { emitByCall } from './order-book.ts';

const ROUTE = discriminator('global', 'route');
const ROUTE_EVENT = discriminator('event', 'RouteEvent');
const ARBITRAGE = discriminator('global', 'arbitrage');
const ROUTE_UNITS = 34_800;
const ARBITRAGE_UNITS = 29_300;
const REFUSED_UNITS = 6200;

/** One swap of a route; the accounts of the user for what goes in and what comes out. */
export interface Hop {
  readonly pool: number;
  readonly side: 0 | 1;
  readonly from: number;
  readonly to: number;
}

export interface Route {
  readonly user: number;
  readonly hops: readonly Hop[];
  readonly amount: number;
  readonly amountMin: number;
}

/** What comes out of a route; hops never share a pool, so each can be asked alone. */
export function quoteRoute(world: World, hops: readonly Hop[], amount: number): number {
  return hops.reduce((held, { pool, side }) => quote(world, pool, side, held).out, amount);
}

function hopRefs(world: World, hops: readonly Hop[]): number[] {
  return hops.flatMap(({ pool, side, from, to }) => {
    const vaults = [
      world.poolVault(pool, side),
      world.poolVault(pool, side === 0 ? 1 : 0),
    ] as const;
    const state = world.pools + pool * POOL_EXTRA_COUNT;
    return [
      readonly(ID.amm),
      ...poolRefs(world, pool),
      writable(state + 4),
      writable(state + 5),
      writable(from),
      writable(to),
      writable(vaults[0]),
      writable(vaults[1]),
      readonly(world.mintOf[vaults[0]] as number),
      readonly(world.mintOf[vaults[1]] as number),
    ];
  });
}

/** Each hop takes whatever the one before it gave. */
function swapAll(vm: Machine, { user, hops, amount }: Route): number {
  let held = amount;
  for (const { pool, side, from, to } of hops) {
    const { out } = quote(vm.world, pool, side, held);
    if (!swap(vm, { pool, side, user, from, to, amount: held, amountMin: 0 })) return 0;
    held = out;
  }
  return held;
}

export function route(vm: Machine, plan: Route): boolean {
  const { user, hops, amount, amountMin } = plan;
  const { world } = vm;
  const data = vm.data
    .open(20 + hops.length * 2)
    .bytes(ROUTE)
    .u32(hops.length);
  for (const { pool, side } of hops) data.u8(pool).u8(side);
  data.u64(amount);
  const refs = [
    readonly(ID.token),
    signer(user),
    readonly(world.eventAuthority(ID.router)),
    readonly(ID.router),
    ...hopRefs(world, hops),
  ];
  if (!vm.enter(ID.router, data.done(), refs)) return false;
  vm.print('Instruction: Route');
  const out = swapAll(vm, plan);
  if (vm.error !== null) return vm.leave(ROUTE_UNITS);
  if (out < amountMin) {
    vm.fail(SLIPPAGE);
    return vm.leave(ROUTE_UNITS);
  }
  const event = vm.data.open(160).bytes(EVENT_CALL).bytes(ROUTE_EVENT).key(ID.amm).key(user);
  event.key(world.mintOf[(hops[0] as Hop).from] as number).u64(amount);
  event.key(world.mintOf[(hops.at(-1) as Hop).to] as number).u64(out);
  emitByCall(vm, ID.router, event.done());
  return vm.leave(ROUTE_UNITS, vm.data.open(8).u64(out).done());
}

/** Refused at once if the pools leave no profit, or only after the swaps if the bot did not look first. */
export function arbitrage(vm: Machine, plan: Route & { readonly looksFirst: boolean }): boolean {
  const { user, hops, amount, looksFirst } = plan;
  const { world } = vm;
  const data = vm.data
    .open(17 + hops.length)
    .bytes(ARBITRAGE)
    .u64(amount)
    .u8(hops.length);
  for (const { pool } of hops) data.u8(pool);
  const refs = [signer(user), readonly(ID.token), ...hopRefs(world, hops)];
  if (!vm.enter(ID.arbitrage, data.done(), refs)) return false;
  const expected = quoteRoute(world, hops, amount);
  vm.printNumber('in: ', amount);
  vm.printNumber('out: ', expected);
  if (looksFirst && expected <= amount) {
    vm.fail(NO_PROFIT);
    return vm.leave(REFUSED_UNITS);
  }
  const out = swapAll(vm, plan);
  if (vm.error === null && out <= amount) vm.fail(NO_PROFIT);
  return vm.leave(ARBITRAGE_UNITS);
}
