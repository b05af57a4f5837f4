/** The launchpad: users create coins, which are sold along a bonding curve. The lamports of the curve's account are its reserve. */
import type { Machine } from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import { COIN, MINT_BYTES, rentOf, TOKEN_BYTES } from '../world/tokens.ts';
import type { World } from '../world/world.ts';
import { SLIPPAGE } from './causes.ts';
import { discriminator, EVENT_CALL } from './discriminator.ts';
import { createAccount, moveLamports, transferLamports } from './system.ts';
import { initializeAccount3, initializeMint, mintTokens, transferTokens } from './token.ts';

const CREATE = discriminator('global', 'create');
const BUY = discriminator('global', 'buy');
const SELL = discriminator('global', 'sell');
const TRADE_EVENT = discriminator('event', 'TradeEvent');
const CREATE_EVENT = discriminator('event', 'CreateEvent');
const COIN_SUPPLY = 100_000_000_000_000;
const CURVE_BYTES = 256;
/** Lamports that the price formula adds to the reserve. */
const VIRTUAL_LAMPORTS = 30 * COIN;
const CREATE_UNITS = 61_000;
const TRADE_UNITS = 27_300;
const REFUSED_UNITS = 8400;

function curveLamports(world: World, launch: number): number {
  return world.lamports(world.launchCurves + launch) - rentOf(CURVE_BYTES);
}

/** Returns the tokens that an amount of lamports buys, or the lamports that an amount of tokens is sold for. */
export function quoteCoin(
  world: World,
  { launch, isBuy, amount }: Pick<Trade, 'launch' | 'isBuy' | 'amount'>,
): number {
  const tokens = world.amount(world.launchVaults + launch);
  const lamports = curveLamports(world, launch);
  const reserve = VIRTUAL_LAMPORTS + lamports;
  if (isBuy) return Math.floor(tokens * (amount / (reserve + amount)));
  return Math.min(Math.floor(reserve * (amount / (tokens + amount))), lamports);
}

/** Names the accounts that every instruction names last. */
function nameCommon({ refs, world }: Machine): void {
  refs.readonly(ID.system).readonly(ID.token).readonly(ID.rentSysvar);
  refs.readonly(world.eventAuthorities + ID.launchpad).readonly(ID.launchpad);
}

/** Creates a coin. The new mint signs, because it is an account with its own key. */
export function createCoin(vm: Machine, user: number, launch: number): boolean {
  const { world } = vm;
  const mint = world.launchMints + launch;
  const curve = world.launchCurves + launch;
  const vault = world.launchVaults + launch;
  const data = vm.data.open(13).bytes(CREATE).u32(launch).u8(6).done();
  vm.refs.payer(user).payer(mint).writable(curve).writable(vault).readonly(world.launchSettings);
  nameCommon(vm);
  if (!vm.enterNamed(ID.launchpad, 'Instruction: Create', data)) return false;
  const open = (account: number, byteCount: number, owner: number): boolean =>
    createAccount(vm, user, account, { lamports: rentOf(byteCount), byteCount, owner });
  if (
    open(mint, MINT_BYTES, ID.token) &&
    initializeMint(vm, mint, curve) &&
    open(curve, CURVE_BYTES, ID.launchpad) &&
    open(vault, TOKEN_BYTES, ID.token) &&
    initializeAccount3(vm, { account: vault, mint, owner: curve }) &&
    mintTokens(vm, { mint, to: vault, authority: curve, amount: COIN_SUPPLY })
  ) {
    world.cells.add(world.launchCount, 1);
    const event = vm.data.open(80).bytes(EVENT_CALL).bytes(CREATE_EVENT).key(mint).key(user);
    vm.emitByCall(ID.launchpad, event.done());
  }
  return vm.leave(CREATE_UNITS);
}

export interface Trade {
  readonly launch: number;
  readonly user: number;
  readonly account: number;
  readonly isBuy: boolean;
  /** The lamports of a purchase, or the tokens of a sale. */
  readonly amount: number;
  readonly amountMin: number;
}

export function tradeCoin(vm: Machine, trade: Trade): boolean {
  const { launch, user, account, isBuy, amount, amountMin } = trade;
  const { world } = vm;
  const { launchSettings } = world;
  const mint = world.launchMints + launch;
  const curve = world.launchCurves + launch;
  const vault = world.launchVaults + launch;
  const data = vm.data.open(24).bytes(isBuy ? BUY : SELL);
  vm.refs
    .readonly(launchSettings)
    .writable(launchSettings + 1)
    .readonly(mint);
  vm.refs.writable(curve).writable(vault).writable(account).payer(user);
  nameCommon(vm);
  const opening = isBuy ? 'Instruction: Buy' : 'Instruction: Sell';
  if (!vm.enterNamed(ID.launchpad, opening, data.u64(amount).u64(amountMin).done())) return false;
  const out = quoteCoin(world, trade);
  if (out < amountMin) return vm.leaveFailed(SLIPPAGE, REFUSED_UNITS);
  const [lamports, tokens] = isBuy ? [amount, out] : [out, amount];
  if (isBuy) {
    if (transferLamports(vm, user, curve, lamports)) {
      transferTokens(vm, { from: vault, to: account, authority: curve, amount: tokens });
    }
  } else if (transferTokens(vm, { from: account, to: vault, authority: user, amount: tokens })) {
    moveLamports(vm, curve, user, lamports);
  }
  if (vm.error === null) {
    const event = vm.data.open(137).bytes(EVENT_CALL).bytes(TRADE_EVENT).key(mint).key(curve);
    event.key(user).u64(lamports).u64(tokens).u64(curveLamports(world, launch));
    vm.emitByCall(ID.launchpad, event.u8(isBuy ? 1 : 0).done());
  }
  return vm.leave(TRADE_UNITS);
}
