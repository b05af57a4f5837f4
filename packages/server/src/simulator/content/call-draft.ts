import type { Address } from '../../ledger/primitives.ts';
import type { InstructionKind, Program } from './program.ts';
import type { Call } from './simulated-block.ts';

/** A call while its transaction is being made; what is left of it in the end is the `Call`. */
export interface CallDraft extends Call {
  readonly program: Program;
  readonly kind: InstructionKind;
  programIndex: number;
  accounts: number[];
  data: string;
  calls: CallDraft[];
  ran: boolean;
  /** Whether its start, its lines and its result are printed. */
  prints: boolean;
  /** The text it fails with. */
  failure: string | null;
  /** A line of its own that tells why it fails. */
  lament: { readonly role: 'log' | 'other'; readonly text: string } | null;
  /** Compute units, those of the calls it makes included. */
  units: number;
}

export function createCall(program: Program, kind: InstructionKind, depth: number): CallDraft {
  return {
    program,
    kind,
    programId: program.id as Address,
    programIndex: 0,
    accounts: [],
    data: '',
    depth,
    calls: [],
    ran: true,
    prints: program.role !== 'silent',
    failure: null,
    lament: null,
    units: 0,
  };
}

/** All calls below and including the given ones, in the order they run. */
export function flattenCalls(calls: readonly CallDraft[], into: CallDraft[] = []): CallDraft[] {
  for (const call of calls) {
    into.push(call);
    if (call.calls.length > 0) flattenCalls(call.calls, into);
  }
  return into;
}
