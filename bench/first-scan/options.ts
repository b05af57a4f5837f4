import { UsageFailure } from '../benchmark.ts';
import { readArgs, readCount } from '../read-args.ts';

export const ENCODINGS = ['identity', 'gzip'] as const;
export type Encoding = (typeof ENCODINGS)[number];

export interface FirstScanOptions {
  /** A folder of block files; undefined for simulated blocks. */
  readonly corpusFolder: string | undefined;
  readonly blockCount: number;
  readonly seed: number;
  /** Undefined for all. */
  readonly queries: readonly string[] | undefined;
  readonly encodings: readonly Encoding[];
  /** The number of first scans of a query in an encoding, each in a new service process. */
  readonly runCount: number;
  /** The number of further scans in the last of these processes. */
  readonly repeatCount: number;
  /** The processor time for which a service warms up with the query on another dataset. */
  readonly warmSeconds: number;
  readonly streamCount: number;
  /** Undefined for the service's default. */
  readonly cacheMegabytes: number | undefined;
  readonly hasColdFiles: boolean;
  readonly hasRival: boolean;
  readonly rivalRunCount: number;
  readonly jsonFile: string | undefined;
  readonly markdownFile: string | undefined;
}

export const optionsHelp = [
  '--corpus FOLDER     files of blocks (*.jsonl, as `sluice import` reads them); default: the simulator, profile 2025, without votes',
  '--blocks N          how many blocks, the first ones of the folder (default: all of a folder, 300 simulated)',
  '--seed N            seed of the simulated blocks (default 1)',
  '--only A,B          Q1 to Q10 (default all)',
  '--encodings A,B     identity, gzip (default both)',
  '--runs N            first scans of each query and encoding, a service process each (default 3)',
  '--repeat N          repeated scans of each (default 5)',
  '--warm-seconds N    processor time that a process spends on the same query of another dataset first (default 4)',
  '--streams N         concurrent streams (default 16)',
  '--cache-mb N        cache of the service (default: its own default)',
  '--cold yes|no       whether scans of files outside the page cache are measured (default yes)',
  '--rival NAME        duckdb or none (default duckdb)',
  '--rival-runs N      scans of DuckDB, including its first scan (default 3)',
  '--json FILE         writes every figure as JSON',
  '--markdown FILE     writes the tables as a page',
];

const text = { type: 'string' } as const;
const known = {
  corpus: text,
  blocks: text,
  seed: text,
  only: text,
  encodings: text,
  runs: text,
  repeat: text,
  'warm-seconds': text,
  streams: text,
  'cache-mb': text,
  cold: text,
  rival: text,
  'rival-runs': text,
  json: text,
  markdown: text,
};
type OptionName = keyof typeof known;

const simulatedBlockCount = 300;

export function parseOptions(args: readonly string[]): FirstScanOptions {
  const values = readArgs(args, known);
  const count = (name: OptionName, fallback: number, min = 1) =>
    readCount(name, values[name], { fallback, min });
  const choice = (name: OptionName, allowed: readonly string[]) => {
    const value = values[name] ?? allowed[0];
    if (value !== undefined && allowed.includes(value)) return value;
    throw new UsageFailure(`--${name} takes ${allowed.join(' or ')}, not ${value}`);
  };
  const queries = values.only?.split(',');
  const odd = queries?.find((name) => !/^Q([1-9]|10)$/.test(name));
  if (odd !== undefined) throw new UsageFailure(`--only takes Q1 to Q10, not ${odd}`);
  return {
    corpusFolder: values.corpus,
    blockCount: count('blocks', values.corpus === undefined ? simulatedBlockCount : Infinity),
    seed: count('seed', 1, 0),
    queries,
    encodings: readEncodings(values.encodings),
    runCount: count('runs', 3),
    repeatCount: count('repeat', 5),
    warmSeconds: count('warm-seconds', 4, 0),
    streamCount: count('streams', 16),
    cacheMegabytes: values['cache-mb'] === undefined ? undefined : count('cache-mb', 1),
    hasColdFiles: choice('cold', ['yes', 'no']) === 'yes',
    hasRival: choice('rival', ['duckdb', 'none']) === 'duckdb',
    rivalRunCount: count('rival-runs', 3, 2),
    jsonFile: values.json,
    markdownFile: values.markdown,
  };
}

function readEncodings(list: string | undefined): readonly Encoding[] {
  const names: readonly string[] = list?.split(',') ?? ENCODINGS;
  const odd = names.find((name) => !ENCODINGS.some((encoding) => encoding === name));
  if (odd !== undefined)
    throw new UsageFailure(`--encodings takes ${ENCODINGS.join(' and ')}, not ${odd}`);
  return names as readonly Encoding[];
}
