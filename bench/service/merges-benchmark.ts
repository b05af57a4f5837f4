/** Measures how much the merges of segments in the background delay followers at the head. */
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Benchmark } from '../benchmark.ts';
import { makeDataset } from '../lookup/make-dataset.ts';
import { readArgs, readCount } from '../read-args.ts';
import { chooseFollowerQueries } from './choose-follower-queries.ts';
import { FollowerLoad } from './follower-load.ts';
import { Histogram } from './histogram.ts';
import { ServiceProcess, SimulatorProcess } from './processes.ts';
import { describeLatencies, verdict } from './report.ts';
import { ScenarioFailure } from './scenario.ts';
import { prepareStoredData } from './stored-data.ts';

const text = { type: 'string' } as const;
const profile = '2025';
const queryCount = 50;
const answerBytesGoal = 20_000;
/** Cold code is not representative. */
const warmSeconds = 5;
/** The largest change of the 99th percentile that merges may cause. */
const ratioMax = 1.1;
/** The rest of a merge takes no longer than this. */
const mergeSecondsMax = 300;
/** So many segments of this size fill a merged one. */
const segmentsPerMerge = 8;
/** The dataset whose segments are merged, beside the one that is followed. */
const historyName = 'history';
/** About 32 MB a segment, as sealing makes them. */
const segmentShape = {
  transactionsPerBlock: 1_000,
  blocksPerSegment: 60,
  signaturesPerTransaction: 1,
  newAccountsPerTransaction: 2,
  logBytesPerTransaction: 300,
  mergeBytes: 1,
};

export const mergesBenchmark: Benchmark = {
  name: 'merges',
  summary: 'freshness of followers at the head, with and without merges of segments',
  options: [
    '--followers N    streams at the head (default 100)',
    '--segments N     segments of about 32 MB that are merged beside it, at least 8 (default 16)',
    '--rounds N       how often both are measured, in turns, each with a new service (default 3)',
    '--seconds N      duration of each measurement (default 20)',
    '--seed N         seed of the simulated ledger (default 1)',
    '--json FILE      writes the figures as a list of { name, size, value, unit }',
  ],
  async run(print, args) {
    const names = ['followers', 'segments', 'rounds', 'seconds', 'seed', 'json'] as const;
    const given = readArgs(args, Object.fromEntries(names.map((name) => [name, text])));
    const count = (name: string, fallback: number, min = 1) =>
      readCount(name, given[name], { fallback, min });
    const seconds = count('seconds', 20);
    const segmentCount = count('segments', 16, 8);
    const figures = await measure({
      followerCount: count('followers', 100),
      segmentCount,
      roundCount: count('rounds', 3),
      seconds,
      seed: count('seed', 1, 0),
      print,
    });
    if (given['json'] !== undefined) await writeFile(given['json'], `${JSON.stringify(figures)}\n`);
  },
};

interface MergesOptions {
  readonly followerCount: number;
  readonly segmentCount: number;
  readonly roundCount: number;
  readonly seconds: number;
  readonly seed: number;
  readonly print: (line: string) => void;
}

/** Measures both in turns, so that a change of the machine's load affects both. */
async function measure(options: MergesOptions): Promise<readonly object[]> {
  const { seed, segmentCount, roundCount } = options;
  const stored = await prepareStoredData({
    name: `merges-${segmentCount}`,
    seed,
    make: (draft) => makeDataset(draft, { ...segmentShape, name: historyName, segmentCount, seed }),
  });
  const [without, withMerges] = [new Histogram(), new Histogram()];
  for (let round = 0; round < roundCount; round++) {
    without.addAll(await measureFollowers(options, undefined));
    withMerges.addAll(await measureFollowers(options, stored));
  }
  return report({ without, withMerges }, options);
}

/** Measures followers of a new service, which also has this stored data. */
async function measureFollowers(
  { seed, followerCount, segmentCount, seconds }: MergesOptions,
  stored: string | undefined,
): Promise<Histogram> {
  const queries = chooseFollowerQueries({ seed, profile }, { count: queryCount, answerBytesGoal });
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  if (stored !== undefined) await cp(stored, folder, { recursive: true });
  const simulator = await SimulatorProcess.start({ seed, profile });
  const service = await ServiceProcess.follow(folder, simulator.rpcUrl);
  let load: FollowerLoad | undefined;
  try {
    await service.untilAt(await simulator.confirmedSlot());
    load = new FollowerLoad(
      { port: service.port, followerCount, queries },
      {
        clock: await simulator.resume(),
        head: () => service.head(),
        progress: (line) => void process.stderr.write(`merges: ${line}\n`),
      },
    );
    await load.open();
    await load.measure(warmSeconds);
    const { latencyMs } = await load.measure(seconds);
    if (stored !== undefined) await checkIsMerging(service, segmentCount);
    return latencyMs;
  } finally {
    load?.close();
    await service.process.stop();
    await simulator.process.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Fails unless a merge was in progress at the end of the measurement: it must not be done, and it must end soon. */
async function checkIsMerging(service: ServiceProcess, segmentCount: number): Promise<void> {
  const name = `sluice_dataset_merge_seconds_count\\{dataset="${historyName}"\\}`;
  const doneCount = (await service.metric(name)) ?? 0;
  if (doneCount >= Math.floor(segmentCount / segmentsPerMerge))
    throw new ScenarioFailure(
      'all segments were merged before the end; give more --segments or fewer --seconds',
    );
  for (let waited = 0; waited < mergeSecondsMax; waited++) {
    if (((await service.metric(name)) ?? 0) > doneCount) return;
    await sleep(1_000);
  }
  throw new ScenarioFailure(`no merge ended within ${mergeSecondsMax} s`);
}

function report(
  { without, withMerges }: { readonly without: Histogram; readonly withMerges: Histogram },
  { print, followerCount, segmentCount }: MergesOptions,
): readonly object[] {
  const ratio = withMerges.quantile(0.99) / without.quantile(0.99);
  print(`${followerCount} followers beside the merge of ${segmentCount} segments`);
  print(`  without merges  ${describeLatencies(without)}`);
  print(`  with merges     ${describeLatencies(withMerges)}`);
  print(
    `  p99 ${ratio.toFixed(2)} × without merges · ${verdict(ratio, ratioMax, `of ${ratioMax}`)}`,
  );
  const size = segmentCount;
  return [
    { name: 'follower-p99-ms', size, value: without.quantile(0.99), unit: 'ms' },
    { name: 'follower-p99-with-merges-ms', size, value: withMerges.quantile(0.99), unit: 'ms' },
    { name: 'follower-p99-ratio', size, value: ratio, unit: 'ratio' },
  ];
}
