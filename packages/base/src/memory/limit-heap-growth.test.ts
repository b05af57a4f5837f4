import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { workerUrl } from '../worker-url.ts';

/**
 * Holds about 30 MB of objects, replaces them gradually, and prints the peak heap size in megabytes. It forces a first
 * collection, because a process this short would otherwise never reach its second one.
 */
const churn = `
  const held = Array.from({ length: 300_000 }, (_, i) => ({ i, text: [i] }));
  gc();
  let most = 0;
  for (let i = 0; i < 2_000_000; i++) {
    held[(i * 7_919) % held.length] = { i, text: [i] };
    if (i % 5_000 === 0) most = Math.max(most, process.memoryUsage().heapUsed);
  }
  process.stdout.write(String(Math.round(most / 1e6)));
`;

function heapOf(preamble: string): number {
  const args = ['--expose-gc', '--input-type=module', '-e', `${preamble}${churn}`];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

test('behavior: a heap with a steady turnover of objects stays closer to its live size', () => {
  const path = fileURLToPath(workerUrl(import.meta.url, './limit-heap-growth.ts'));
  const limited = heapOf(
    `import { limitHeapGrowth } from ${JSON.stringify(path)}; limitHeapGrowth();`,
  );
  expect(limited).toBeLessThan(0.7 * heapOf(''));
});
