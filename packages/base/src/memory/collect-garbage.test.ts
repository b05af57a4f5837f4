import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { collectGarbage } from './collect-garbage.ts';

/** The object is created in a separate function, so that the stack frame of this test never references it. */
const makeDropped = () => new WeakRef(new Uint8Array(1 << 20));
const isAlive = (reference: WeakRef<Uint8Array>) => reference.deref() !== undefined;

test('behavior: unreachable objects are freed at once, reachable ones stay', async () => {
  const held = new Uint8Array(1 << 20);
  const references = [makeDropped(), new WeakRef(held)];
  // `deref` keeps its target alive until the end of the current job, so the test waits for the next one.
  await setImmediate();
  expect(references.map(isAlive)).toEqual([true, true]);
  await setImmediate();
  collectGarbage();
  expect(references.map(isAlive)).toEqual([false, true]);
  expect(held.length).toBe(1 << 20);
});
