/** The associated token program, which derives one token account per owner and mint. */
import type { Machine } from '../machine/machine.ts';
import { ID } from '../world/known-addresses.ts';
import { TOKEN_2022_BYTES, TOKEN_BYTES } from '../world/tokens.ts';
import { ILLEGAL_OWNER } from './causes.ts';
import { createAccount } from './system.ts';
import { getAccountDataSize, initializeAccount3, initializeImmutableOwner } from './token.ts';

const UNITS = 14_419;
const UNITS_EXISTING = 5937;
const UNITS_REFUSED = 5058;

export interface Association {
  /** The account that pays for the new account. */
  readonly from: number;
  readonly account: number;
  readonly owner: number;
  readonly mint: number;
  /** Whether an account that exists already is an error. */
  readonly isStrict: boolean;
}

export function createAssociated(vm: Machine, association: Association): boolean {
  const { from, account, owner, mint, isStrict } = association;
  const { world } = vm;
  const program = world.programAt(mint);
  const data = isStrict ? vm.data.open(0).done() : vm.data.open(1).u8(1).done();
  vm.refs.payer(from).writable(account).readonly(owner).readonly(mint);
  vm.refs.readonly(ID.system).readonly(program);
  if (!vm.enter(ID.associated, data)) return false;
  vm.print(isStrict ? 'Create' : 'CreateIdempotent');
  if (world.exists(account)) {
    return isStrict ? vm.leaveFailed(ILLEGAL_OWNER, UNITS_REFUSED) : vm.leave(UNITS_EXISTING);
  }
  const byteCount = program === ID.token2022 ? TOKEN_2022_BYTES : TOKEN_BYTES;
  const lamports = world.rentOfToken(mint);
  if (
    getAccountDataSize(vm, mint, byteCount) &&
    createAccount(vm, from, account, { lamports, byteCount, owner: program })
  ) {
    vm.print('Initialize the associated token account');
    initializeImmutableOwner(vm, account, program);
    initializeAccount3(vm, { account, mint, owner });
  }
  return vm.leave(UNITS);
}
