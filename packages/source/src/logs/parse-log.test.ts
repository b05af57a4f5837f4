import { expect, test } from 'vitest';
import {
  calls,
  consumed,
  degraded,
  expectDegraded,
  failed,
  frame,
  invoke,
  isFlagged,
  logs,
  run,
  success,
  truncated,
} from '../testing/log-lines.ts';
import { at, call, normalize, program, rawBlock, rawTransaction } from '../testing/raw-block.ts';
import type { LogMismatch } from './parse-log.ts';

const { a, b, c, d } = program;

test('default: lines are assigned to the open frame, and calls get units, errors and addresses', () => {
  const outcome = run({
    top: [call(a), call(b)],
    inner: [[0, [at(2, b), at(2, c)]]],
    lines: [
      invoke(a, 1),
      'Program log: start',
      invoke(b, 2),
      'Program data: AQID BAUG',
      consumed(b, 100),
      'Program return: x AQ==',
      success(b),
      'Program log: between',
      ...frame(c, 2),
      consumed(a, 500),
      success(a),
      ...frame(b, 1, ['Transfer: insufficient lamports']),
    ],
  });
  expect(calls(outcome)).toEqual(['0 a', '0.0 b', '0.1 c', '1 b']);
  expect(logs(outcome)).toEqual([
    '1 0 a log start',
    '3 0.0 b data AQID BAUG',
    '5 0.0 b other Program return: x AQ==',
    '7 0 a log between',
    '13 1 b other Transfer: insufficient lamports',
  ]);
  expect(outcome.block.instructions.map((i) => i.computeUnitsConsumed)).toEqual([
    500n,
    100n,
    null,
    null,
  ]);
  expect(isFlagged(outcome)).toBe(false);
  expect(outcome.counts).toMatchObject({ degraded: {}, silentCalls: 0, skippedLines: 0 });
});

test('behavior: line breaks of every kind stay inside log, data and failed texts', () => {
  const text = `one\ntwo\rthree\u2028four\u2029 ${success(a)}`;
  const outcome = run({
    lines: [
      invoke(a, 1),
      `Program log: ${text}`,
      `Program data: ${text}`,
      'Program log: ',
      'Program log:  padded ',
      'Program log: Log truncated',
      failed(a, text),
    ],
    err: { InstructionError: [0, { Custom: 1 }] },
  });
  expect(logs(outcome)).toEqual([
    `1 0 a log ${text}`,
    `2 0 a data ${text}`,
    '3 0 a log ',
    '4 0 a log  padded ',
    '5 0 a log Log truncated',
  ]);
  expect(outcome.block.instructions[0]?.error).toBe(text);
  expect(isFlagged(outcome)).toBe(false);
});

test('behavior: texts that imitate invoke, success, consumed or the truncation mark stay texts', () => {
  const imitations = [invoke(b, 2), success(a), failed(a, 'x'), consumed(a, 5), truncated];
  const outcome = run({
    lines: frame(a, 1, [
      ...imitations.map((line) => `Program log: ${line}`),
      `log\n${success(a)}`,
      ` ${success(a)}`,
      `${success(a)} `,
      `${invoke(b, 2)}\n`,
    ]),
  });
  expect(calls(outcome)).toEqual(['0 a']);
  expect(outcome.block.logs).toHaveLength(9);
  expect(outcome.block.logs.slice(5).map((log) => log.kind)).toEqual(Array(4).fill('other'));
});

test('behavior: the truncation mark at depth 3 flags every open ancestor and all later calls', () => {
  const outcome = run({
    top: [call(a), call(d)],
    inner: [[0, [at(2, d), at(2, b), at(3, c), at(2, d)]]],
    lines: [
      invoke(a, 1),
      ...frame(d, 2),
      invoke(b, 2),
      'Program log: b',
      invoke(c, 3),
      'Program log: c',
      truncated,
      'Program log: after',
      success(c),
      success(b),
    ],
  });
  expect(calls(outcome)).toEqual(['0 a!', '0.0 d', '0.1 b!', '0.1.0 c!', '0.2 d!', '1 d!']);
  expect(logs(outcome)).toEqual(['4 0.1 b log b', '6 0.1.0 c log c']);
  expect(isFlagged(outcome)).toBe(true);
  expect(outcome.counts).toMatchObject({ truncatedLogs: 1, degraded: {}, silentCalls: 0 });
});

test('behavior: the lines after a truncation mark are ignored, even if the mark is the first line', () => {
  const outcome = run({
    top: [call(a), call(b)],
    lines: [truncated, ...frame(b, 1), 'Program log: x'],
  });
  expect(calls(outcome)).toEqual(['0 a!', '1 b!']);
  expect(logs(outcome)).toEqual([]);
  expect(isFlagged(outcome)).toBe(true);
  expect(degraded(outcome)).toEqual([]);
});

test('behavior: after a failure the truncation mark flags only calls that ran', () => {
  const outcome = run({
    top: [call(a), call(b), call(c)],
    lines: [...frame(a, 1), invoke(b, 1), truncated],
    err: { InstructionError: [1, { Custom: 1 }] },
  });
  expect(calls(outcome)).toEqual(['0 a', '1 b!', '2 c']);
});

test('behavior: top-level and inner programs without lines are accepted', () => {
  const outcome = run({
    top: [call(program.ed25519), call(a), call(program.computeBudget), call(d)],
    inner: [[1, [at(2, program.ed25519), at(2, b), at(2, program.system)]]],
    lines: frame(a, 1, frame(b, 2)),
  });
  expect(calls(outcome)).toEqual([
    '0 ed25519!',
    '1 a',
    '1.0 ed25519!',
    '1.1 b',
    '1.2 system!',
    '2 computeBudget!',
    '3 d!',
  ]);
  // Only programs outside the configured set are counted: the system program and d.
  expect(outcome.counts).toMatchObject({ silentCalls: 2, skippedLines: 0, degraded: {} });
  expect(isFlagged(outcome)).toBe(false);
});

test('behavior: the set of excused programs is configurable and only affects counters', () => {
  const parts = { top: [call(program.ed25519), call(a)], lines: frame(a, 1) };
  const excused = run(parts);
  const strict = run(parts, { excusedPrograms: [] });
  expect(strict.block).toEqual(excused.block);
  expect([excused.counts.silentCalls, strict.counts.silentCalls]).toEqual([0, 1]);
});

test('behavior: each error that is raised before an invoke explains why the last call has no lines', () => {
  const names = [
    'AccountNotExecutable',
    'CallDepth',
    'MissingAccount',
    'NotEnoughAccountKeys',
    'ReentrancyNotAllowed',
    'UnsupportedProgramId',
    'MaxInstructionTraceLengthExceeded',
  ];
  for (const name of names) {
    const inner = run({
      inner: [[0, [at(2, b), at(2, c)]]],
      lines: [invoke(a, 1), ...frame(b, 2), failed(a, name)],
      err: { InstructionError: [0, name] },
    });
    expect(calls(inner), name).toEqual(['0 a', '0.0 b', '0.1 c!']);
    expect(inner.block.instructions.map((i) => i.error)).toEqual([name, null, null]);
    expect(inner.counts.silentCalls).toBe(0);
    const top = run({
      top: [call(a), call(b), call(c)],
      lines: frame(a, 1),
      err: { InstructionError: [1, name] },
    });
    expect(calls(top), name).toEqual(['0 a', '1 b!', '2 c']);
    expect(top.counts).toMatchObject({ silentCalls: 0, degraded: {} });
  }
  // A missing line is counted if the error is another one, and if the call is not the last one.
  const other = run({ lines: [], err: { InstructionError: [0, 'InvalidArgument'] } });
  expect(other.counts.silentCalls).toBe(1);
  const earlier = run({
    inner: [[0, [at(2, d), at(2, c)]]],
    lines: [invoke(a, 1), failed(a, 'x')],
    err: { InstructionError: [0, 'CallDepth'] },
  });
  expect(earlier.counts.silentCalls).toBe(1);
});

test('behavior: the first, a middle or the last instruction may fail', () => {
  const programs = [a, b, c];
  for (const index of [0, 1, 2]) {
    const outcome = run({
      top: programs.map((id) => call(id)),
      lines: [
        ...programs.slice(0, index).flatMap((id) => frame(id, 1)),
        invoke(programs[index] as string, 1),
        'Program log: sorry',
        consumed(programs[index] as string, 7),
        failed(programs[index] as string, 'custom program error: 0x1771'),
      ],
      err: { InstructionError: [index, { Custom: 6001 }] },
    });
    expect(calls(outcome)).toEqual(['0 a', '1 b', '2 c']);
    const errors = outcome.block.instructions.map((i) => i.error);
    expect(errors).toEqual(
      programs.map((_, i) => (i === index ? 'custom program error: 0x1771' : null)),
    );
    expect(outcome.block.instructions.map((i) => i.isCommitted)).toEqual([false, false, false]);
    expect(outcome.block.logs.map((log) => log.instructionAddress)).toEqual([[index]]);
    expect(isFlagged(outcome)).toBe(false);
  }
});

test('behavior: a failing call marks itself and its ancestors', () => {
  const outcome = run({
    inner: [[0, [at(2, d), at(2, b), at(3, c)]]],
    lines: [
      invoke(a, 1),
      ...frame(d, 2),
      invoke(b, 2),
      invoke(c, 3),
      failed(c, 'deep'),
      failed(b, 'deep'),
      failed(a, 'deep'),
    ],
    err: { InstructionError: [0, { Custom: 1 }] },
  });
  expect(calls(outcome)).toEqual(['0 a', '0.0 d', '0.1 b', '0.1.0 c']);
  expect(outcome.block.instructions.map((i) => i.error)).toEqual(['deep', null, 'deep', 'deep']);
});

test('behavior: a transaction that only paid its fee ran nothing and is complete', () => {
  for (const lines of [null, []]) {
    const outcome = run({ top: [call(a), call(b)], lines, err: 'ProgramAccountNotFound' });
    expect(calls(outcome)).toEqual(['0 a', '1 b']);
    expect(isFlagged(outcome)).toBe(false);
    expect(outcome.counts).toMatchObject({ withoutLog: 0, silentCalls: 0 });
    expect(outcome.block.transactions[0]?.err).toBe('{"ProgramAccountNotFound":null}');
  }
});

test('behavior: an error about rent after a full run changes no record', () => {
  const outcome = run({
    top: [call(a), call(b)],
    lines: [...frame(a, 1, ['Program log: x']), ...frame(b, 1)],
    err: { InsufficientFundsForRent: { account_index: 1 } },
  });
  expect(calls(outcome)).toEqual(['0 a', '1 b']);
  expect(outcome.block.logs).toHaveLength(1);
  expect(outcome.block.instructions.every((i) => i.isCommitted === false)).toBe(true);
  expect(isFlagged(outcome)).toBe(false);
});

test('behavior: without logs, calls that ran are flagged and get addresses from their heights', () => {
  const outcome = run({
    top: [call(a), call(b), call(c)],
    inner: [[0, [at(2, b), at(3, c)]]],
    lines: null,
    err: { InstructionError: [1, { Custom: 1 }] },
  });
  expect(calls(outcome)).toEqual(['0 a!', '0.0 b!', '0.0.0 c!', '1 b!', '2 c']);
  expect(isFlagged(outcome)).toBe(true);
  expect(outcome.counts).toMatchObject({ withoutLog: 1, missingLogs: 0, degraded: {} });
});

test('behavior: an empty log is incomplete if the programs usually print lines', () => {
  const outcome = run({ inner: [[0, [at(2, b)]]], lines: [] });
  expect(calls(outcome)).toEqual(['0 a!', '0.0 b!']);
  expect(isFlagged(outcome)).toBe(true);
  const silent = run({ top: [call(program.ed25519), call(program.computeBudget)], lines: [] });
  expect(calls(silent)).toEqual(['0 ed25519!', '1 computeBudget!']);
  expect(isFlagged(silent)).toBe(false);
  expect(silent.counts.silentCalls).toBe(0);
});

test('behavior: a log with nested invokes is discarded if inner instructions were not recorded', () => {
  const outcome = run({ inner: null, lines: frame(a, 1, frame(b, 2)) });
  expectDegraded(outcome, 'call-missing', ['0 a!']);
  const flat = run({ inner: null, lines: frame(a, 1, ['Program log: x']) });
  expect(logs(flat)).toEqual(['1 0 a log x']);
});

test('behavior: lines of 2020 belong to no frame, so they are skipped and counted', () => {
  const outcome = run({
    top: [call(a), call(b)],
    lines: [`Call BPF program ${a}`, 'Program log: hello', `BPF program ${a} success`],
  });
  expect(calls(outcome)).toEqual(['0 a!', '1 b!']);
  expect(logs(outcome)).toEqual([]);
  expect(isFlagged(outcome)).toBe(true);
  expect(outcome.counts).toMatchObject({ skippedLines: 3, silentCalls: 2, degraded: {} });
});

test('behavior: a log that contradicts the calls is discarded, and the other logs of the block are kept', () => {
  const inner = [[0, [at(2, b)]]] as const;
  const whole = ['0 a!', '0.0 b!'];
  const cases: readonly (readonly [LogMismatch, readonly string[]])[] = [
    ['call-missing', frame(a, 1, [...frame(b, 2), ...frame(c, 2)])],
    ['lines-left', [...frame(a, 1, frame(b, 2)), ...frame(c, 1)]],
    ['depth-differs', frame(a, 2, frame(b, 2))],
    ['depth-differs', frame(a, 1, frame(b, 3))],
    ['consumed-by-another', frame(a, 1, [...frame(b, 2), consumed(c, 5)])],
    ['result-of-another', [invoke(a, 1), ...frame(b, 2), success(c)]],
    ['result-of-another', [invoke(a, 1), ...frame(b, 2), failed(b, 'x')]],
    ['ends-in-frame', [invoke(a, 1), ...frame(b, 2)]],
    ['ends-in-frame', [invoke(a, 1), 'Program log: x']],
    ['lines-left', [...frame(a, 1, frame(b, 2)), 'Program log: trailing']],
    ['lines-left', [success(a), ...frame(a, 1, frame(b, 2))]],
  ];
  for (const [how, lines] of cases) {
    const raw = (first: readonly string[]) =>
      rawBlock(
        [frame(d, 1, ['Program log: before']), first, frame(d, 1, ['Program log: after'])].map(
          (logMessages, i) =>
            rawTransaction({
              instructions: [call(i === 1 ? a : d)],
              meta: {
                logMessages,
                innerInstructions:
                  i === 1 ? inner.map(([index, instructions]) => ({ index, instructions })) : [],
              },
            }),
        ),
      );
    const outcome = normalize(raw(lines));
    expect(outcome.counts.degraded, lines.join('\n')).toEqual({ [how]: 1 });
    expect(calls(outcome)).toEqual(['0 d', ...whole, '0 d']);
    expect(logs(outcome)).toEqual(['1 0 d log before', '1 0 d log after']);
    expect(outcome.block.transactions.map((t) => t.hasDroppedLogMessages)).toEqual([
      false,
      true,
      false,
    ]);
  }
});

test('behavior: a call without an invoke line counts as a call of a program that prints no lines', () => {
  const outcome = run({ inner: [[0, [at(2, b), at(2, c)]]], lines: frame(a, 1, frame(c, 2)) });
  expect(calls(outcome)).toEqual(['0 a', '0.0 b!', '0.1 c']);
  expect(outcome.counts).toMatchObject({ silentCalls: 1, degraded: {} });
});

test('behavior: a log whose nesting contradicts a height is discarded', () => {
  const outcome = run({
    inner: [[0, [at(2, b), at(2, c)]]],
    lines: frame(a, 1, frame(b, 2, frame(c, 3))),
  });
  expectDegraded(outcome, 'height-differs', ['0 a!', '0.0 b!', '0.1 c!']);
});

test('behavior: a log is discarded if an instruction that never ran has inner calls', () => {
  const outcome = run({
    top: [call(a), call(b), call(c)],
    inner: [[1, [at(2, d)]]],
    lines: [invoke(a, 1), failed(a, 'x')],
    err: { InstructionError: [0, { Custom: 1 }] },
  });
  expectDegraded(outcome, 'inner-after-failure', ['0 a!', '1 b!', '1.0 d!', '2 c']);
});

test('behavior: units beyond 2^53 keep every digit', () => {
  const outcome = run({ lines: frame(a, 1, [consumed(a, '18446744073709551615')]) });
  expect(outcome.block.instructions[0]?.computeUnitsConsumed).toBe(2n ** 64n - 1n);
});

test('behavior: an index of InstructionError beyond the list means that everything ran', () => {
  for (const index of [1, 7]) {
    const outcome = run({ lines: frame(a, 1), err: { InstructionError: [index, 'X'] } });
    expect(calls(outcome)).toEqual(['0 a']);
  }
  for (const cause of [['x', 'Y'], [], 'text', [-1, 'Z'], null]) {
    const outcome = run({ lines: frame(a, 1), err: { InstructionError: cause } });
    expect(calls(outcome)).toEqual(['0 a']);
  }
});
