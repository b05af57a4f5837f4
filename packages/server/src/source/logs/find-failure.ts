import type { CallTree } from './call-tree.ts';

/** Errors that are raised before the program that they name is invoked, so that its call prints no line. */
const errorsBeforeInvoke = new Set([
  'AccountNotExecutable',
  'CallDepth',
  'MissingAccount',
  'NotEnoughAccountKeys',
  'ReentrancyNotAllowed',
  'UnsupportedProgramId',
  'MaxInstructionTraceLengthExceeded',
]);

export interface Failure {
  /** The top-level instruction that failed: those after it never ran. -1: none ran; their number: all did. */
  readonly failed: number;
  readonly failedBeforeInvoke: boolean;
}

/** What of a transaction ran, by its `err`. */
export function findFailure(
  err: unknown,
  tree: CallTree,
  lines: readonly string[] | null,
): Failure {
  const topCount = tree.starts.length - 1;
  if (err === undefined || err === null) return { failed: topCount, failedBeforeInvoke: false };
  const cause = (err as { InstructionError?: unknown }).InstructionError;
  if (Array.isArray(cause) && Number.isSafeInteger(cause[0]) && cause[0] >= 0) {
    return { failed: cause[0], failedBeforeInvoke: errorsBeforeInvoke.has(cause[1]) };
  }
  // An error of another kind stops a transaction before its first instruction, or is found after the last.
  const hasRun = (lines !== null && lines.length > 0) || tree.calls.length > topCount;
  return { failed: hasRun ? topCount : -1, failedBeforeInvoke: false };
}
