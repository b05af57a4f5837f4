/**
 * A program that executes its instruction data, so that a test can create any call tree and any log line. The bundled programs print few
 * kinds of lines and never nest deeper than two calls.
 * The data is a script of steps, each `operation u64, length u64, payload padded to 8 bytes`, ended by operation 0. The payload of a call
 * is `program 32 bytes, account count u64, accounts 32 bytes each, data`. Its accounts must be programs: then the virtual machine needs no
 * account details from the caller, which this program does not collect.
 */
import { type Address, getAddressEncoder } from '@solana/kit';
import { SbfAssembler } from './sbf-assembler.ts';

export type RelayStep =
  | { readonly do: 'log'; readonly text: string | Uint8Array }
  | { readonly do: 'data'; readonly bytes: Uint8Array }
  | { readonly do: 'fail'; readonly code: bigint }
  | { readonly do: 'show-units' }
  | { readonly do: 'return'; readonly bytes: Uint8Array }
  | { readonly do: 'spin' }
  | { readonly do: 'panic'; readonly text: string }
  | {
      readonly do: 'call';
      readonly program: Address;
      readonly accounts: readonly Address[];
      readonly data: Uint8Array;
    };

const OPERATIONS = {
  log: 1,
  data: 2,
  fail: 3,
  'show-units': 4,
  return: 5,
  spin: 6,
  call: 7,
  panic: 8,
} as const satisfies Record<RelayStep['do'], number>;

/** The source location that a panic of the relay reports. */
export const PANIC_LINE = 12;
export const PANIC_COLUMN = 34;

export function encodeRelayScript(steps: readonly RelayStep[]): Uint8Array {
  const parts = steps.map((step) => encodeOperation(OPERATIONS[step.do], encodePayload(step)));
  return Buffer.concat([...parts, encodeOperation(0, Buffer.alloc(0))]);
}

function encodeOperation(operation: number, payload: Uint8Array): Buffer {
  const padding = Buffer.alloc((8 - (payload.length % 8)) % 8);
  return Buffer.concat([u64(operation), u64(payload.length), payload, padding]);
}

function encodePayload(step: RelayStep): Uint8Array {
  switch (step.do) {
    case 'log':
    case 'panic':
      return Buffer.from(step.text);
    case 'data':
    case 'return':
      return step.bytes;
    case 'fail':
      return u64(step.code);
    case 'call': {
      const keys = [step.program, ...step.accounts].map((key) => getAddressEncoder().encode(key));
      const [program, ...accounts] = keys as [Uint8Array, ...Uint8Array[]];
      return Buffer.concat([program, u64(accounts.length), ...accounts, step.data]);
    }
    case 'show-units':
    case 'spin':
      return Buffer.alloc(0);
  }
}

function u64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

/** Register 2 holds the address of the instruction data at entry; 6 is the cursor, 7 and 8 the payload's length and address. */
export function buildRelayProgram(): Uint8Array {
  const code = new SbfAssembler();
  code.move(6, 2);
  code.label('step');
  code.load(1, 6, 0);
  code.load(7, 6, 8);
  code.addNumber(6, 16);
  code.move(8, 6);
  code.move(3, 7);
  code.addNumber(3, 7);
  code.andNumber(3, -8);
  code.add(6, 3);
  for (const [name, operation] of Object.entries(OPERATIONS)) code.jumpIfNumber(1, operation, name);
  code.set(0, 0);
  code.exit();

  code.label('log');
  code.move(1, 8);
  code.move(2, 7);
  code.callSystem('sol_log_');
  code.jump('step');

  code.label('data');
  code.store(10, -16, 8);
  code.store(10, -8, 7);
  code.move(1, 10);
  code.addNumber(1, -16);
  code.set(2, 1);
  code.callSystem('sol_log_data');
  code.jump('step');

  code.label('fail');
  code.load(0, 8, 0);
  code.exit();

  code.label('show-units');
  code.callSystem('sol_log_compute_units_');
  code.jump('step');

  code.label('return');
  code.move(1, 8);
  code.move(2, 7);
  code.callSystem('sol_set_return_data');
  code.jump('step');

  code.label('spin');
  code.jump('spin');

  code.label('panic');
  code.move(1, 8);
  code.move(2, 7);
  code.set(3, PANIC_LINE);
  code.set(4, PANIC_COLUMN);
  code.callSystem('sol_panic_');

  addCall(code);
  return code.link();
}

/** Lays out `{program, accounts, account count, data, data length}` at the stack's end, the account list 512 bytes below. */
function addCall(code: SbfAssembler): void {
  code.label('call');
  code.load(2, 8, 32);
  code.move(3, 8);
  code.addNumber(3, 40);
  code.move(4, 10);
  code.addNumber(4, -512);
  code.set(5, 0);
  code.set(9, 0);
  code.label('account');
  code.jumpIfSame(5, 2, 'invoke');
  code.store(4, 0, 3);
  code.store(4, 8, 9);
  code.addNumber(3, 32);
  code.addNumber(4, 16);
  code.addNumber(5, 1);
  code.jump('account');

  code.label('invoke');
  code.store(10, -64, 8);
  code.move(4, 10);
  code.addNumber(4, -512);
  code.store(10, -56, 4);
  code.store(10, -48, 2);
  code.store(10, -40, 3);
  code.move(4, 8);
  code.add(4, 7);
  code.subtract(4, 3);
  code.store(10, -32, 4);
  code.move(1, 10);
  code.addNumber(1, -64);
  for (const register of [2, 3, 4, 5] as const) code.set(register, 0);
  code.callSystem('sol_invoke_signed_c');
  code.jump('step');
}
