/**
 * The calls of one transaction in the order they were made. Each top-level instruction is followed by its inner ones, the
 * trace of what it called, in pre-order; so the heights alone give the addresses:
 *
 *   starts    0                           4       …one past the last
 *   calls     top 0  inner  inner  inner  top 1   …
 *   heights   1      2      3      2      1
 *   address   0      0,0    0,0,0  0,1    1
 */
import type { Instruction } from '../../ledger/block.ts';

export type Mutable<Type> = { -readonly [Key in keyof Type]: Type[Key] };
export type Call = Mutable<Instruction>;

export interface CallTree {
  readonly calls: Call[];
  /** The source's `stackHeight` of each call; 0 where it gave none. */
  readonly heights: number[];
  /** Where each top-level instruction is in `calls`, and as last entry the number of calls. */
  readonly starts: number[];
}

/** No ledger nests calls this deep; what does is damage. */
const callDepthMax = 64;

/** The address that follows `previous` at `height`, 2 or more; undefined if a level would be skipped. */
export function nextAddress(previous: readonly number[], height: number): number[] | undefined {
  const { length } = previous;
  if (height > length + 1 || height > callDepthMax || height < 2) return undefined;
  const address = previous.slice(0, height);
  if (height <= length) address[height - 1] = (address[height - 1] as number) + 1;
  else address.push(0);
  return address;
}

/**
 * Addresses and flags where no log can be read: by the heights, forced into a tree that exists, and everything that ran
 * marked as incomplete. Answers how many addresses are guesses because their height is unknown.
 */
export function assignWithoutLog(tree: CallTree, failed: number): number {
  const { calls, heights, starts } = tree;
  let guessCount = 0;
  for (let top = 0; top + 1 < starts.length; top++) {
    const first = starts[top] as number;
    const end = starts[top + 1] as number;
    let previous: readonly number[] = [top];
    // One that never ran and called nothing had nothing to log.
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
