import { systemClock } from '@sluice/base/clock';
import { expect, test } from 'vitest';
import { repeatStart } from './run-sync.ts';

test('behavior: the start is repeated until it succeeds, and ends when the command is stopped', async () => {
  const stop = new AbortController();
  let count = 0;
  const options = {
    waitMsMax: 5_000,
    isTransient: () => true,
    onFailure: () => stop.abort(),
    clock: systemClock,
    signal: stop.signal,
  };
  const failing = async () => {
    count++;
    throw new Error('not reachable yet');
  };
  await expect(repeatStart(failing, options)).rejects.toThrow('not reachable yet');
  expect(count).toBe(1);
  const once = async () => {
    if (count++ === 1) throw new Error('not reachable yet');
    return 'started';
  };
  const patient = { ...options, signal: new AbortController().signal };
  expect(await repeatStart(once, patient)).toBe('started');
});
