/** `npm run bench -- NAME…` runs benchmarks by name; without a name, all of them. */
import type { Benchmark } from './benchmark.ts';
import { normalizeBenchmark } from './normalize.ts';

const benchmarks: readonly Benchmark[] = [normalizeBenchmark];

const help = [
  'Usage: npm run bench -- [NAME…]',
  '',
  'Runs the named benchmarks, or all. Each prints ratios to a yardstick measured in the same run.',
  '',
  ...benchmarks.map(({ name, summary }) => `  ${name.padEnd(12)} ${summary}`),
  '',
  'Example: npm run bench -- normalize',
  '',
].join('\n');

const usageExitCode = 2;

async function main(names: readonly string[]): Promise<number> {
  if (names.includes('--help') || names.includes('-h')) {
    process.stdout.write(help);
    return 0;
  }
  const unknown = names.filter((name) => !benchmarks.some((known) => known.name === name));
  if (unknown.length > 0) {
    process.stderr.write(`bench: no benchmark is named ${unknown.join(', ')}\n\n${help}`);
    return usageExitCode;
  }
  const chosen = benchmarks.filter(({ name }) => names.length === 0 || names.includes(name));
  for (const { name, summary, run } of chosen) {
    process.stdout.write(`${name}: ${summary}\n`);
    await run((line) => process.stdout.write(`  ${line}\n`));
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
