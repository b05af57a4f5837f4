/** The two token programs. The mint decides which of them runs. The newest build of the older program prints nothing. */
import type { Machine } from '../machine/machine.ts';
import type { PooledText } from '../text/text-pool.ts';
import { ID } from '../world/known-addresses.ts';
import { TOKEN_BYTES } from '../world/tokens.ts';
import { NOT_EMPTY, SHORT_OF_TOKENS } from './causes.ts';
import { createAccount, createWithSeed } from './system.ts';

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

/** Starts an instruction of a token program, which prints its name. Returns false if it does not run. */
function enter(vm: Machine, { opening }: Kind, program: number, data: PooledText): boolean {
  const isSilent = program === ID.token && vm.isTokenNew;
  return isSilent ? vm.enter(program, data) : vm.enterNamed(program, opening, data);
}

/** Ends an instruction of a token program. `moreUnits` is added to the units of the newest build. Returns false if it failed. */
function leave(vm: Machine, kind: Kind, program: number, moreUnits = 0): boolean {
  const isNewest = program === ID.token && vm.isTokenNew && vm.error === null;
  return vm.leave(unitsOf(vm, kind, program) + (isNewest ? moreUnits : 0));
}

function unitsOf(vm: Machine, { units, failedUnits }: Kind, program: number): number {
  const row = vm.error === null ? units : failedUnits;
  if (program !== ID.token) return row[2];
  return vm.isTokenNew ? row[0] : row[1];
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
  const program = ID.token;
  if (vm.world.programAt(from) !== program) return transferChecked(vm, transfer);
  const moreUnits = vm.world.mintAt(from) === ID.wrappedCoin ? WRAPPED_MOVE_UNITS : 0;
  vm.refs.writable(from).writable(to).signer(authority);
  if (!enter(vm, TRANSFER, program, amountData(vm, TRANSFER, amount))) return false;
  move(vm, transfer);
  return leave(vm, TRANSFER, program, moreUnits);
}

export function transferChecked(vm: Machine, transfer: Transfer): boolean {
  const { from, to, authority, amount } = transfer;
  const { world } = vm;
  const mint = world.mintAt(from);
  const decimals = world.decimalsAt(mint);
  const program = world.programAt(mint);
  const data = vm.data.open(10).u8(CHECKED.code).u64(amount).u8(decimals).done();
  const moreUnits = mint === ID.wrappedCoin ? WRAPPED_MOVE_UNITS : 0;
  vm.refs.writable(from).readonly(mint).writable(to).signer(authority);
  if (!enter(vm, CHECKED, program, data)) return false;
  move(vm, transfer);
  return leave(vm, CHECKED, program, moreUnits);
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
  const program = vm.world.programAt(mint);
  vm.refs.writable(mint).writable(to).signer(authority);
  if (!enter(vm, MINT_TO, program, amountData(vm, MINT_TO, amount))) return false;
  vm.world.addAmount(mint, amount);
  vm.world.addAmount(to, amount);
  return leave(vm, MINT_TO, program);
}

export function burnTokens(
  vm: Machine,
  { from, authority, amount }: Omit<Transfer, 'to'>,
): boolean {
  const { world } = vm;
  const mint = world.mintAt(from);
  const program = world.programAt(mint);
  vm.refs.writable(from).writable(mint).signer(authority);
  if (!enter(vm, BURN, program, amountData(vm, BURN, amount))) return false;
  world.addAmount(from, -amount);
  world.addAmount(mint, -amount);
  return leave(vm, BURN, program);
}

/** Closes an account and moves its lamports to the destination. */
export function closeAccount(
  vm: Machine,
  { account, to, authority }: { account: number; to: number; authority: number },
): boolean {
  const { world } = vm;
  const isWrapped = world.mintOf[account] === ID.wrappedCoin;
  const wrappedUnits = to === authority ? WRAPPED_CLOSE_UNITS : WRAPPED_CLOSE_AWAY_UNITS;
  const program = world.programAt(account);
  vm.refs.writable(account).writable(to).signer(authority);
  if (!enter(vm, CLOSE, program, plainData(vm, CLOSE))) return false;
  const amount = world.amount(account);
  if (amount > 0 && !isWrapped) vm.fail(NOT_EMPTY);
  else {
    world.addLamports(to, world.lamports(account));
    world.addLamports(account, -world.lamports(account));
    if (amount > 0) world.addAmount(account, -amount);
  }
  return leave(vm, CLOSE, program, isWrapped ? wrappedUnits : 0);
}

/** Opens an account of the wrapped coin with the older instruction, which names the rent account. The same transaction closes it. */
export function openWrapped(vm: Machine, owner: number, coins: number): number {
  const { world } = vm;
  const mint = ID.wrappedCoin;
  const lamports = world.rentOfToken(mint) + coins;
  const space = { lamports, byteCount: TOKEN_BYTES, owner: ID.token };
  let account: number;
  if (vm.plan.signatureCount === 2) {
    account = vm.scratch(0);
    createAccount(vm, owner, account, space);
  } else account = createWithSeed(vm, owner, space);
  vm.refs.writable(account).readonly(mint).readonly(owner).readonly(ID.rentSysvar);
  if (!enter(vm, INITIALIZE, ID.token, plainData(vm, INITIALIZE))) return account;
  world.describeToken(account, mint, owner);
  world.addAmount(account, coins);
  leave(vm, INITIALIZE, ID.token);
  return account;
}

export function initializeAccount3(
  vm: Machine,
  { account, mint, owner }: { account: number; mint: number; owner: number },
): boolean {
  const data = vm.data.open(33).u8(INITIALIZE_3.code).key(owner).done();
  const program = vm.world.programAt(mint);
  vm.refs.writable(account).readonly(mint);
  return enter(vm, INITIALIZE_3, program, data) && leave(vm, INITIALIZE_3, program);
}

export function initializeImmutableOwner(vm: Machine, account: number, program: number): boolean {
  vm.refs.writable(account);
  if (!enter(vm, IMMUTABLE, program, plainData(vm, IMMUTABLE))) return false;
  if (program === ID.token && !vm.isTokenNew) {
    vm.print('Please upgrade to SPL Token 2022 for immutable owner support');
  }
  return leave(vm, IMMUTABLE, program);
}

export function getAccountDataSize(vm: Machine, mint: number, byteCount: number): boolean {
  const data = vm.data.open(3).u8(DATA_SIZE.code).u8(7).u8(0).done();
  const returned = vm.data.open(8).u64(byteCount).done();
  const program = vm.world.programAt(mint);
  vm.refs.readonly(mint);
  return enter(vm, DATA_SIZE, program, data) && vm.leave(unitsOf(vm, DATA_SIZE, program), returned);
}

/** Sets the amount of an account of the wrapped coin to the lamports that were sent to it. */
export function syncNative(vm: Machine, account: number): boolean {
  const { world } = vm;
  vm.refs.writable(account);
  if (!enter(vm, SYNC, ID.token, plainData(vm, SYNC))) return false;
  const amount = world.lamports(account) - world.rentOfToken(ID.wrappedCoin);
  world.addAmount(account, amount - world.amount(account));
  return leave(vm, SYNC, ID.token);
}

/** Creates a mint. The data has the decimals, the authority, and no freeze authority. */
export function initializeMint(vm: Machine, mint: number, authority: number): boolean {
  const decimals = vm.world.decimalsAt(mint);
  const data = vm.data.open(35).u8(INITIALIZE_MINT.code).u8(decimals).key(authority).u8(0).done();
  const program = ID.token;
  vm.refs.writable(mint);
  return enter(vm, INITIALIZE_MINT, program, data) && leave(vm, INITIALIZE_MINT, program);
}
