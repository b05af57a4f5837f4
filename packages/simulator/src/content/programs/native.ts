/** The compute budget, memos, stakes and votes. */
import type { Machine } from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import { rentOf } from '../world/tokens.ts';
import { custom } from './causes.ts';
import { createAccount, moveLamports } from './system.ts';

const BUDGET_UNITS = 150;
const MEMO_UNITS = 274;
const STAKE_BYTES = 200;
const VOTE_UNITS = 2100;
const LOCKOUT_COUNT = 31;
/** The confirmed slots of a vote: the distance to the previous one and the depth of each. */
const LOCKOUTS = Uint8Array.from({ length: LOCKOUT_COUNT * 2 }, (_, i) => {
  return i % 2 === 0 ? 1 : LOCKOUT_COUNT - (i >> 1);
});
const ALREADY_VOTED = custom(0);
/** Stands for no custodian of a stake, and for no block id of a vote. */
const NO_KEY = new Uint8Array(32);

/** Requests the limit and the price of the transaction's plan. */
export function requestUnits(vm: Machine): void {
  const { unitLimit, unitPrice } = vm.plan;
  if (unitLimit === 0) return;
  if (vm.enter(ID.budget, vm.data.open(5).u8(2).u32(unitLimit).done())) vm.leave(BUDGET_UNITS);
  if (unitPrice === 0) return;
  if (vm.enter(ID.budget, vm.data.open(9).u8(3).u64(unitPrice).done())) vm.leave(BUDGET_UNITS);
}

/** Writes a memo. The text has nine characters, because the units depend on its length. */
export function writeMemo(vm: Machine, text: string): boolean {
  const data = vm.data.open(text.length).bytes(Buffer.from(text)).done();
  if (!vm.enter(ID.memo, data)) return false;
  vm.print(`Memo (len ${text.length})`);
  const line = vm.pool.passing.add(`Program log: ${text}`);
  vm.log.line('log', vm.caller).text(line).end();
  return vm.leave(MEMO_UNITS);
}

export interface Stake {
  readonly account: number;
  readonly owner: number;
  readonly lamports: number;
}

export function openStake(vm: Machine, { account, owner, lamports }: Stake): boolean {
  const rent = rentOf(STAKE_BYTES);
  const space = { lamports: lamports + rent, byteCount: STAKE_BYTES, owner: ID.stake };
  if (!createAccount(vm, owner, account, space)) return false;
  const data = vm.data.open(116).u32(0).key(owner).key(owner).u64(0).u64(0).bytes(NO_KEY);
  vm.refs.writable(account).readonly(ID.rentSysvar);
  return vm.enterNamed(ID.stake, 'Instruction: Initialize', data.done()) && vm.leave(7566);
}

export function delegateStake(
  vm: Machine,
  { account, owner, voteAccount }: Omit<Stake, 'lamports'> & { readonly voteAccount: number },
): boolean {
  vm.refs.writable(account).readonly(voteAccount);
  vm.refs.readonly(ID.clockSysvar).readonly(ID.stakeHistorySysvar).readonly(ID.stakeConfig);
  vm.refs.signer(owner);
  const data = vm.data.open(4).u32(2).done();
  return vm.enterNamed(ID.stake, 'Instruction: DelegateStake', data) && vm.leave(11_895);
}

export function deactivateStake(vm: Machine, account: number, owner: number): boolean {
  vm.refs.writable(account).readonly(ID.clockSysvar).signer(owner);
  const data = vm.data.open(4).u32(5).done();
  return vm.enterNamed(ID.stake, 'Instruction: Deactivate', data) && vm.leave(10_732);
}

export function withdrawStake(
  vm: Machine,
  { account, owner, to, lamports }: Stake & { readonly to: number },
): boolean {
  vm.refs.writable(account).writable(to);
  vm.refs.readonly(ID.clockSysvar).readonly(ID.stakeHistorySysvar).signer(owner);
  const data = vm.data.open(12).u32(4).u64(lamports).done();
  if (!vm.enterNamed(ID.stake, 'Instruction: Withdraw', data)) return false;
  moveLamports(vm, account, to, lamports);
  return vm.leave(7141);
}

/** Casts a vote. The data has the kind, the root, a short list of confirmed slots, and the hash and the time of the newest one. */
export function vote(vm: Machine, validator: number, slot: number, isLate: boolean): boolean {
  const identity = vm.world.identities + validator;
  const voteAccount = vm.world.voteAccounts + validator;
  const root = Math.max(0, slot - LOCKOUT_COUNT);
  const data = vm.data.open(148).u32(14).u64(root).u8(LOCKOUT_COUNT);
  data.bytes(LOCKOUTS);
  for (let i = 0; i < 8; i++) data.u32(vm.random.uint32() | 0);
  data.u8(1).u64(slot).bytes(NO_KEY);
  vm.refs.writable(voteAccount).payer(identity);
  if (!vm.enter(ID.vote, data.done())) return false;
  if (isLate) vm.fail(ALREADY_VOTED);
  return vm.leave(VOTE_UNITS);
}
