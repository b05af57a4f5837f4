/** Plans of calls of the relay program, a program for tests that executes a script. */
import { AccountRole, type Address, type Instruction } from '@solana/kit';
import {
  accountsOf,
  type Call,
  call,
  isCall,
  type Line,
  type Step,
} from './planned-transaction.ts';
import { encodeRelayScript, PANIC_COLUMN, PANIC_LINE, type RelayStep } from './relay-program.ts';

export const SHOW_UNITS = Symbol('show units');
/** What a call of the program does: it logs a text, prints bytes as data, logs the remaining units, or calls a program. */
type Action = string | Uint8Array | typeof SHOW_UNITS | Call;

interface RelayEnd {
  readonly fail?: { readonly code: bigint; readonly text: string };
  /** Consumes all units. */
  readonly spin?: { readonly text: string };
  readonly panic?: string;
  readonly return?: string;
  /** How a failed call, or the return data of a call, appears in this one. */
  readonly error?: string;
  readonly returned?: string;
}

/** Returns the plan of a call: the script that the program executes, and the lines and calls that must result. */
export function relay(program: Address, actions: readonly Action[], end: RelayEnd = {}): Call {
  const script = [...actions.map(toRelayStep), ...toRelayEnd(end)];
  const below = actions.filter(
    (action): action is Call => typeof action === 'object' && 'steps' in action,
  );
  const instruction: Instruction = {
    programAddress: program,
    accounts: [...new Set(below.flatMap(programsOf))].map((address) => ({
      address,
      role: AccountRole.READONLY,
    })),
    data: encodeRelayScript(script),
  };
  const error = end.fail?.text ?? end.spin?.text ?? panicText(end.panic) ?? end.error;
  const returned = end.return === undefined ? end.returned : toBase64(Buffer.from(end.return));
  return call(instruction, actions.map(toStep), {
    ...(error !== undefined && { error }),
    ...(returned !== undefined && { returned }),
  });
}

function panicText(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  return `SBF program Panicked in ${file} at ${PANIC_LINE}:${PANIC_COLUMN}`;
}

function programsOf(below: Call): Address[] {
  return [below.instruction.programAddress, ...accountsOf(below.instruction)];
}

function toRelayStep(action: Action): RelayStep {
  if (action === SHOW_UNITS) return { do: 'show-units' };
  if (typeof action === 'string') return { do: 'log', text: action };
  if (action instanceof Uint8Array) return { do: 'data', bytes: action };
  const { programAddress: program, data } = action.instruction;
  const bytes = Uint8Array.from(data ?? []);
  return { do: 'call', program, accounts: accountsOf(action.instruction), data: bytes };
}

function toStep(action: Action): Step | string {
  if (action === SHOW_UNITS) {
    const message = 'Program consumption: # units remaining';
    return { kind: 'other', message, numbered: true } satisfies Line;
  }
  return action instanceof Uint8Array ? { kind: 'data', message: toBase64(action) } : action;
}

function toRelayEnd(end: RelayEnd): RelayStep[] {
  if (end.fail) return [{ do: 'fail', code: end.fail.code }];
  if (end.spin) return [{ do: 'spin' }];
  if (end.panic !== undefined) return [{ do: 'panic', text: end.panic }];
  return end.return === undefined ? [] : [{ do: 'return', bytes: Buffer.from(end.return) }];
}

export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

/** Returns the plan of a call that ends because its last inner call fails. */
export function cut(failed: Call, error: string): Call {
  const last = failed.steps.findLastIndex(isCall);
  return { ...failed, steps: failed.steps.slice(0, last + 1), error };
}
