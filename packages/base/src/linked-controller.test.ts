import { getEventListeners } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { linkedController } from './linked-controller.ts';
import { collectGarbage } from './memory/collect-garbage.ts';

test('behavior: a linked controller aborts with the signal, at once if that has aborted, and also by itself', () => {
  const outer = new AbortController();
  const [first, second] = [linkedController(outer.signal), linkedController(outer.signal)];
  first.abort();
  expect([first.signal.aborted, second.signal.aborted, outer.signal.aborted]).toEqual([
    ...[true, false, false],
  ]);
  expect(getEventListeners(outer.signal, 'abort')).toHaveLength(1);
  outer.abort();
  expect(second.signal.aborted).toBe(true);
  expect(linkedController(outer.signal).signal.aborted).toBe(true);
});

/** Everything is created in a separate function, so that the stack frame of the test never references it. */
function listenAndDrop(): WeakRef<object> {
  const outer = new AbortController();
  const { signal } = linkedController(outer.signal);
  linkedController(signal).abort();
  const listener = { outer };
  signal.addEventListener('abort', () => listener);
  return new WeakRef(listener);
}

test('behavior: listeners of a linked controller are freed with it, although nothing has aborted', async () => {
  const listener = listenAndDrop();
  await setImmediate();
  collectGarbage();
  expect(listener.deref()).toBe(undefined);
});
