import type { Client } from '@sluice/client';
import { expect, test } from 'vitest';
import { compareDatasets } from './compare-datasets.ts';

test('behavior: steps end where the stored sums of digests end', async () => {
  const steps: [from: number, to: number][] = [];
  const client = {
    metadata: async () => ({ start_block: 100_000 }),
    finalizedHead: async () => ({ number: 200_000, hash: 'a' }),
    digest: async ({ from, to }: { from: number; to: number }) => {
      steps.push([from, to]);
      return { version: 1, digest: 'same', blocks: to - from + 1 };
    },
  } as unknown as Client;
  const { signal } = new AbortController();
  const options = { range: {}, onEqual: () => undefined, signal };
  const { blocks, difference } = await compareDatasets([client, client], options);
  expect([blocks, difference]).toEqual([100_001, undefined]);
  expect(steps.filter((_, i) => i % 2 === 0)).toEqual([
    [100_000, 131_071],
    [131_072, 196_607],
    [196_608, 200_000],
  ]);
});
