/** The AMM: pools of two tokens whose product is constant, with a fee that stays in the pool. */
import { type Machine, readonly, signer, writable } from '../machine/machine.ts';
import type { PooledText } from '../text-pool.ts';
import { ID } from '../world/known-addresses.ts';
import { POOLS, rentOf } from '../world/tokens.ts';
import { LIQUIDITY_SUPPLY, POOL_EXTRA_COUNT, type World } from '../world/world.ts';
import { SLIPPAGE } from './causes.ts';
import { discriminator } from './discriminator.ts';
import { burnTokens, mintTokens, transferChecked, transferTokens } from './token.ts';

const SWAP = discriminator('global', 'swap');
const DEPOSIT = discriminator('global', 'deposit');
const WITHDRAW = discriminator('global', 'withdraw');
const REBALANCE = discriminator('global', 'rebalance');
const SWAP_EVENT = discriminator('event', 'SwapEvent');
const FEE_SHARE = 0.0025;
const SWAP_UNITS = 29_400;
const REFUSED_UNITS = 12_800;
const LIQUIDITY_UNITS = 18_200;

export interface Swap {
  readonly pool: number;
  /** The side that goes in: 0 for the pool's base token. */
  readonly side: 0 | 1;
  readonly user: number;
  readonly from: number;
  readonly to: number;
  readonly amount: number;
  /** Less than this is refused. */
  readonly amountMin: number;
}

export interface Quote {
  readonly out: number;
  readonly fee: number;
}

export function quote(world: World, pool: number, side: 0 | 1, amount: number): Quote {
  const fee = Math.ceil(amount * FEE_SHARE);
  const net = amount - fee;
  const into = world.amount(world.poolVault(pool, side));
  const outOf = world.amount(world.poolVault(pool, side === 0 ? 1 : 0));
  return { out: Math.floor(outOf * (net / (into + net))), fee };
}

/** The pool's state, authority, settings and observations, and what collects its fees. */
export function poolRefs(world: World, pool: number): number[] {
  const state = world.pools + pool * POOL_EXTRA_COUNT;
  return [
    writable(state),
    readonly(state + 1),
    readonly(state + 2),
    writable(state + 3),
    writable(world.feeVaults + pool * 2),
    writable(world.feeVaults + pool * 2 + 1),
  ];
}

/** Two tick arrays: the pool's own, or where the price has been elsewhere, others. */
function drawTickArrays(vm: Machine, pool: number): number[] {
  const state = vm.world.pools + pool * POOL_EXTRA_COUNT;
  const own = [writable(state + 4), writable(state + 5)];
  if (vm.depth > 0) return own;
  return [
    ...own,
    ...[0, 1, 2, 3, 4, 5, 6].map(() => writable(vm.scratch(rentOf(TICK_ARRAY_BYTES)))),
  ];
}

const TICK_ARRAY_BYTES = 10_240;

/** Newer pools move tokens by the checked transfer. */
function moverOf(pool: number): typeof transferTokens {
  return pool % 4 === 3 ? transferChecked : transferTokens;
}

export function swap(vm: Machine, order: Swap): boolean {
  const { pool, side, user, from, to, amount, amountMin } = order;
  const { world } = vm;
  const vaultIn = world.poolVault(pool, side);
  const vaultOut = world.poolVault(pool, side === 0 ? 1 : 0);
  const mints = [world.mintOf[vaultIn] as number, world.mintOf[vaultOut] as number] as const;
  const data = vm.data.open(24).bytes(SWAP).u64(amount).u64(amountMin).done();
  const refs = [
    signer(user),
    ...poolRefs(world, pool),
    writable(from),
    writable(to),
    writable(vaultIn),
    writable(vaultOut),
    readonly(mints[0]),
    readonly(mints[1]),
    readonly(world.tokenProgramOf(mints[0])),
    readonly(world.tokenProgramOf(mints[1])),
    ...drawTickArrays(vm, pool),
  ];
  if (!vm.enter(ID.amm, data, refs)) return false;
  vm.print('Instruction: Swap');
  const { out, fee } = quote(world, pool, side, amount);
  printReserves(vm, world.amount(vaultIn), world.amount(vaultOut), { amount, out });
  if (out < amountMin) {
    vm.fail(SLIPPAGE);
    return vm.leave(REFUSED_UNITS);
  }
  const authority = world.ownerOf[vaultOut] as number;
  const move = moverOf(pool);
  if (
    move(vm, { from, to: vaultIn, authority: user, amount }) &&
    move(vm, { from: vaultOut, to, authority, amount: out })
  ) {
    const event = vm.data.open(97).bytes(SWAP_EVENT).key(poolOf(world, pool)).key(user);
    vm.emit(
      event
        .u64(amount)
        .u64(out)
        .u64(fee)
        .u8(1 - side)
        .done(),
    );
  }
  return vm.leave(SWAP_UNITS);
}

function printReserves(
  vm: Machine,
  into: number,
  outOf: number,
  { amount, out }: { amount: number; out: number },
): void {
  const line = vm.log
    .line('log', vm.caller)
    .text(vm.text('Program log: reserve_in: '))
    .amount(into);
  line.text(vm.text(', reserve_out: ')).amount(outOf).text(vm.text(', amount_in: ')).amount(amount);
  line.text(vm.text(', amount_out: ')).amount(out).text(vm.text(', fee_rate: 2500')).end();
}

function poolOf(world: World, pool: number): number {
  return world.pools + pool * POOL_EXTRA_COUNT;
}

/** The market maker adds a share of both sides, or takes it out again, in thousandths of the pool. */
export function changeLiquidity(vm: Machine, pool: number, thousandths: number): boolean {
  const { world } = vm;
  const isDeposit = thousandths > 0;
  const share = Math.abs(thousandths) / 1000;
  const tokens = Math.floor(world.amount(world.liquidityMints + pool) * share);
  const data = vm.data
    .open(24)
    .bytes(isDeposit ? DEPOSIT : WITHDRAW)
    .u64(tokens)
    .u64(0)
    .done();
  if (!enterLiquidity(vm, pool, data, isDeposit ? 'Deposit' : 'Withdraw')) return false;
  if (!isDeposit) burnLiquidity(vm, pool, tokens);
  for (const side of [0, 1] as const) {
    const vault = world.poolVault(pool, side);
    moveLiquidity(vm, { pool, side, amount: Math.floor(world.amount(vault) * share), isDeposit });
  }
  if (isDeposit) mintLiquidity(vm, pool, tokens);
  return vm.leave(LIQUIDITY_UNITS);
}

/** The market maker brings both vaults and the supply of liquidity tokens to given amounts. */
export function rebalance(vm: Machine, pool: number, targets: readonly [number, number]): boolean {
  const { world } = vm;
  const data = vm.data.open(24).bytes(REBALANCE).u64(targets[0]).u64(targets[1]).done();
  if (!enterLiquidity(vm, pool, data, 'Rebalance')) return false;
  for (const side of [0, 1] as const) {
    const change = targets[side] - world.amount(world.poolVault(pool, side));
    if (change === 0) continue;
    moveLiquidity(vm, { pool, side, amount: Math.abs(change), isDeposit: change > 0 });
  }
  const tokens = LIQUIDITY_SUPPLY - world.amount(world.liquidityMints + pool);
  if (tokens > 0) mintLiquidity(vm, pool, tokens);
  if (tokens < 0) burnLiquidity(vm, pool, -tokens);
  return vm.leave(LIQUIDITY_UNITS);
}

function enterLiquidity(vm: Machine, pool: number, data: PooledText, name: string): boolean {
  const { world } = vm;
  const [base, quoted] = POOLS[pool] as readonly [number, number];
  const refs = [
    signer(world.maker),
    ...poolRefs(world, pool),
    writable(world.makerTokens + base),
    writable(world.makerTokens + quoted),
    writable(world.makerLiquidity + pool),
    writable(world.poolVault(pool, 0)),
    writable(world.poolVault(pool, 1)),
    writable(world.liquidityMints + pool),
    readonly(ID.token),
    readonly(world.tokenProgramOf(world.mint(base))),
  ];
  if (!vm.enter(ID.amm, data, refs)) return false;
  vm.print(`Instruction: ${name}`);
  return true;
}

function moveLiquidity(
  vm: Machine,
  {
    pool,
    side,
    amount,
    isDeposit,
  }: { pool: number; side: 0 | 1; amount: number; isDeposit: boolean },
): void {
  const { world } = vm;
  const vault = world.poolVault(pool, side);
  const own = world.makerTokens + (POOLS[pool] as readonly [number, number])[side];
  const authority = world.ownerOf[vault] as number;
  if (isDeposit) transferTokens(vm, { from: own, to: vault, authority: world.maker, amount });
  else transferTokens(vm, { from: vault, to: own, authority, amount });
}

function mintLiquidity(vm: Machine, pool: number, amount: number): void {
  const { world } = vm;
  const authority = world.ownerOf[world.poolVault(pool, 0)] as number;
  const mint = world.liquidityMints + pool;
  mintTokens(vm, { mint, to: world.makerLiquidity + pool, authority, amount });
}

function burnLiquidity(vm: Machine, pool: number, amount: number): void {
  const { world } = vm;
  burnTokens(vm, { from: world.makerLiquidity + pool, authority: world.maker, amount });
}
