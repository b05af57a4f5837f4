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

/** What our side may keep loaded. */
export const cacheBytesMax = 512 * 2 ** 20;
/** Past this the rival is asked range by range: in one statement it would hold gigabytes of text at once. */
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
  /** Wall time without joining arrays of records to lines. */
  readonly unjoinedMs: Quantiles;
}

/** The two sides answered differently, so that no time of theirs means anything. */
class ChecksumMismatch extends Error {}

/** Both sides for one mode, each in processes of its own; the other one is idle while one works. */
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
      // A run of an hour that is stopped has told what it knew.
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

/** A fresh process for every run; time alone asks for no more of them. */
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
