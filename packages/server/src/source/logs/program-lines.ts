/**
 * The lines that a call of a program is expected to print. Comparing whole texts is several times faster than taking a
 * line apart, which is left to lines that are none of these.
 */
export interface ProgramLines {
  readonly success: string;
  /** The whole invoke line by height. */
  readonly invoke: readonly string[];
}

/** Ledgers of today nest five deep, nine are announced. */
const heightMax = 9;
/** A block has some seventy programs, a ledger some thousands. */
const programCountMax = 4096;

const known = new Map<string, ProgramLines>();

export function programLines(programId: string): ProgramLines {
  let lines = known.get(programId);
  if (lines === undefined) {
    if (known.size >= programCountMax) known.clear();
    lines = {
      success: `Program ${programId} success`,
      invoke: Array.from({ length: heightMax + 1 }, (_, i) => `Program ${programId} invoke [${i}]`),
    };
    known.set(programId, lines);
  }
  return lines;
}
