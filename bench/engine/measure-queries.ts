import { type Quantiles, quantilesOf } from '../benchmark.ts';
import type { BenchQuery } from './choose-queries.ts';
import type { Corpus, Progress } from './corpus.ts';
import type { EngineBenchOptions, Mode } from './options.ts';
import {
  type Sample,
  Subject,
  type SubjectOptions,
  type Task,
  type TaskResult,
} from './subject.ts';

/** The cache size of our engine. */
export const cacheBytesMax = 512 * 2 ** 20;
/** Above this size DuckDB is queried in ranges, because a single statement would hold gigabytes of text. */
const rangedBytesMin = 100e6;
const rangeBlockCount = 100;

export interface QueryResult {
  readonly query: BenchQuery;
  readonly mode: Mode;
  readonly answerBytes: number;
  readonly checksum: string;
  readonly sluice: SideTimes;
  readonly duckdb: SideTimes;
}

export interface SideTimes {
  readonly runCount: number;
  readonly wallMs: Quantiles;
  readonly cpuMs: Quantiles;
  /** The wall-clock time without the conversion of a database's rows to lines of text, which is not the work of the database. */
  readonly unjoinedMs: Quantiles;
}

/** Thrown if the two sides returned different bytes, which makes their times meaningless. */
export class ChecksumMismatch extends Error {}

/** Measures both sides in one mode, each in its own processes. Each side is idle while the other one works. */
export async function measureMode(
  mode: Mode,
  {
    corpus,
    queries,
    options,
  }: { corpus: Corpus; queries: readonly BenchQuery[]; options: EngineBenchOptions },
  progress: Progress,
): Promise<QueryResult[]> {
  const { threadCount } = options;
  const start = (side: SubjectOptions['side']) =>
    openRunner({ corpus, side, mode, threadCount, cacheBytesMax });
  progress(`${mode}: starting`);
  const sluice = await start('sluice');
  const duckdb = await start('duckdb');
  const results: QueryResult[] = [];
  try {
    for (const query of queries) {
      const { runCount, secondsMin } = options;
      const task = { body: query.body, runCount, secondsMin, isHashed: true };
      const ours = await sluice.run({ ...task, rangeBlockCount: null });
      const isRanged = ours.answerBytes > rangedBytesMin;
      const theirs = await duckdb.run({
        ...task,
        rangeBlockCount: isRanged ? rangeBlockCount : null,
      });
      checkSame(query, mode, ours, theirs);
      const { answerBytes, checksum } = ours;
      const times = { sluice: timesOf(ours), duckdb: timesOf(theirs) };
      results.push({ query, mode, answerBytes, checksum, ...times });
      // Results are printed at once, so that an interrupted run has reported what it measured.
      const [our, their] = [times.sluice.wallMs.p50, times.duckdb.wallMs.p50];
      progress(
        `${mode}: ${query.name} ours ${our.toFixed(1)} ms, DuckDB ${their.toFixed(1)} ms, ${(their / our).toFixed(1)} ×`,
      );
    }
  } finally {
    sluice.stop();
    duckdb.stop();
  }
  return results;
}

function timesOf({ samples }: TaskResult): SideTimes {
  return {
    runCount: samples.length,
    wallMs: quantilesOf(samples.map(({ wallMs }) => wallMs)),
    cpuMs: quantilesOf(samples.map(({ cpuMs }) => cpuMs)),
    unjoinedMs: quantilesOf(samples.map(({ wallMs, joiningMs }) => wallMs - joiningMs)),
  };
}

function checkSame(query: BenchQuery, mode: Mode, ours: TaskResult, theirs: TaskResult): void {
  if (ours.checksum === theirs.checksum) return;
  const sides = [ours, theirs].map(
    ({ answerBytes, checksum }) => `${checksum} (${answerBytes} bytes)`,
  );
  throw new ChecksumMismatch(`${query.name}, ${mode}: answers differ: ${sides.join(' and ')}`);
}

interface Runner {
  run(task: Task): Promise<TaskResult>;
  stop(): void;
}

async function openRunner(options: SubjectOptions): Promise<Runner> {
  if (options.mode === 'warm') return await Subject.start(options);
  return { run: (task) => runCold(options, task), stop: () => {} };
}

/** Measures with a new process for every run, and with the minimum number of runs. */
async function runCold(options: SubjectOptions, task: Task): Promise<TaskResult> {
  const once = async (one: Task) => {
    const subject = await Subject.start(options);
    try {
      return await subject.run(one);
    } finally {
      subject.stop();
    }
  };
  const hashed = await once({ ...task, runCount: 0, secondsMin: 0 });
  const samples: Sample[] = [];
  for (let run = 0; run < task.runCount; run++) {
    const one = await once({ ...task, runCount: 1, secondsMin: 0, isHashed: false });
    samples.push(...one.samples);
  }
  return { ...hashed, samples };
}
