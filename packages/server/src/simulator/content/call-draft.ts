import type { InstructionKind, Program } from './program.ts';

/** A call as planned: what runs and how it ends, before it has accounts and data. */
export interface CallDraft {
  readonly program: Program;
  readonly kind: InstructionKind;
  /** 1 for a top-level instruction. */
  readonly depth: number;
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
export function flattenCalls<C extends { readonly calls: readonly C[] }>(
  calls: readonly C[],
  into: C[] = [],
): C[] {
  for (const call of calls) {
    into.push(call);
    if (call.calls.length > 0) flattenCalls(call.calls, into);
  }
  return into;
}
