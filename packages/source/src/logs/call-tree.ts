/**
 * The calls of one transaction in the order of execution. Each top-level instruction is followed by its inner instructions in
 * pre-order, so the addresses follow from the heights:
 *
 *   starts    0                           4       …one past the last
 *   calls     top 0  inner  inner  inner  top 1   …
 *   heights   1      2      3      2      1
 *   address   0      0,0    0,0,0  0,1    1
 */
import type { Instruction } from '@sluice/ledger/block';

export type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };
export type Call = Mutable<Instruction>;

export interface CallTree {
  readonly calls: Call[];
  /** The `stackHeight` of each call; 0 if the source has none. */
  readonly heights: number[];
  /** The position of each top-level instruction in `calls`; the last entry is the number of calls. */
  readonly starts: number[];
}

/** No ledger nests calls this deep; deeper nesting is damage. */
const callDepthMax = 64;

/** Returns the address after `previous` at a height of 2 or more; undefined if a level would be skipped. */
export function nextAddress(previous: readonly number[], height: number): number[] | undefined {
  const { length } = previous;
  if (height > length + 1 || height > callDepthMax || height < 2) return undefined;
  const address = previous.slice(0, height);
  if (height <= length) address[height - 1] = (address[height - 1] as number) + 1;
  else address.push(0);
  return address;
}

/**
 * Assigns addresses by the heights alone, when no log can be read, and marks all calls that ran as incomplete. Invalid heights are
 * adjusted to the next valid ones. Returns the number of guessed addresses, whose height is unknown.
 */
export function assignWithoutLog(tree: CallTree, failed: number): number {
  const { calls, heights, starts } = tree;
  let guessCount = 0;
  for (let top = 0; top + 1 < starts.length; top++) {
    const first = starts[top] as number;
    const end = starts[top + 1] as number;
    let previous: readonly number[] = [top];
    // A call that did not run has no log that could be missing.
    const isIncomplete = top <= failed || end - first > 1;
    for (let k = first; k < end; k++) {
      const call = calls[k] as Call;
      if (k > first) {
        const height = heights[k] as number;
        if (height === 0) guessCount++;
        previous = clampedAddress(previous, height === 0 ? 2 : height);
      }
      call.instructionAddress = previous;
      call.hasDroppedLogMessages = isIncomplete;
      call.error = null;
      call.computeUnitsConsumed = null;
    }
  }
  return guessCount;
}

function clampedAddress(previous: readonly number[], height: number): readonly number[] {
  const deepest = Math.min(previous.length + 1, callDepthMax);
  return nextAddress(previous, Math.max(2, Math.min(height, deepest))) as number[];
}
