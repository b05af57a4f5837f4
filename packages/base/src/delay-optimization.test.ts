import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { optimizesInOneStep } from './delay-optimization.ts';
import { workerUrl } from './worker-url.ts';

/**
 * Calls a function as often as needed for V8 to optimize it by default. Another thread of V8 optimizes it and nothing reports when it is
 * done, or that there is nothing to do, so the last call comes after a pause.
 */
const calls = `
  function sumOf(count) {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += i % 7;
    return sum;
  }
  for (let i = 0; i < 1_000; i++) sumOf(10);
  setTimeout(() => sumOf(10), 100);
`;

function isOptimized(preamble: string): boolean {
  const args = ['--trace-opt', '--input-type=module', '-e', `${preamble}${calls}`];
  const output = execFileSync(process.execPath, args, { encoding: 'utf8' });
  return output.includes('completed optimizing') && output.includes('<JSFunction sumOf ');
}

test.skipIf(!optimizesInOneStep)(
  'behavior: a function is optimized later than by default, until the default is restored',
  () => {
    const path = fileURLToPath(workerUrl(import.meta.url, './delay-optimization.ts'));
    const names = '{ delayOptimization, restoreOptimization }';
    const delay = `import ${names} from ${JSON.stringify(path)}; delayOptimization();`;
    expect(isOptimized('')).toBe(true);
    expect(isOptimized(delay)).toBe(false);
    expect(isOptimized(`${delay} restoreOptimization();`)).toBe(true);
  },
);
