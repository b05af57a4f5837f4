import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { workerUrl } from './worker-url.ts';

/** Holds some 50 MB of objects, replaces them little by little, and prints the most that its heap had, in megabytes. */
const churn = `
  const held = Array.from({ length: 400_000 }, (_, i) => ({ i, text: [i] }));
  let most = 0;
  for (let i = 0; i < 3_000_000; i++) {
    held[(i * 7_919) % held.length] = { i, text: [i] };
    if (i % 10_000 === 0) most = Math.max(most, process.memoryUsage().heapUsed);
  }
  process.stdout.write(String(Math.round(most / 1e6)));
`;

function heapOf(preamble: string): number {
  const args = ['--input-type=module', '-e', `${preamble}${churn}`];
  return Number(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

test('behavior: a heap whose objects come and go stays nearer to what it holds', () => {
  const path = fileURLToPath(workerUrl(import.meta.url, './limit-heap-growth.ts'));
  const limited = heapOf(
    `import { limitHeapGrowth } from ${JSON.stringify(path)}; limitHeapGrowth();`,
  );
  expect(limited).toBeLessThan(0.9 * heapOf(''));
});
