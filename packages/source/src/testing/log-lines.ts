/** Builds transactions with logs, and short texts of the parsed results. */
import { expect } from 'vitest';
import type { LogMismatch } from '../logs/parse-log.ts';
import type { NormalizedBlock } from '../normalize/normalize-block.ts';
import type { NormalizeOptions } from '../normalize/normalize-options.ts';
import { call, normalizeOne, program, type RawObject } from './raw-block.ts';

export const invoke = (id: string, depth: number) => `Program ${id} invoke [${depth}]`;
export const success = (id: string) => `Program ${id} success`;
export const failed = (id: string, text: string) => `Program ${id} failed: ${text}`;
export const consumed = (id: string, units: number | string) =>
  `Program ${id} consumed ${units} of 200000 compute units`;
export const truncated = 'Log truncated';

/** Returns the lines of a frame: its invoke line, the lines inside, its success line. */
export const frame = (id: string, depth: number, inside: readonly string[] = []) => [
  invoke(id, depth),
  ...inside,
  success(id),
];

export interface LogParts {
  readonly top?: readonly RawObject[];
  /** Inner instructions by top-level index, one group each. */
  readonly inner?: readonly (readonly [number, readonly RawObject[]])[] | null;
  readonly lines: readonly unknown[] | null;
  readonly err?: unknown;
}

export function run(parts: LogParts, options: Partial<NormalizeOptions> = {}): NormalizedBlock {
  const inner = parts.inner === undefined ? [] : parts.inner;
  return normalizeOne(
    {
      instructions: parts.top ?? [call(program.a)],
      meta: {
        err: parts.err ?? null,
        logMessages: parts.lines,
        innerInstructions: inner?.map(([index, instructions]) => ({ index, instructions })) ?? null,
      },
    },
    options,
  );
}

const letters = new Map<string, string>(Object.entries(program).map(([name, id]) => [id, name]));

/** Returns each call as `address program`, with `!` if its log is incomplete. */
export function calls({ block }: NormalizedBlock): string[] {
  return block.instructions.map((instruction) => {
    const name = letters.get(instruction.programId);
    const flag = instruction.hasDroppedLogMessages ? '!' : '';
    return `${instruction.instructionAddress.join('.')} ${name}${flag}`;
  });
}

export function logs({ block }: NormalizedBlock): string[] {
  return block.logs.map(
    (log) =>
      `${log.logIndex} ${log.instructionAddress.join('.')} ${letters.get(log.programId)} ${log.kind} ${log.message}`,
  );
}

export const isFlagged = ({ block }: NormalizedBlock) =>
  block.transactions[0]?.hasDroppedLogMessages;
export const degraded = ({ counts }: NormalizedBlock) => Object.keys(counts.degraded);

/** Expects that a log that contradicts the calls was discarded: the calls stay, by their heights, and have no values from the log. */
export function expectDegraded(
  outcome: NormalizedBlock,
  how: LogMismatch,
  expected: string[],
): void {
  expect(degraded(outcome)).toEqual([how]);
  expect(calls(outcome)).toEqual(expected);
  expect(logs(outcome)).toEqual([]);
  expect(isFlagged(outcome)).toBe(true);
  for (const instruction of outcome.block.instructions) {
    expect([instruction.error, instruction.computeUnitsConsumed]).toEqual([null, null]);
  }
}
