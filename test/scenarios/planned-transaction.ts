/**
 * A planned transaction with everything that happens when it runs: the whole call tree, every line of its log, its fee and its error.
 * Nothing here is derived from a response; executing it proves the plan (`traceCalls`).
 */

import type { LogKind } from '@sluice/protocol/field-table';
import type {
  Address,
  AddressesByLookupTableAddress,
  Instruction,
  KeyPairSigner,
  V1TransactionConfig,
} from '@solana/kit';

export interface PlannedTransaction {
  readonly title: string;
  /** Version 0 if absent. */
  readonly version?: 'legacy' | 0 | 1;
  readonly payer: KeyPairSigner;
  readonly calls: readonly Call[];
  readonly tables?: AddressesByLookupTableAddress;
  /** Version 1 only. */
  readonly config?: V1TransactionConfig;
  /** The error as clients see it; absent for success. */
  readonly err?: string;
  /** The lamports that the transaction burns; 5,000 per signature if absent. */
  readonly fee?: bigint;
  /** Whether it prints more than the runtime keeps. */
  readonly overflows?: true;
  /** Whether it is refused before its first instruction and only pays the fee. */
  readonly nothingRuns?: true;
}

/** One instruction at any position of the tree, and what its program does. */
export interface Call {
  readonly instruction: Instruction;
  readonly prints: 'everything' | 'no units' | 'nothing';
  /** Lines and further calls, in order. */
  readonly steps: readonly Step[];
  /** Return data in base64, if the call itself sets some. */
  readonly returned?: string;
  /** The text after `failed: `. */
  readonly error?: string;
  /** Whether it fails without a log line. Later instructions do not run. */
  readonly stops?: true;
}

export interface Line {
  readonly kind: LogKind;
  /** The record's message. */
  readonly message: string;
  /** A `#` in the message stands for a number that cannot be planned. */
  readonly numbered?: true;
}

export type Step = Call | Line;

export function isCall(step: Step): step is Call {
  return 'instruction' in step;
}

const PROGRAMS_WITHOUT_UNITS: ReadonlySet<string> = new Set([
  '11111111111111111111111111111111',
  'ComputeBudget111111111111111111111111111111',
  'Vote111111111111111111111111111111111111111',
  'ZkTokenProof1111111111111111111111111111111',
]);
const PROGRAMS_WITHOUT_LINES: ReadonlySet<string> = new Set([
  'Ed25519SigVerify111111111111111111111111111',
]);

/** A call with the usual lines of a program; steps that are plain text are `Program log:` lines. */
export function call(
  instruction: Instruction,
  steps: readonly (Step | string)[] = [],
  end: { readonly error?: string; readonly returned?: string } = {},
): Call {
  const lines = steps.map((step): Step => (typeof step === 'string' ? log(step) : step));
  return { instruction, prints: printsOf(instruction.programAddress), steps: lines, ...end };
}

/** A call that the runtime refuses before the program starts: it is recorded, but has no lines. */
export function refusedCall(instruction: Instruction): Call {
  return { instruction, prints: 'nothing', steps: [] };
}

function log(message: string): Line {
  return { kind: 'log', message };
}

export function other(message: string): Line {
  return { kind: 'other', message };
}

export function accountsOf(instruction: Instruction): readonly Address[] {
  return (instruction.accounts ?? []).map((account) => account.address);
}

function printsOf(program: Address): Call['prints'] {
  if (PROGRAMS_WITHOUT_LINES.has(program)) return 'nothing';
  return PROGRAMS_WITHOUT_UNITS.has(program) ? 'no units' : 'everything';
}
