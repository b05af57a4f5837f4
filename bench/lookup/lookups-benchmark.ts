/** Measures how much clients that look up unknown signatures delay followers at the head. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Benchmark, quantilesOf } from '../benchmark.ts';
import { readArgs, readCount } from '../read-args.ts';
import { chooseFollowerQueries } from '../service/choose-follower-queries.ts';
import { FollowerLoad } from '../service/follower-load.ts';
import { Histogram } from '../service/histogram.ts';
import { datasetName, ServiceProcess, SimulatorProcess } from '../service/processes.ts';
import { describeLatencies, verdict } from '../service/report.ts';
import { ScenarioFailure } from '../service/scenario.ts';
import type { ClientsOptions, ClientsReport } from './lookup-clients.ts';

const text = { type: 'string' } as const;
const profile = '2025';
const queryCount = 50;
const answerBytesGoal = 20_000;
/** A dataset starts with a finalized block, which is some 32 slots below the newest confirmed one. */
const historyMin = 50;
/** Cold code is not representative. */
const warmSeconds = 5;
/** The largest change of the 99th percentile that lookups may cause. */
const ratioMax = 1.2;

export const lookupsBenchmark: Benchmark = {
  name: 'lookups',
  summary:
    'freshness of followers at the head, with and without clients that look up unknown signatures',
  options: [
    '--followers N    streams at the head (default 100)',
    '--clients N      clients that send unknown signatures without a pause (default 64)',
    '--rounds N       how often both are measured, in turns (default 5)',
    '--seconds N      duration of each measurement (default 6)',
    '--history N      stored blocks before the measurement, at least 50 (default 300)',
    '--seed N         seed of the simulated ledger (default 1)',
    '--json FILE      writes the figures as a list of { name, size, value, unit }',
  ],
  async run(print, args) {
    const names = ['followers', 'clients', 'rounds', 'seconds', 'history', 'seed', 'json'] as const;
    const given = readArgs(args, Object.fromEntries(names.map((name) => [name, text])));
    const count = (name: string, fallback: number, min = 1) =>
      readCount(name, given[name], { fallback, min });
    const figures = await measure({
      followerCount: count('followers', 100),
      clientCount: count('clients', 64),
      roundCount: count('rounds', 5),
      seconds: count('seconds', 6),
      blockCount: count('history', 300, historyMin),
      seed: count('seed', 1, 0),
      print,
    });
    if (given['json'] !== undefined) await writeFile(given['json'], `${JSON.stringify(figures)}\n`);
  },
};

interface LookupsOptions {
  readonly followerCount: number;
  readonly clientCount: number;
  readonly roundCount: number;
  readonly seconds: number;
  readonly blockCount: number;
  readonly seed: number;
  readonly print: (line: string) => void;
}

interface Figure {
  readonly name: string;
  readonly size: number;
  readonly value: number;
  readonly unit: string;
}

async function measure(options: LookupsOptions): Promise<readonly Figure[]> {
  const { seed, blockCount, followerCount } = options;
  const queries = chooseFollowerQueries({ seed, profile }, { count: queryCount, answerBytesGoal });
  const folder = await mkdtemp(join(tmpdir(), 'sluice-bench-'));
  const startSlot = blockCount + 1_000;
  const simulator = await SimulatorProcess.start({ seed, profile, startSlot });
  // The newest confirmed block is some slots below the head at which the node's time is paused.
  const from = (await simulator.confirmedSlot()) - blockCount;
  const service = await ServiceProcess.follow(folder, simulator.rpcUrl, { from });
  const clients = new LookupClients(service.port, options.clientCount);
  let load: FollowerLoad | undefined;
  try {
    await service.untilAt(await simulator.confirmedSlot());
    load = new FollowerLoad(
      { port: service.port, followerCount, queries },
      {
        clock: await simulator.resume(),
        head: () => service.head(),
        progress: (line) => void process.stderr.write(`lookups: ${line}\n`),
      },
    );
    await load.open();
    await load.measure(warmSeconds);
    const followers = load;
    await clients.during(() => followers.measure(warmSeconds));
    return report(await alternate(followers, clients, options), options);
  } finally {
    load?.close();
    await clients.close();
    await service.process.stop();
    await simulator.process.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Measured {
  readonly quiet: Histogram;
  readonly busy: Histogram;
  readonly reports: readonly ClientsReport[];
}

/** Measures both in turns, so that a change of the machine's load affects both. */
async function alternate(
  load: FollowerLoad,
  clients: LookupClients,
  { roundCount, seconds }: LookupsOptions,
): Promise<Measured> {
  const [quiet, busy] = [new Histogram(), new Histogram()];
  const reports: ClientsReport[] = [];
  for (let round = 0; round < roundCount; round++) {
    quiet.addAll((await load.measure(seconds)).latencyMs);
    const { result, report } = await clients.during(() => load.measure(seconds));
    busy.addAll(result.latencyMs);
    reports.push(report);
  }
  return { quiet, busy, reports };
}

function report(
  { quiet, busy, reports }: Measured,
  { print, followerCount, clientCount, roundCount, seconds, blockCount }: LookupsOptions,
): readonly Figure[] {
  const latencies = reports.flatMap(({ latenciesMs }) => latenciesMs);
  const refusedCount = reports.reduce((sum, { refusedCount: count }) => sum + count, 0);
  const ratio = busy.quantile(0.99) / quiet.quantile(0.99);
  const { p50, p95 } = quantilesOf(latencies);
  const perSecond = latencies.length / (roundCount * seconds);
  print(`${followerCount} followers, ${blockCount} blocks stored before`);
  print(`  without lookups          ${describeLatencies(quiet)}`);
  print(`  with ${clientCount} clients`.padEnd(27) + describeLatencies(busy));
  print(
    `  p99 ${ratio.toFixed(2)} × without lookups · ${verdict(ratio, ratioMax, `of ${ratioMax}`)}`,
  );
  print(
    `  lookups ${perSecond.toFixed(0)}/s, p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms; ${refusedCount} refused with 503`,
  );
  const size = blockCount;
  return [
    { name: 'follower-p99-ms', size, value: quiet.quantile(0.99), unit: 'ms' },
    { name: 'follower-p99-with-lookups-ms', size, value: busy.quantile(0.99), unit: 'ms' },
    { name: 'follower-p99-ratio', size, value: ratio, unit: 'ratio' },
    { name: 'unknown-signature-ms', size, value: p50, unit: 'ms' },
    { name: 'lookups-per-second', size, value: perSecond, unit: '1/s' },
  ];
}

/** Clients in a thread of their own, so that their work does not delay the followers of this process. */
class LookupClients {
  readonly #worker: Worker;

  constructor(port: number, clientCount: number) {
    const workerData: ClientsOptions = { port, dataset: datasetName, clientCount };
    this.#worker = new Worker(new URL('./lookup-clients.js', import.meta.url), { workerData });
  }

  /** Runs the clients while the work is done. */
  async during<Result>(
    work: () => Promise<Result>,
  ): Promise<{ readonly result: Result; readonly report: ClientsReport }> {
    this.#worker.postMessage('start');
    const result = await work();
    const reported = once(this.#worker, 'message');
    this.#worker.postMessage('pause');
    const [report] = (await reported) as [ClientsReport];
    const [wrong] = report.wrongStatuses;
    if (wrong !== undefined)
      throw new ScenarioFailure(`an unknown signature was answered with ${wrong}`);
    return { result, report };
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}
