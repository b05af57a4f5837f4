/**
 * The lines that a call of a program usually prints. Comparing whole texts is several times faster than parsing a line, which is
 * only done for other lines.
 */
export interface ProgramLines {
  readonly success: string;
  /** The invoke line for each height. */
  readonly invoke: readonly string[];
}

/** Current ledgers nest five deep; nine are announced. */
const heightMax = 9;
/** A block has about seventy programs, a ledger some thousands. */
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
