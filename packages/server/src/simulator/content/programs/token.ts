/** The token programs. Which of the two runs follows from the mint; the newest build of the older one prints nothing. */
import { type Machine, readonly, signer, writable } from '../machine/machine.ts';
import type { PooledText } from '../text-pool.ts';
import { ID } from '../world/known-addresses.ts';
import { NOT_EMPTY, SHORT_OF_TOKENS } from './causes.ts';

interface Kind {
  /** What it prints first. */
  readonly opening: string;
  /** Compute units of the newest build, of the one before, and of Token-2022. */
  readonly units: readonly [newest: number, classic: number, token2022: number];
  /** The same where it fails. */
  readonly failedUnits: readonly [newest: number, classic: number, token2022: number];
}

function kind(name: string, units: Kind['units'], failedUnits = units): Kind {
  return { opening: `Instruction: ${name}`, units, failedUnits };
}

const TRANSFER = kind('Transfer', [76, 4645, 1900], [181, 4200, 1400]);
/** The newest build also moves the lamports of wrapped coins, which costs a little more. */
const TRANSFER_WRAPPED = kind('Transfer', [83, 4645, 1900], [181, 4200, 1400]);
const CHECKED_WRAPPED = kind('TransferChecked', [112, 6147, 2030], [193, 5200, 1410]);
const CHECKED = kind('TransferChecked', [105, 6147, 2030], [193, 5200, 1410]);
const CLOSE = kind('CloseAccount', [120, 2915, 1445], [217, 2700, 1500]);
const CLOSE_WRAPPED = kind('CloseAccount', [118, 2915, 1445]);
/** The same, where the lamports do not go to the owner. */
const CLOSE_WRAPPED_AWAY = kind('CloseAccount', [116, 2915, 1445]);
const INITIALIZE = kind('InitializeAccount', [145, 3443, 1700]);
const INITIALIZE_3 = kind('InitializeAccount3', [235, 3158, 1612]);
const IMMUTABLE = kind('InitializeImmutableOwner', [38, 1405, 734]);
const DATA_SIZE = kind('GetAccountDataSize', [183, 1569, 1204]);
const SYNC = kind('SyncNative', [201, 3045, 1600]);
const MINT_TO = kind('MintTo', [119, 4492, 1288]);
const BURN = kind('Burn', [123, 4753, 1433], [220, 4100, 1500]);
const INITIALIZE_MINT = kind('InitializeMint2', [201, 2780, 1271]);

/** What the newest build prints first is nothing. */
function open(vm: Machine, program: number, { opening }: Kind): void {
  if (program === ID.token2022 || !vm.isTokenNew) vm.print(opening);
}

function leave(
  vm: Machine,
  program: number,
  { units, failedUnits }: Kind,
  back?: PooledText,
): boolean {
  const row = vm.error === null ? units : failedUnits;
  return vm.leave(row[program === ID.token2022 ? 2 : vm.isTokenNew ? 0 : 1], back);
}

/** Moves tokens, and with those of the wrapped coin the lamports. */
function move(vm: Machine, from: number, to: number, amount: number): void {
  const { world } = vm;
  if (world.amount(from) < amount) {
    vm.fail(SHORT_OF_TOKENS);
    return;
  }
  world.addAmount(from, -amount);
  world.addAmount(to, amount);
  if (world.mintOf[from] !== ID.wrappedCoin) return;
  world.addLamports(from, -amount);
  world.addLamports(to, amount);
}

export interface Transfer {
  readonly from: number;
  readonly to: number;
  readonly authority: number;
  readonly amount: number;
}

/** Token-2022 has no unchecked transfer any more, so its tokens always move by the checked one. */
export function transferTokens(vm: Machine, transfer: Transfer): boolean {
  const { from, to, authority, amount } = transfer;
  if (vm.world.programOf[from] === ID.token2022) return transferChecked(vm, transfer);
  const data = vm.data.open(9).u8(3).u64(amount).done();
  const refs = [writable(from), writable(to), signer(authority)];
  if (!vm.enter(ID.token, data, refs)) return false;
  open(vm, ID.token, TRANSFER);
  move(vm, from, to, amount);
  const isWrapped = vm.world.mintOf[from] === ID.wrappedCoin;
  return leave(vm, ID.token, isWrapped ? TRANSFER_WRAPPED : TRANSFER);
}

export function transferChecked(vm: Machine, transfer: Transfer): boolean {
  const { from, to, authority, amount } = transfer;
  const mint = vm.world.mintOf[from] as number;
  const program = vm.world.tokenProgramOf(mint);
  const decimals = vm.world.decimalsOf[mint] as number;
  const data = vm.data.open(10).u8(12).u64(amount).u8(decimals).done();
  const refs = [writable(from), readonly(mint), writable(to), signer(authority)];
  if (!vm.enter(program, data, refs)) return false;
  open(vm, program, CHECKED);
  move(vm, from, to, amount);
  return leave(vm, program, mint === ID.wrappedCoin ? CHECKED_WRAPPED : CHECKED);
}

export function mintTokens(
  vm: Machine,
  { mint, to, authority, amount }: { mint: number; to: number; authority: number; amount: number },
): boolean {
  const program = vm.world.tokenProgramOf(mint);
  const data = vm.data.open(9).u8(7).u64(amount).done();
  const refs = [writable(mint), writable(to), signer(authority)];
  if (!vm.enter(program, data, refs)) return false;
  open(vm, program, MINT_TO);
  vm.world.addAmount(mint, amount);
  vm.world.addAmount(to, amount);
  return leave(vm, program, MINT_TO);
}

export function burnTokens(
  vm: Machine,
  { from, authority, amount }: { from: number; authority: number; amount: number },
): boolean {
  const mint = vm.world.mintOf[from] as number;
  const program = vm.world.tokenProgramOf(mint);
  const data = vm.data.open(9).u8(8).u64(amount).done();
  const refs = [writable(from), writable(mint), signer(authority)];
  if (!vm.enter(program, data, refs)) return false;
  open(vm, program, BURN);
  if (vm.world.amount(from) < amount) vm.fail(SHORT_OF_TOKENS);
  else {
    vm.world.addAmount(from, -amount);
    vm.world.addAmount(mint, -amount);
  }
  return leave(vm, program, BURN);
}

/** What the account holds in lamports goes to the destination. */
export function closeAccount(
  vm: Machine,
  { account, to, authority }: { account: number; to: number; authority: number },
): boolean {
  const { world } = vm;
  const program = world.programOf[account] as number;
  const data = vm.data.open(1).u8(9).done();
  const refs = [writable(account), writable(to), signer(authority)];
  if (!vm.enter(program, data, refs)) return false;
  open(vm, program, CLOSE);
  const isWrapped = world.mintOf[account] === ID.wrappedCoin;
  if (world.amount(account) > 0 && !isWrapped) vm.fail(NOT_EMPTY);
  else {
    world.addLamports(to, world.lamports(account));
    world.addLamports(account, -world.lamports(account));
    if (world.amount(account) > 0) world.addAmount(account, -world.amount(account));
  }
  if (!isWrapped) return leave(vm, program, CLOSE);
  return leave(vm, program, to === authority ? CLOSE_WRAPPED : CLOSE_WRAPPED_AWAY);
}

/** The older form, which names the rent. The account of the wrapped coin holds what it got beyond the rent. */
export function initializeAccount(
  vm: Machine,
  { account, mint, owner }: { account: number; mint: number; owner: number },
): boolean {
  const program = vm.world.tokenProgramOf(mint);
  const data = vm.data.open(1).u8(1).done();
  const refs = [writable(account), readonly(mint), readonly(owner), readonly(ID.rentSysvar)];
  if (!vm.enter(program, data, refs)) return false;
  open(vm, program, INITIALIZE);
  vm.world.describeToken(account, mint, owner);
  if (mint === ID.wrappedCoin) {
    vm.world.addAmount(account, vm.world.lamports(account) - vm.world.rentOfToken(mint));
  }
  return leave(vm, program, INITIALIZE);
}

export function initializeAccount3(
  vm: Machine,
  { account, mint, owner }: { account: number; mint: number; owner: number },
): boolean {
  const program = vm.world.tokenProgramOf(mint);
  const data = vm.data.open(33).u8(18).key(owner).done();
  if (!vm.enter(program, data, [writable(account), readonly(mint)])) return false;
  open(vm, program, INITIALIZE_3);
  return leave(vm, program, INITIALIZE_3);
}

export function initializeImmutableOwner(vm: Machine, account: number, program: number): boolean {
  const data = vm.data.open(1).u8(22).done();
  if (!vm.enter(program, data, [writable(account)])) return false;
  open(vm, program, IMMUTABLE);
  if (program === ID.token && !vm.isTokenNew) {
    vm.print('Please upgrade to SPL Token 2022 for immutable owner support');
  }
  return leave(vm, program, IMMUTABLE);
}

export function getAccountDataSize(vm: Machine, mint: number, byteCount: number): boolean {
  const program = vm.world.tokenProgramOf(mint);
  const data = vm.data.open(3).u8(21).u8(7).u8(0).done();
  if (!vm.enter(program, data, [readonly(mint)])) return false;
  open(vm, program, DATA_SIZE);
  return leave(vm, program, DATA_SIZE, vm.data.open(8).u64(byteCount).done());
}

/** Makes of lamports that were sent to an account of the wrapped coin its amount. */
export function syncNative(vm: Machine, account: number): boolean {
  const data = vm.data.open(1).u8(17).done();
  if (!vm.enter(ID.token, data, [writable(account)])) return false;
  open(vm, ID.token, SYNC);
  const { world } = vm;
  const amount = world.lamports(account) - world.rentOfToken(ID.wrappedCoin);
  world.addAmount(account, amount - world.amount(account));
  return leave(vm, ID.token, SYNC);
}

/** Data: decimals, the authority, no freeze authority. */
export function initializeMint(vm: Machine, mint: number, authority: number): boolean {
  const decimals = vm.world.decimalsOf[mint] as number;
  const data = vm.data.open(35).u8(20).u8(decimals).key(authority).u8(0).done();
  if (!vm.enter(ID.token, data, [writable(mint)])) return false;
  open(vm, ID.token, INITIALIZE_MINT);
  return leave(vm, ID.token, INITIALIZE_MINT);
}
