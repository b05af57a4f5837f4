import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { collectGarbage } from './collect-garbage.ts';

/** In functions of their own, so that this test's frame never holds what is to go. */
const makeDropped = () => new WeakRef(new Uint8Array(1 << 20));
const isThere = (reference: WeakRef<Uint8Array>) => reference.deref() !== undefined;

test('behavior: what nobody reads any more is gone at once, what somebody reads stays', async () => {
  const held = new Uint8Array(1 << 20);
  const references = [makeDropped(), new WeakRef(held)];
  // What is asked of such a reference is kept until the turn ends.
  await setImmediate();
  expect(references.map(isThere)).toEqual([true, true]);
  await setImmediate();
  collectGarbage();
  expect(references.map(isThere)).toEqual([false, true]);
  expect(held.length).toBe(1 << 20);
});
