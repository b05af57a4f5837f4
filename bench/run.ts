/** `npm run bench -- NAME…` runs benchmarks by name; without a name, all of them. */
import { arrowBenchmark } from './arrow.ts';
import { arrowHttpBenchmark } from './arrow-http.ts';
import { arrowLz4Benchmark } from './arrow-lz4.ts';
import { type Benchmark, UsageFailure } from './benchmark.ts';
import { binaryImportBenchmark } from './binary-import.ts';
import { clientBenchmark } from './client/client-benchmark.ts';
import { decodingBenchmark } from './decoding.ts';
import { deflateBenchmark } from './deflate.ts';
import { exportBenchmark } from './export.ts';
import { firstScanBenchmark } from './first-scan/first-scan-benchmark.ts';
import { historyBenchmark } from './history/history-benchmark.ts';
import { lookupBenchmark } from './lookup/lookup-benchmark.ts';
import { lookupsBenchmark } from './lookup/lookups-benchmark.ts';
import { normalizeBenchmark } from './normalize.ts';
import { mergesBenchmark } from './service/merges-benchmark.ts';
import { serviceBenchmark } from './service/service-benchmark.ts';
import { simulatorBenchmark } from './simulator/simulator-benchmark.ts';
import { sourcesBenchmark } from './sources-benchmark.ts';
import { syncBenchmark } from './sync-benchmark.ts';

const benchmarks: readonly Benchmark[] = [
  normalizeBenchmark,
  simulatorBenchmark,
  deflateBenchmark,
  arrowBenchmark,
  arrowHttpBenchmark,
  arrowLz4Benchmark,
  decodingBenchmark,
  exportBenchmark,
  firstScanBenchmark,
  serviceBenchmark,
  lookupBenchmark,
  historyBenchmark,
  lookupsBenchmark,
  mergesBenchmark,
  binaryImportBenchmark,
  sourcesBenchmark,
  clientBenchmark,
  syncBenchmark,
];

const help = [
  'Usage: npm run bench -- [NAME…] [options]',
  '',
  'Runs the named benchmarks, or all. Each prints ratios to a baseline that is measured in the same run.',
  'Options require the name of one benchmark.',
  '',
  ...benchmarks.flatMap(({ name, summary, options = [] }) => [
    `  ${name.padEnd(12)} ${summary}`,
    ...options.map((line) => `  ${' '.repeat(12)}   ${line}`),
  ]),
  '',
  '  --list       prints the names',
  '',
  'Example: npm run bench -- first-scan --blocks 100',
  '',
].join('\n');

const usageExitCode = 2;

async function main(args: readonly string[]): Promise<number> {
  const firstOption = args.findIndex((arg) => arg.startsWith('-'));
  const names = firstOption < 0 ? args : args.slice(0, firstOption);
  const options = firstOption < 0 ? [] : args.slice(firstOption);
  if (options.includes('--help') || options.includes('-h')) {
    process.stdout.write(help);
    return 0;
  }
  if (options.includes('--list')) {
    process.stdout.write(benchmarks.map(({ name }) => `${name}\n`).join(''));
    return 0;
  }
  const unknown = names.filter((name) => !benchmarks.some((known) => known.name === name));
  if (unknown.length > 0) return fail(`no benchmark is named ${unknown.join(', ')}`);
  const chosen = benchmarks.filter(({ name }) => names.length === 0 || names.includes(name));
  const withoutOptions = chosen.find((benchmark) => benchmark.options === undefined);
  if (options.length > 0 && chosen.length > 1)
    return fail('options need the name of one benchmark');
  if (options.length > 0 && withoutOptions !== undefined)
    return fail(`${withoutOptions.name} takes no options`);
  return await runAll(chosen, options);
}

async function runAll(chosen: readonly Benchmark[], options: readonly string[]): Promise<number> {
  try {
    for (const { name, summary, run } of chosen) {
      process.stdout.write(`${name}: ${summary}\n`);
      await run((line) => process.stdout.write(`  ${line}\n`), options);
    }
    return 0;
  } catch (error) {
    if (error instanceof UsageFailure) return fail(error.message);
    throw error;
  }
}

function fail(reason: string): number {
  process.stderr.write(`bench: ${reason}\n\n${help}`);
  return usageExitCode;
}

process.exitCode = await main(process.argv.slice(2));
