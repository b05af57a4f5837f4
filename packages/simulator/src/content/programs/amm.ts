/** The automated market maker (AMM): pools of two tokens with a constant product, and a fee that stays in the pool. */
import { elementAt } from '@sluice/base/element-at';
import type { Machine } from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import { POOLS } from '../world/tokens.ts';
import { POOL_STATE_COUNT, type World } from '../world/world.ts';
import { SLIPPAGE } from './causes.ts';
import { discriminator } from './discriminator.ts';
import { adjustVault, transferChecked, transferTokens } from './token.ts';

const SWAP = discriminator('global', 'swap');
const REBALANCE = discriminator('global', 'rebalance');
const SWAP_EVENT = discriminator('event', 'SwapEvent');
const FEE_SHARE = 0.0025;
const SWAP_UNITS = 22_800;
const REFUSED_UNITS = 12_800;
const REBALANCE_UNITS = 18_200;

export interface Swap {
  readonly pool: number;
  /** The token that is paid: 0 for the base token of the pool. */
  readonly side: 0 | 1;
  readonly user: number;
  readonly from: number;
  readonly to: number;
  readonly amount: number;
  /** A smaller result is an error. */
  readonly amountMin: number;
}

export function quote(
  world: World,
  { pool, side }: Pick<Swap, 'pool' | 'side'>,
  amount: number,
): { readonly out: number; readonly fee: number } {
  const fee = Math.ceil(amount * FEE_SHARE);
  const net = amount - fee;
  const into = world.amount(world.poolVault(pool, side));
  const outOf = world.amount(world.poolVault(pool, 1 - side));
  return { out: Math.floor(outOf * (net / (into + net))), fee };
}

function isConcentrated(pool: number): boolean {
  return pool % 2 === 0;
}

/** Names the state, authority, settings and observations of a pool. */
export function namePool({ refs, world }: Machine, pool: number): void {
  const state = world.pools + pool * POOL_STATE_COUNT;
  refs
    .writable(state)
    .readonly(state + 1)
    .readonly(state + 2)
    .writable(state + 3);
}

/** Names the token accounts that collect the fees of a pool: for both tokens with concentrated liquidity, otherwise for one. */
export function nameFees({ refs, world }: Machine, pool: number): void {
  const fees = world.feeVaults + pool * 2;
  refs.writable(fees);
  if (isConcentrated(pool)) refs.writable(fees + 1);
}

/** Names the tick arrays of a pool's concentrated liquidity. */
export function nameTicks({ refs, world }: Machine, pool: number): void {
  if (!isConcentrated(pool)) return;
  const state = world.pools + pool * POOL_STATE_COUNT;
  refs.writable(state + 4).writable(state + 5);
}

export function swap(vm: Machine, order: Swap): boolean {
  const { pool, side, user, from, to, amount, amountMin } = order;
  const { world, refs } = vm;
  const boughtSide = 1 - side;
  const vaultIn = world.poolVault(pool, side);
  const vaultOut = world.poolVault(pool, boughtSide);
  const mintIn = world.mintAt(vaultIn);
  const mintOut = world.mintAt(vaultOut);
  const data = vm.data.open(24).bytes(SWAP).u64(amount).u64(amountMin).done();
  refs.signer(user);
  namePool(vm, pool);
  refs.writable(from).writable(to).writable(vaultIn).writable(vaultOut);
  refs.readonly(mintIn).readonly(mintOut);
  refs.readonly(world.programAt(mintIn)).readonly(world.programAt(mintOut));
  nameFees(vm, pool);
  nameTicks(vm, pool);
  // A top-level swap also names the fee account of the other token.
  if (vm.depth === 0 && !isConcentrated(pool)) refs.writable(world.feeVaults + pool * 2 + 1);
  if (!vm.enterNamed(ID.amm, 'Instruction: Swap', data)) return false;
  const { out, fee } = quote(world, order, amount);
  if (!vm.isMuted) {
    const line = vm.log.line('log', vm.caller).text(vm.text('Program log: reserve_in: '));
    line.amount(world.amount(vaultIn)).text(vm.text(', reserve_out: '));
    line.amount(world.amount(vaultOut)).text(vm.text(', amount_in: ')).amount(amount);
    line.text(vm.text(', amount_out: ')).amount(out).text(vm.text(', fee_rate: 2500')).end();
  }
  if (out < amountMin) return vm.leaveFailed(SLIPPAGE, REFUSED_UNITS);
  // Some pools use the checked transfer.
  const move = pool % 4 === 3 ? transferChecked : transferTokens;
  const authority = world.ownerAt(vaultOut);
  if (
    move(vm, { from, to: vaultIn, authority: user, amount }) &&
    move(vm, { from: vaultOut, to, authority, amount: out })
  ) {
    const state = world.pools + pool * POOL_STATE_COUNT;
    const event = vm.data.open(97).bytes(SWAP_EVENT).key(state).key(user);
    vm.emit(event.u64(amount).u64(out).u64(fee).u8(boughtSide).done());
  }
  return vm.leave(SWAP_UNITS);
}

/** The market maker changes both vaults of a pool to the given amounts. */
export function rebalance(vm: Machine, pool: number, targets: readonly number[]): boolean {
  const { world, refs } = vm;
  const sides = elementAt(POOLS, pool);
  const makerAccounts = sides.map((token) => world.makerTokens + token);
  const vaults = sides.map((_, side) => world.poolVault(pool, side));
  const [base = 0, quoted = 0] = targets;
  const data = vm.data.open(24).bytes(REBALANCE).u64(base).u64(quoted).done();
  refs.signer(world.maker);
  namePool(vm, pool);
  for (const account of [...makerAccounts, ...vaults]) refs.writable(account);
  refs.readonly(ID.token).readonly(world.programAt(world.mint(sides[0])));
  if (!vm.enterNamed(ID.amm, 'Instruction: Rebalance', data)) return false;
  vaults.forEach((vault, side) => {
    const amount = elementAt(targets, side);
    adjustVault(vm, { vault, account: elementAt(makerAccounts, side), amount });
  });
  return vm.leave(REBALANCE_UNITS);
}
