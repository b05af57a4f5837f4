/** The compute budget, memos, signature checks, stakes and votes. */
import { type Machine, payer, readonly, signer, writable } from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import { rentOf } from '../world/tokens.ts';
import { custom } from './causes.ts';
import { createAccount, moveLamports } from './system.ts';

const BUDGET_UNITS = 150;
const MEMO_UNITS = 274;
const STAKE_BYTES = 200;
const VOTE_UNITS = 2100;
const ALREADY_VOTED = custom(0);

/** What the transaction's plan asks for; `isSilent` in versions of the node that run it without a line. */
export function requestUnits(vm: Machine): void {
  const { unitLimit, unitPrice } = vm.plan;
  if (unitLimit === 0) return;
  if (vm.enter(ID.budget, vm.data.open(5).u8(2).u32(unitLimit).done(), [])) vm.leave(BUDGET_UNITS);
  if (unitPrice === 0) return;
  if (vm.enter(ID.budget, vm.data.open(9).u8(3).u64(unitPrice).done(), [])) vm.leave(BUDGET_UNITS);
}

/** The text has nine characters; the units depend on that. */
export function writeMemo(vm: Machine, text: string): boolean {
  const data = vm.data.open(text.length).bytes(Buffer.from(text)).done();
  if (!vm.enter(ID.memo, data, [])) return false;
  vm.print(`Memo (len ${text.length})`);
  vm.log
    .line('log', vm.caller)
    .text(vm.pool.passing.add(`Program log: ${text}`))
    .end();
  return vm.leave(MEMO_UNITS);
}

export interface Stake {
  readonly account: number;
  readonly owner: number;
  readonly lamports: number;
}

export function openStake(vm: Machine, { account, owner, lamports }: Stake): boolean {
  const space = {
    lamports: lamports + rentOf(STAKE_BYTES),
    byteCount: STAKE_BYTES,
    owner: ID.stake,
  };
  if (!createAccount(vm, owner, account, space)) return false;
  const data = vm.data.open(116).u32(0).key(owner).key(owner).u64(0).u64(0).bytes(NOBODY);
  const refs = [writable(account), readonly(ID.rentSysvar)];
  if (!vm.enter(ID.stake, data.done(), refs)) return false;
  vm.print('Instruction: Initialize');
  return vm.leave(7566);
}

export function delegateStake(
  vm: Machine,
  { account, owner, voteAccount }: { account: number; owner: number; voteAccount: number },
): boolean {
  const refs = [
    writable(account),
    readonly(voteAccount),
    readonly(ID.clockSysvar),
    readonly(ID.stakeHistorySysvar),
    readonly(ID.stakeConfig),
    signer(owner),
  ];
  if (!vm.enter(ID.stake, vm.data.open(4).u32(2).done(), refs)) return false;
  vm.print('Instruction: DelegateStake');
  return vm.leave(11_200);
}

export function deactivateStake(vm: Machine, account: number, owner: number): boolean {
  const refs = [writable(account), readonly(ID.clockSysvar), signer(owner)];
  if (!vm.enter(ID.stake, vm.data.open(4).u32(5).done(), refs)) return false;
  vm.print('Instruction: Deactivate');
  return vm.leave(8100);
}

export function withdrawStake(
  vm: Machine,
  { account, owner, to, lamports }: Stake & { readonly to: number },
): boolean {
  const refs = [
    writable(account),
    writable(to),
    readonly(ID.clockSysvar),
    readonly(ID.stakeHistorySysvar),
    signer(owner),
  ];
  if (!vm.enter(ID.stake, vm.data.open(12).u32(4).u64(lamports).done(), refs)) return false;
  vm.print('Instruction: Withdraw');
  moveLamports(vm, account, to, lamports);
  return vm.leave(6099);
}

export interface Vote {
  readonly identity: number;
  readonly voteAccount: number;
  readonly slot: number;
  readonly isLate: boolean;
}

/** Data: the kind, the root, a short list of confirmed slots, the hash and the time of the newest. */
export function vote(vm: Machine, { identity, voteAccount, slot, isLate }: Vote): boolean {
  const data = vm.data
    .open(148)
    .u32(14)
    .u64(Math.max(0, slot - 31))
    .u8(31);
  for (let depth = 31; depth > 0; depth--) data.u8(1).u8(depth);
  for (let i = 0; i < 8; i++) data.u32(vm.random.uint32() | 0);
  data.u8(1).u64(slot).bytes(NOTHING);
  if (!vm.enter(ID.vote, data.done(), [writable(voteAccount), payer(identity)])) return false;
  if (isLate) vm.fail(ALREADY_VOTED);
  return vm.leave(VOTE_UNITS);
}

const NOBODY = new Uint8Array(32);
const NOTHING = new Uint8Array(32);
