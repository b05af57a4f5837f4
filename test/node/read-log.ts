/** Matches a transaction's log with its calls, in the simplest way that works for a current node. */
import assert from 'node:assert/strict';

export interface LoggedCall {
  readonly program: string;
  readonly height: number;
  readonly path: readonly bigint[];
  /** False for instructions after a failure. */
  readonly ran: boolean;
}

export interface ReadCall {
  error: string | null;
  units: bigint | null;
  /** Whether its result line was found. */
  isClosed: boolean;
}

export interface ReadLine {
  readonly logIndex: bigint;
  readonly call: LoggedCall;
  readonly kind: 'log' | 'data' | 'other';
  readonly message: string;
}

export interface ReadLog {
  readonly calls: ReadonlyMap<LoggedCall, ReadCall>;
  readonly lines: readonly ReadLine[];
  readonly isCut: boolean;
}

const ID = '([1-9A-HJ-NP-Za-km-z]{32,44})';
const INVOKE = new RegExp(`^Program ${ID} invoke \\[(\\d+)\\]$`, 's');
const RESULT = new RegExp(`^Program ${ID} (?:success|failed: (.*))$`, 's');
const UNITS = new RegExp(`^Program ${ID} consumed (\\d+) of \\d+ compute units$`, 's');

/** Reads a log. `calls` must be in execution order. */
export function readLog(calls: readonly LoggedCall[], log: readonly string[]): ReadLog {
  const read = new Map(
    calls.map((call): [LoggedCall, ReadCall] => [
      call,
      { error: null, units: null, isClosed: false },
    ]),
  );
  const lines: ReadLine[] = [];
  const open: LoggedCall[] = [];
  let next = 0;
  for (const [i, line] of log.entries()) {
    if (line === 'Log truncated') return { calls: read, lines, isCut: true };
    const invoke = INVOKE.exec(line);
    if (invoke) {
      // Skips programs that print nothing, and calls that failed before they started.
      const isMeant = ({ program, height }: LoggedCall) =>
        program === invoke[1] && height === Number(invoke[2]);
      const at = calls.findIndex((call, place) => place >= next && isMeant(call));
      assert(at >= 0, `a call is recorded for the line "${line}"`);
      assert.equal(open.length, Number(invoke[2]) - 1, `depth at "${line}"`);
      open.push(calls[at] as LoggedCall);
      next = at + 1;
      continue;
    }
    const call = open.at(-1);
    assert(call !== undefined, `a program runs at the line "${line}"`);
    const state = read.get(call) as ReadCall;
    const result = RESULT.exec(line);
    const units = UNITS.exec(line);
    if (result) {
      assert.equal(result[1], call.program);
      Object.assign(state, { error: result[2] ?? null, isClosed: true });
      open.pop();
    } else if (units) {
      state.units = BigInt(units[2] as string);
    } else {
      lines.push({ logIndex: BigInt(i), call, ...classify(line) });
    }
  }
  assert.deepEqual(open, [], 'every program that began ended');
  return { calls: read, lines, isCut: false };
}

function classify(line: string): Pick<ReadLine, 'kind' | 'message'> {
  for (const kind of ['log', 'data'] as const) {
    const prefix = `Program ${kind}: `;
    if (line.startsWith(prefix)) return { kind, message: line.slice(prefix.length) };
  }
  return { kind: 'other', message: line };
}
