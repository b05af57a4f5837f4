import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Benchmark } from '../benchmark.ts';
import { everythingScenario } from './everything.ts';
import { crowdScenario, freshnessScenario, pushedScenario } from './freshness.ts';
import { importScenario } from './import.ts';
import { liveScenario } from './live.ts';
import { parseOptions } from './options.ts';
import { rpcScenario } from './rpc.ts';
import type { Scenario } from './scenario.ts';
import { startScenario } from './start.ts';

const scenarios: readonly Scenario[] = [
  importScenario,
  rpcScenario,
  liveScenario,
  freshnessScenario,
  pushedScenario,
  crowdScenario,
  everythingScenario,
  startScenario,
];

/** Measures the whole service with real processes, each figure with its goal or baseline. */
export const serviceBenchmark: Benchmark = {
  name: 'service',
  summary: 'the service as a separate process, compared with its goals and baselines',
  options: [
    '--scenarios A,B  which of these (default all):',
    ...scenarios.map(({ name, summary }) => `  ${name.padEnd(12)} ${summary}`),
    '--seconds N      duration of each scenario, except import and rpc, which end by themselves (default 60)',
    '--seed N         seed of the simulated ledger (default 1)',
  ],
  async run(print, args) {
    const known = scenarios.map(({ name }) => name);
    const options = parseOptions(args, known);
    for (const { name, summary, run } of scenarios) {
      if (options.scenarios?.includes(name) === false) continue;
      print(`${name}: ${summary} (seed ${options.seed})`);
      const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
      const progress = (text: string) => void process.stderr.write(`${name}: ${text}\n`);
      try {
        await run({ options, folder, print: (line) => print(`  ${line}`), progress });
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    }
  },
};
