/**
 * A transaction as the test asks for it, with everything that is to happen when it runs: the whole call tree, every line
 * of its log, its fee and its error. Nothing here is read from an answer; executing it proves the plan (`traceCalls`).
 */
import type {
  Address,
  AddressesByLookupTableAddress,
  Instruction,
  KeyPairSigner,
  V1TransactionConfig,
} from '@solana/kit';
import type { LogKind } from '../../packages/server/src/ledger/block.ts';

export interface PlannedTransaction {
  readonly title: string;
  /** Version 0 if absent. */
  readonly version?: 'legacy' | 0 | 1;
  readonly payer: KeyPairSigner;
  readonly calls: readonly Call[];
  readonly tables?: AddressesByLookupTableAddress;
  /** Version 1 only. */
  readonly config?: V1TransactionConfig;
  /** The error as the interface shows it; success if absent. */
  readonly err?: string;
  /** The lamports the transaction burns: 5,000 a signature if absent. */
  readonly fee?: bigint;
  /** Prints more than the runtime keeps. */
  readonly overflows?: true;
  /** Refused before its first instruction, for the fee only. */
  readonly nothingRuns?: true;
}

/** One instruction, anywhere in the tree, and what its program does. */
export interface Call {
  readonly instruction: Instruction;
  readonly prints: 'everything' | 'no units' | 'nothing';
  /** Lines and further calls, in order. */
  readonly steps: readonly Step[];
  /** Return data in base64, where the call itself leaves some. */
  readonly returned?: string;
  /** The text after `failed: `. */
  readonly error?: string;
  /** Fails without a line that says so: what comes after it does not run. */
  readonly stops?: true;
}

export interface Line {
  readonly kind: LogKind;
  /** The record's message. */
  readonly message: string;
  /** The message's `#` stands for a number that cannot be planned. */
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

/** A call by a program's ordinary manners; steps that are bare text are `Program log:` lines. */
export function call(
  instruction: Instruction,
  steps: readonly (Step | string)[] = [],
  end: { readonly error?: string; readonly returned?: string } = {},
): Call {
  const lines = steps.map((step): Step => (typeof step === 'string' ? log(step) : step));
  return { instruction, prints: mannersOf(instruction.programAddress), steps: lines, ...end };
}

/** A call that the runtime refuses before the program begins: recorded, without any line. */
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

function mannersOf(program: Address): Call['prints'] {
  if (PROGRAMS_WITHOUT_LINES.has(program)) return 'nothing';
  return PROGRAMS_WITHOUT_UNITS.has(program) ? 'no units' : 'everything';
}
