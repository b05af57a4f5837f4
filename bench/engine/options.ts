import { UsageFailure } from '../benchmark.ts';
import { readArgs, readCount } from '../read-args.ts';

export const MODES = ['warm', 'cold'] as const;
export type Mode = (typeof MODES)[number];

export interface EngineBenchOptions {
  readonly seed: number;
  readonly blockCount: number;
  readonly runCount: number;
  /** The minimum duration of the warm runs of a query on each side. */
  readonly secondsMin: number;
  readonly threadCount: number;
  readonly modes: readonly Mode[];
  /** Undefined means all. */
  readonly queries: readonly string[] | undefined;
  readonly markdownFile: string | undefined;
}

export const optionsHelp = [
  '--blocks N       blocks of the corpus (default 1000)',
  '--seed N         seed of the corpus (default 1)',
  '--runs N         minimum number of timed runs of each query on each side (default 20)',
  '--seconds N      minimum duration of the warm runs of a query (default 5)',
  '--threads N      threads of each side (default 2)',
  '--modes A,B      warm, cold (default both)',
  '--queries A,B    Q1 to Q10 (default all)',
  '--markdown FILE  writes the result as a page',
];

export function parseOptions(args: readonly string[]): EngineBenchOptions {
  const text = { type: 'string' } as const;
  const known = {
    blocks: text,
    seed: text,
    runs: text,
    seconds: text,
    threads: text,
    modes: text,
    queries: text,
  };
  const values = readArgs(args, { ...known, markdown: text });
  const integer = (name: keyof typeof known, fallback: number, min: number) =>
    readCount(name, values[name], { fallback, min });
  const modes = values.modes?.split(',') ?? MODES;
  const unknown = modes.find((mode) => !MODES.some((name) => name === mode));
  if (unknown !== undefined)
    throw new UsageFailure(`--modes accepts warm and cold, not ${unknown}`);
  const queries = values.queries?.split(',');
  const odd = queries?.find((name) => !/^Q([1-9]|10)$/.test(name));
  if (odd !== undefined) throw new UsageFailure(`--queries accepts Q1 to Q10, not ${odd}`);
  return {
    seed: integer('seed', 1, 0),
    blockCount: integer('blocks', 1000, 1),
    runCount: integer('runs', 20, 1),
    secondsMin: integer('seconds', 5, 0),
    threadCount: integer('threads', 2, 1),
    modes: modes as readonly Mode[],
    queries,
    markdownFile: values.markdown,
  };
}
