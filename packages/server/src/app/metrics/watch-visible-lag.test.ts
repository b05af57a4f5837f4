import { expect, test } from 'vitest';
import { MemoryDataset } from '../../stream/testing/memory-dataset.ts';
import { watchVisibleLag } from './timing-metrics.ts';

test('default: the lag of each new head is reported, and nothing for changes that keep the head', async () => {
  const dataset = new MemoryDataset();
  dataset.extend([0, 1]);
  const stop = new AbortController();
  const lags: number[] = [];
  // A block of slot n has the time 1,738,368,000 + n.
  const ledgerUnixMs = () => 1_738_368_010_000;
  const observe = (seconds: number) => lags.push(seconds);
  const watching = watchVisibleLag(dataset, { ledgerUnixMs, observe }, stop.signal);
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  dataset.extend([2]);
  await settle();
  dataset.finalize(1);
  await settle();
  dataset.extend([5]);
  await settle();
  dataset.extend([20]);
  await settle();
  stop.abort();
  await watching;
  expect(lags).toEqual([8, 5, 0]);
});
