import { memberOf } from '@sluice/protocol/unknown-value';
import type { CallTree } from './call-tree.ts';

/** Errors that are raised before the program is invoked, so that its call prints no line. */
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
  /** The top-level instruction that failed; later ones did not run. -1 if none ran, their number if all ran. */
  readonly failed: number;
  readonly failedBeforeInvoke: boolean;
}

/** Determines from the `err` of a transaction which instructions ran. */
export function findFailure(
  err: unknown,
  tree: CallTree,
  lines: readonly string[] | null,
): Failure {
  const topCount = tree.starts.length - 1;
  if (err === undefined || err === null) return { failed: topCount, failedBeforeInvoke: false };
  const cause = memberOf(err, 'InstructionError');
  if (Array.isArray(cause) && Number.isSafeInteger(cause[0]) && cause[0] >= 0) {
    return { failed: cause[0], failedBeforeInvoke: errorsBeforeInvoke.has(cause[1]) };
  }
  // Another kind of error occurs before the first instruction or after the last one.
  const hasRun = (lines !== null && lines.length > 0) || tree.calls.length > topCount;
  return { failed: hasRun ? topCount : -1, failedBeforeInvoke: false };
}
