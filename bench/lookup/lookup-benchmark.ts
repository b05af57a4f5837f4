/** Measures how long a lookup of a transaction by its signature takes in a dataset of many segments, over HTTP. */
import { createHash } from 'node:crypto';
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { type Benchmark, quantilesOf } from '../benchmark.ts';
import { readArgs, readCount } from '../read-args.ts';
import { datasetName, ServiceProcess } from '../service/processes.ts';
import { ScenarioFailure } from '../service/scenario.ts';
import { prepareStoredData } from '../service/stored-data.ts';
import { makeDataset, signatureOf } from './make-dataset.ts';

const text = { type: 'string' } as const;
const transactionsPerBlock = 40;

export const lookupBenchmark: Benchmark = {
  name: 'lookup',
  summary: 'a transaction by its signature, over HTTP, in datasets of many segments',
  options: [
    '--segments A,B   numbers of segments, of one block each (default 2000,20000)',
    '--runs N         service processes, each of which has one first lookup (default 3)',
    '--repeat N       further lookups of each kind in each process (default 10)',
    '--seed N         seed of the blocks (default 1)',
  ],
  async run(print, args) {
    const given = readArgs(args, { segments: text, runs: text, repeat: text, seed: text });
    const counts = (given.segments ?? '2000,20000').split(',');
    const runCount = readCount('runs', given.runs, { fallback: 3, min: 1 });
    const repeatCount = readCount('repeat', given.repeat, { fallback: 10, min: 1 });
    const seed = readCount('seed', given.seed, { fallback: 1, min: 0 });
    for (const count of counts) {
      const segmentCount = readCount('segments', count, { fallback: 2_000, min: 1 });
      await measure({ segmentCount, runCount, repeatCount, seed }, print);
    }
  },
};

interface LookupOptions {
  readonly segmentCount: number;
  readonly runCount: number;
  readonly repeatCount: number;
  readonly seed: number;
}

type Samples = Record<'first' | 'absent' | 'oldest' | 'newest', number[]>;

async function measure(options: LookupOptions, print: (line: string) => void): Promise<void> {
  const { segmentCount, runCount, seed } = options;
  const shape = { seed, segmentCount, transactionsPerBlock, mergeBytes: 1 };
  const folder = await prepareStoredData({
    name: `lookup-${segmentCount}`,
    seed,
    make: (draft) => makeDataset(draft, shape),
  });
  const samples: Samples = { first: [], absent: [], oldest: [], newest: [] };
  const bare: number[] = [];
  const answers = createHash('sha256');
  for (let run = 0; run < runCount; run++) {
    bare.push(readBare(join(folder, datasetName, 'segments')));
    answers.update(await measureProcess(folder, options, samples));
  }
  const baseline = quantilesOf(bare).p50;
  print(`${segmentCount.toLocaleString('en')} segments, ${transactionsPerBlock} transactions each`);
  print(`  open, read 4 kB and close each file, one thread  ${baseline.toFixed(0)} ms`);
  for (const [name, title] of Object.entries(titles)) {
    const { p50, p95 } = quantilesOf(samples[name as keyof Samples]);
    const ratio = (p50 / baseline).toFixed(2);
    print(`  ${title.padEnd(48)} p50 ${p50.toFixed(0)} ms, p95 ${p95.toFixed(0)} ms (${ratio} ×)`);
  }
  print(`  checksum of the answers ${answers.digest('hex').slice(0, 16)}`);
}

const titles: Readonly<Record<keyof Samples, string>> = {
  first: 'absent signature, first lookup of the process',
  absent: 'absent signature, repeated',
  oldest: 'signature in the oldest segment',
  newest: 'signature in the newest segment',
};

/** Takes the samples of one service process. Returns the answers. */
async function measureProcess(
  folder: string,
  { segmentCount, repeatCount, seed }: LookupOptions,
  samples: Samples,
): Promise<string> {
  const service = await ServiceProcess.start(folder);
  const answers = new Set<string>();
  const lookUp = async (kind: keyof Samples, number: number, index: number) => {
    const startMs = performance.now();
    const path = `/datasets/${datasetName}/transactions/${signatureOf(seed, number, index)}`;
    const response = await fetch(`http://127.0.0.1:${service.port}${path}`);
    const body = await response.text();
    samples[kind].push(performance.now() - startMs);
    const isRight = response.status === (number < 0 ? 404 : 200);
    if (!isRight)
      throw new ScenarioFailure(`${path} was answered with ${response.status}: ${body}`);
    answers.add(`${kind} ${response.status} ${response.ok ? body : ''}`);
  };
  try {
    await service.head();
    // No segment has these numbers.
    await lookUp('first', -1, 0);
    for (let i = 1; i <= repeatCount; i++) {
      await lookUp('absent', -1, i);
      await lookUp('oldest', 0, 0);
      await lookUp('newest', segmentCount - 1, 0);
    }
  } finally {
    await service.process.stop('SIGTERM');
  }
  return [...answers].sort().join();
}

/** Returns the milliseconds that the system needs to read each file once, as a baseline. */
function readBare(folder: string): number {
  const paths = readdirSync(folder).map((name) => join(folder, name));
  const buffer = Buffer.alloc(4_096);
  const startMs = performance.now();
  for (const path of paths) {
    const file = openSync(path, 'r');
    readSync(file, buffer, 0, buffer.length, 0);
    closeSync(file);
  }
  return performance.now() - startMs;
}
