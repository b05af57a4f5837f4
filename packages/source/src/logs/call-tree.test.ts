import { expect, test } from 'vitest';
import {
  calls,
  degraded,
  expectDegraded,
  failed,
  frame,
  invoke,
  isFlagged,
  run,
  success,
  truncated,
} from '../testing/log-lines.ts';
import { at, call, program } from '../testing/raw-block.ts';

const { a, b, c, d } = program;

test('behavior: repeated inner groups are joined, and empty ones are ignored', () => {
  const outcome = run({
    top: [call(a), call(a)],
    inner: [
      [0, [at(2, b)]],
      [1, []],
      [0, [at(3, c), at(2, d)]],
      [0, []],
    ],
    lines: [...frame(a, 1, [...frame(b, 2, frame(c, 3)), ...frame(d, 2)]), ...frame(a, 1)],
  });
  expect(calls(outcome)).toEqual(['0 a', '0.0 b', '0.0.0 c', '0.1 d', '1 a']);
  expect(degraded(outcome)).toEqual([]);
});

test('error: a group index that is too high refuses the block', () => {
  for (const index of [1, -1, 0.5]) {
    expect(() => run({ inner: [[index, [at(2, b)]]], lines: [] })).toThrow(
      expect.objectContaining({
        detail: {
          slot: 1000,
          transaction: 0,
          field: 'meta.innerInstructions.index[0]',
          found: String(index),
          expected: 'the index of one of the 1 instructions',
        },
      }),
    );
  }
});

test('behavior: calls may be nested 1 to 9 deep', () => {
  const ids = [b, c, d];
  const heights = [2, 3, 4, 5, 6, 7, 8, 9];
  const inner = heights.map((height) => at(height, ids[height % 3] as string));
  const lines = [
    invoke(a, 1),
    ...heights.map((height) => invoke(ids[height % 3] as string, height)),
    ...heights.toReversed().map((height) => success(ids[height % 3] as string)),
    success(a),
  ];
  const outcome = run({ inner: [[0, inner]], lines });
  expect(outcome.block.instructions.map((i) => i.instructionAddress)).toEqual(
    [1, ...heights].map((height) => Array(height).fill(0)),
  );
  expect(degraded(outcome)).toEqual([]);
});

test('behavior: heights 2, 3, 4, 2, 3 give 0.0, 0.0.0, 0.0.0.0, 0.1, 0.1.0', () => {
  const inner = [at(2, b), at(3, c), at(4, d), at(2, b), at(3, c)];
  const expected = ['0 a', '0.0 b', '0.0.0 c', '0.0.0.0 d', '0.1 b', '0.1.0 c'];
  const lines = frame(a, 1, [
    ...frame(b, 2, frame(c, 3, frame(d, 4))),
    ...frame(b, 2, frame(c, 3)),
  ]);
  expect(calls(run({ inner: [[0, inner]], lines }))).toEqual(expected);
  // The same addresses follow from the heights alone, after the truncation mark.
  expect(calls(run({ inner: [[0, inner]], lines: [truncated] }))).toEqual(
    expected.map((text) => `${text}!`),
  );
});

test('behavior: a height that jumps two levels is a contradiction; the log is ignored and the height is lowered', () => {
  const outcome = run({
    inner: [[0, [at(2, b), at(4, c), at(4, d)]]],
    lines: frame(a, 1, frame(b, 2)),
  });
  expectDegraded(outcome, 'level-skipped', ['0 a!', '0.0 b!', '0.0.0 c!', '0.0.0.0 d!']);
  // An inner call cannot have a height of 1 or a huge one.
  for (const height of [1, 1_000_000]) {
    const odd = run({ inner: [[0, [at(2, b), at(height, c)]]], lines: frame(a, 1, frame(b, 2)) });
    expect(isFlagged(odd)).toBe(true);
    expect(calls(odd)).toEqual(['0 a!', '0.0 b!', height === 1 ? '0.1 c!' : '0.0.0 c!']);
  }
});

test('limit: calls nested deeper than 64 are a contradiction, and every call is kept', () => {
  const heights = Array.from({ length: 69 }, (_, i) => i + 2);
  const outcome = run({
    inner: [[0, heights.map((height) => at(height, b))]],
    lines: [
      invoke(a, 1),
      ...heights.map((height) => invoke(b, height)),
      ...heights.map(() => success(b)),
      success(a),
    ],
  });
  expect(degraded(outcome)).toEqual(['level-skipped']);
  const depths = outcome.block.instructions.map((i) => i.instructionAddress.length);
  expect(depths).toEqual(Array.from({ length: 70 }, (_, i) => Math.min(i + 1, 64)));
  const exact = run({
    inner: [[0, heights.slice(0, 63).map((height) => at(height, b))]],
    lines: [truncated],
  });
  expect(degraded(exact)).toEqual([]);
});

test('behavior: missing heights come from the nesting of the log', () => {
  const outcome = run({
    top: [call(a), call(c)],
    inner: [
      [0, [call(b), call(c), call(d), call(b)]],
      [1, [call(d, { stackHeight: null })]],
    ],
    lines: [
      ...frame(a, 1, [...frame(b, 2, [...frame(c, 3), ...frame(d, 3)]), ...frame(b, 2)]),
      ...frame(c, 1, frame(d, 2)),
    ],
  });
  expect(calls(outcome)).toEqual(['0 a', '0.0 b', '0.0.0 c', '0.0.1 d', '0.1 b', '1 c', '1.0 d']);
  expect(outcome.counts.guessedAddresses).toBe(0);
});

test('behavior: without heights and log, calls are flat and flagged', () => {
  const parts = { inner: [[0, [call(b), call(c), call(d)]]] as const, lines: null };
  const outcome = run(parts, { allowMissing: ['logs'] });
  expect(calls(outcome)).toEqual(['0 a!', '0.0 b!', '0.1 c!', '0.2 d!']);
  expect(isFlagged(outcome)).toBe(true);
  expect(outcome.counts).toMatchObject({ guessedAddresses: 3, withoutLog: 1, degraded: {} });
});

test('behavior: without heights, calls after a failed frame belong to it, and after a success they are flat', () => {
  const failure = run({
    inner: [[0, [call(b), call(c)]]],
    lines: [invoke(a, 1), invoke(b, 2), failed(b, 'x'), failed(a, 'x')],
    err: { InstructionError: [0, { Custom: 1 }] },
  });
  expect(calls(failure)).toEqual(['0 a', '0.0 b', '0.0.0 c!']);
  const fine = run({ inner: [[0, [call(b), call(c)]]], lines: frame(a, 1, frame(b, 2)) });
  expect(calls(fine)).toEqual(['0 a', '0.0 b', '0.1 c!']);
  expect(fine.counts.guessedAddresses).toBe(1);
});
