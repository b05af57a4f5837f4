import { expect, test } from 'vitest';
import { Gate, type Urgency } from './gate.ts';

/** Starts operations in order. Each ends when `end` is called with its index. */
function start(gate: Gate, urgencies: readonly Urgency[]) {
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const passing = urgencies.map((urgency, i) =>
    gate.pass(urgency, () => {
      started.push(i);
      return new Promise<void>((resolve) => {
        ends[i] = resolve;
      });
    }),
  );
  const end = async (i: number) => {
    ends[i]?.();
    await passing[i];
    // The next operation starts in the following microtasks.
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { started, end };
}

test('limit: operations in advance leave slots free for callers that wait', async () => {
  const { started, end } = start(new Gate(4), ['ahead', 'ahead', 'ahead', 'ahead', 'now', 'now']);
  expect(started).toEqual([0, 1, 2, 4]);
  await end(0);
  expect(started).toEqual([0, 1, 2, 4, 5]);
  await end(4);
  expect(started).toEqual([0, 1, 2, 4, 5, 3]);
});

test('behavior: a caller that waits overtakes operations in advance, and a failure frees the slot', async () => {
  const gate = new Gate(1);
  const failing = gate.pass('now', () => Promise.reject(new RangeError('no')));
  const { started, end } = start(gate, ['ahead', 'now', 'now']);
  await expect(failing).rejects.toThrow('no');
  await new Promise((resolve) => setImmediate(resolve));
  expect(started).toEqual([1]);
  await end(1);
  await end(2);
  expect(started).toEqual([1, 2, 0]);
});
