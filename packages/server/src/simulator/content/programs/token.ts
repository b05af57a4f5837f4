/** The two token programs. The mint decides which of them runs. The newest build of the older program prints nothing. */
import { type Machine, readonly, signer, writable } from '../machine/machine.ts';
import type { PooledText } from '../text-pool.ts';
import { ID } from '../world/known-addresses.ts';
import { NOT_EMPTY, SHORT_OF_TOKENS } from './causes.ts';

/** Compute units of the newest build, of the build before it, and of Token-2022. */
type Units = readonly [newest: number, classic: number, token2022: number];

interface Kind {
  readonly opening: string;
  /** The first byte of the data. */
  readonly code: number;
  readonly units: Units;
  readonly failedUnits: Units;
}

function kind(name: string, code: number, units: Units, failedUnits = units): Kind {
  return { opening: `Instruction: ${name}`, code, units, failedUnits };
}

const INITIALIZE = kind('InitializeAccount', 1, [145, 3443, 1700]);
const TRANSFER = kind('Transfer', 3, [76, 4645, 1900], [181, 4200, 1400]);
const MINT_TO = kind('MintTo', 7, [119, 4492, 1288]);
const BURN = kind('Burn', 8, [123, 4753, 1433], [220, 4100, 1500]);
const CLOSE = kind('CloseAccount', 9, [120, 2915, 1445], [217, 2700, 1500]);
const CHECKED = kind('TransferChecked', 12, [105, 6147, 2030], [193, 5200, 1410]);
const SYNC = kind('SyncNative', 17, [201, 3045, 1600]);
const INITIALIZE_3 = kind('InitializeAccount3', 18, [235, 3158, 1612]);
const INITIALIZE_MINT = kind('InitializeMint2', 20, [201, 2780, 1271]);
const DATA_SIZE = kind('GetAccountDataSize', 21, [183, 1569, 1204]);
const IMMUTABLE = kind('InitializeImmutableOwner', 22, [38, 1405, 734]);
/** The difference in units of the newest build for wrapped coins, whose lamports it moves too. */
const WRAPPED_MOVE_UNITS = 7;
const WRAPPED_CLOSE_UNITS = -2;
/** The same difference for closing an account whose lamports do not go to the owner. */
const WRAPPED_CLOSE_AWAY_UNITS = -4;

interface Call {
  readonly kind: Kind;
  readonly program: number;
  readonly data: PooledText;
  readonly refs: readonly number[];
  /** Added to the units of the newest build. */
  readonly moreUnits?: number;
  readonly returned?: PooledText;
}

/** Runs one instruction: `act` changes the world or fails. */
function run(vm: Machine, call: Call, act?: () => void): boolean {
  const { program, moreUnits = 0 } = call;
  if (!vm.enter(program, call.data, call.refs)) return false;
  const isNewest = program === ID.token && vm.isTokenNew;
  if (!isNewest) vm.print(call.kind.opening);
  act?.();
  const row = vm.error === null ? call.kind.units : call.kind.failedUnits;
  if (isNewest) return vm.leave(row[0] + (vm.error === null ? moreUnits : 0), call.returned);
  return vm.leave(row[program === ID.token ? 1 : 2], call.returned);
}

function plainData(vm: Machine, { code }: Kind): PooledText {
  return vm.data.open(1).u8(code).done();
}

function amountData(vm: Machine, { code }: Kind, amount: number): PooledText {
  return vm.data.open(9).u8(code).u64(amount).done();
}

/** Moves tokens, and for wrapped coins also their lamports. */
function move(vm: Machine, { from, to, amount }: Transfer): void {
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

/** Token-2022 deprecates the unchecked transfer, so its tokens always move by the checked one. */
export function transferTokens(vm: Machine, transfer: Transfer): boolean {
  const { from, to, authority, amount } = transfer;
  if (vm.world.programOf[from] === ID.token2022) return transferChecked(vm, transfer);
  const data = amountData(vm, TRANSFER, amount);
  const refs = [writable(from), writable(to), signer(authority)];
  const moreUnits = vm.world.mintOf[from] === ID.wrappedCoin ? WRAPPED_MOVE_UNITS : 0;
  const call = { kind: TRANSFER, program: ID.token, data, refs, moreUnits };
  return run(vm, call, () => move(vm, transfer));
}

export function transferChecked(vm: Machine, transfer: Transfer): boolean {
  const { from, to, authority, amount } = transfer;
  const { world } = vm;
  const mint = world.mintAt(from);
  const decimals = world.decimalsAt(mint);
  const data = vm.data.open(10).u8(CHECKED.code).u64(amount).u8(decimals).done();
  const refs = [writable(from), readonly(mint), writable(to), signer(authority)];
  const moreUnits = mint === ID.wrappedCoin ? WRAPPED_MOVE_UNITS : 0;
  const call = { kind: CHECKED, program: world.programAt(mint), data, refs, moreUnits };
  return run(vm, call, () => move(vm, transfer));
}

/** The market maker brings a vault to an amount: it pays from its own account, or withdraws. */
export function adjustVault(
  vm: Machine,
  { vault, account, amount }: { vault: number; account: number; amount: number },
): void {
  const { world } = vm;
  const change = amount - world.amount(vault);
  const [from, to] = change > 0 ? [account, vault] : [vault, account];
  const authority = world.ownerAt(from);
  if (change !== 0) transferTokens(vm, { from, to, authority, amount: Math.abs(change) });
}

export function mintTokens(
  vm: Machine,
  { mint, to, authority, amount }: Omit<Transfer, 'from'> & { readonly mint: number },
): boolean {
  const data = amountData(vm, MINT_TO, amount);
  const refs = [writable(mint), writable(to), signer(authority)];
  return run(vm, { kind: MINT_TO, program: vm.world.programAt(mint), data, refs }, () => {
    vm.world.addAmount(mint, amount);
    vm.world.addAmount(to, amount);
  });
}

export function burnTokens(
  vm: Machine,
  { from, authority, amount }: Omit<Transfer, 'to'>,
): boolean {
  const { world } = vm;
  const mint = world.mintAt(from);
  const data = amountData(vm, BURN, amount);
  const refs = [writable(from), writable(mint), signer(authority)];
  return run(vm, { kind: BURN, program: world.programAt(mint), data, refs }, () => {
    world.addAmount(from, -amount);
    world.addAmount(mint, -amount);
  });
}

/** Closes an account and moves its lamports to the destination. */
export function closeAccount(
  vm: Machine,
  { account, to, authority }: { account: number; to: number; authority: number },
): boolean {
  const { world } = vm;
  const isWrapped = world.mintOf[account] === ID.wrappedCoin;
  const wrappedUnits = to === authority ? WRAPPED_CLOSE_UNITS : WRAPPED_CLOSE_AWAY_UNITS;
  const call = {
    kind: CLOSE,
    program: world.programAt(account),
    data: plainData(vm, CLOSE),
    refs: [writable(account), writable(to), signer(authority)],
    moreUnits: isWrapped ? wrappedUnits : 0,
  };
  return run(vm, call, () => {
    const amount = world.amount(account);
    if (amount > 0 && !isWrapped) {
      vm.fail(NOT_EMPTY);
      return;
    }
    world.addLamports(to, world.lamports(account));
    world.addLamports(account, -world.lamports(account));
    if (amount > 0) world.addAmount(account, -amount);
  });
}

interface NewAccount {
  readonly account: number;
  readonly mint: number;
  readonly owner: number;
}

/** Uses the older instruction, which names the rent account. For the wrapped coin, lamports beyond the rent become the amount. */
export function initializeAccount(vm: Machine, { account, mint, owner }: NewAccount): boolean {
  const { world } = vm;
  const data = plainData(vm, INITIALIZE);
  const refs = [writable(account), readonly(mint), readonly(owner), readonly(ID.rentSysvar)];
  return run(vm, { kind: INITIALIZE, program: world.programAt(mint), data, refs }, () => {
    world.describeToken(account, mint, owner);
    if (mint !== ID.wrappedCoin) return;
    world.addAmount(account, world.lamports(account) - world.rentOfToken(mint));
  });
}

export function initializeAccount3(vm: Machine, { account, mint, owner }: NewAccount): boolean {
  const data = vm.data.open(33).u8(INITIALIZE_3.code).key(owner).done();
  const refs = [writable(account), readonly(mint)];
  return run(vm, { kind: INITIALIZE_3, program: vm.world.programAt(mint), data, refs });
}

export function initializeImmutableOwner(vm: Machine, account: number, program: number): boolean {
  const data = plainData(vm, IMMUTABLE);
  return run(vm, { kind: IMMUTABLE, program, data, refs: [writable(account)] }, () => {
    if (program !== ID.token || vm.isTokenNew) return;
    vm.print('Please upgrade to SPL Token 2022 for immutable owner support');
  });
}

export function getAccountDataSize(vm: Machine, mint: number, byteCount: number): boolean {
  const data = vm.data.open(3).u8(DATA_SIZE.code).u8(7).u8(0).done();
  const returned = vm.data.open(8).u64(byteCount).done();
  const program = vm.world.programAt(mint);
  return run(vm, { kind: DATA_SIZE, program, data, refs: [readonly(mint)], returned });
}

/** Sets the amount of an account of the wrapped coin to the lamports that were sent to it. */
export function syncNative(vm: Machine, account: number): boolean {
  const { world } = vm;
  const data = plainData(vm, SYNC);
  return run(vm, { kind: SYNC, program: ID.token, data, refs: [writable(account)] }, () => {
    const amount = world.lamports(account) - world.rentOfToken(ID.wrappedCoin);
    world.addAmount(account, amount - world.amount(account));
  });
}

/** Creates a mint. The data has the decimals, the authority, and no freeze authority. */
export function initializeMint(vm: Machine, mint: number, authority: number): boolean {
  const decimals = vm.world.decimalsAt(mint);
  const data = vm.data.open(35).u8(INITIALIZE_MINT.code).u8(decimals).key(authority).u8(0).done();
  return run(vm, { kind: INITIALIZE_MINT, program: ID.token, data, refs: [writable(mint)] });
}
