/** The system program: lamports and new accounts. */

import type { Machine } from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import { custom } from './causes.ts';

const UNITS = 150;
const SEED_BYTES = 32;

export function transferLamports(vm: Machine, from: number, to: number, lamports: number): boolean {
  const data = vm.data.open(12).u32(2).u64(lamports).done();
  vm.refs.payer(from).writable(to);
  if (!vm.enter(ID.system, data)) return false;
  moveLamports(vm, from, to, lamports);
  return vm.leave(UNITS);
}

/** The lamports, the size and the owning program of a new account. */
interface Space {
  readonly lamports: number;
  readonly byteCount: number;
  readonly owner: number;
}

export function createAccount(vm: Machine, from: number, account: number, space: Space): boolean {
  const { lamports, byteCount, owner } = space;
  const data = vm.data.open(52).u32(0).u64(lamports).u64(byteCount).key(owner).done();
  vm.refs.payer(from).payer(account);
  if (!vm.enter(ID.system, data)) return false;
  moveLamports(vm, from, account, lamports);
  return vm.leave(UNITS);
}

/** Creates an account that only this transaction uses, and returns it. */
export function createWithSeed(vm: Machine, from: number, space: Space): number {
  const { lamports, byteCount, owner } = space;
  const seed = Buffer.alloc(SEED_BYTES);
  for (let i = 0; i < SEED_BYTES; i++) seed[i] = 97 + vm.random.below(26);
  const account = vm.scratch(0);
  if (!vm.isMuted) vm.book.deriveScratch(account, from, seed, owner);
  const data = vm.data
    .open(4 + 32 + 8 + SEED_BYTES + 8 + 8 + 32)
    .u32(3)
    .key(from);
  data.u64(SEED_BYTES).bytes(seed).u64(lamports).u64(byteCount).key(owner);
  vm.refs.payer(from).writable(account).signer(from);
  if (!vm.enter(ID.system, data.done())) return account;
  moveLamports(vm, from, account, lamports);
  vm.leave(UNITS);
  return account;
}

/** Moves lamports within an instruction. This needs no call, because the program owns the account that pays. */
export function moveLamports(vm: Machine, from: number, to: number, lamports: number): void {
  const held = vm.world.lamports(from);
  if (held < lamports) {
    const text = `Transfer: insufficient lamports ${held}, need ${lamports}`;
    vm.log.line('other', vm.caller).escaped(text).end();
    vm.fail(custom(1));
    return;
  }
  vm.world.addLamports(from, -lamports);
  vm.world.addLamports(to, lamports);
}
