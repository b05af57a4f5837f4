import { commit, describeMachine, digits, markdownTable, megabytes } from '../report-text.ts';
import type { Corpus } from './corpus.ts';
import { beyondCacheBytesMax, type MemoryResult, type WriterResult } from './measure-alone.ts';
import { cacheBytesMax, type QueryResult } from './measure-queries.ts';
import type { SizeResult } from './measure-size.ts';
import type { EngineBenchOptions, Mode } from './options.ts';

export interface EngineReport {
  readonly options: EngineBenchOptions;
  readonly corpus: Corpus;
  readonly results: readonly QueryResult[];
  readonly size: SizeResult;
  readonly writer: WriterResult;
  readonly memory: MemoryResult | undefined;
  readonly duckdbVersion: string;
}

const writerFactorGoal = 6;
/** The columns of text at the end of a row: the checksum and the query. */
export const leftAtEnd = 2;

const modeTexts: Readonly<Record<Mode, string>> = {
  warm: `warm: after one run, our cache ${megabytes(cacheBytesMax, 2 ** 20)} MiB; DuckDB's tables in memory`,
  cold: 'cold: a new process for every run, files in the page cache of the system, nothing open; DuckDB reads Parquet',
};

const columns = [
  'query',
  'answer kB/block',
  'ours p50 ms',
  'p95',
  'blocks/s',
  'MB/s',
  'DuckDB p50 ms',
  'p95',
  'ratio',
  'CPU ratio',
  'ratio unjoined',
  'runs',
  'goal',
  'checksum',
  'selects',
];

function rowOf(
  { query, mode, answerBytes, checksum, sluice, duckdb }: QueryResult,
  blocks: number,
) {
  const seconds = sluice.wallMs.p50 / 1000;
  const ratio = duckdb.wallMs.p50 / sluice.wallMs.p50;
  return [
    query.name,
    (answerBytes / blocks / 1000).toFixed(1),
    digits(sluice.wallMs.p50),
    digits(sluice.wallMs.p95),
    Math.round(blocks / seconds).toLocaleString('en'),
    digits(answerBytes / 1e6 / seconds),
    digits(duckdb.wallMs.p50),
    digits(duckdb.wallMs.p95),
    `${digits(ratio)} ×`,
    `${digits(duckdb.cpuMs.p50 / sluice.cpuMs.p50)} ×`,
    `${digits(duckdb.unjoinedMs.p50 / sluice.wallMs.p50)} ×`,
    `${sluice.runCount} / ${duckdb.runCount}`,
    mode === 'warm' ? `${query.factorGoal} × ${ratio >= query.factorGoal ? 'met' : 'missed'}` : '–',
    checksum.slice(0, 12),
    query.text,
  ];
}

export function describeResults(report: EngineReport, mode: Mode): readonly (readonly string[])[] {
  const { results, corpus } = report;
  const rows = results.filter((result) => result.mode === mode);
  return [columns, ...rows.map((row) => rowOf(row, corpus.blockCount))];
}

/** Returns the other figures, one sentence each. */
export function describeRest({ size, writer, memory, corpus, results }: EngineReport): string[] {
  const perTransaction = (bytes: number) =>
    Math.round(bytes / Math.max(1, corpus.counts.transactions));
  const plain = size.parquetBytes - size.derivedBytes;
  const speed = (ms: number) => digits(writer.answerBytes / 1e3 / ms);
  const factor = writer.stringify.p50 / writer.sluice.p50;
  const lines = [
    `size: ours ${megabytes(size.segmentBytes)} MB in ${size.segmentCount} files, indexes included (${perTransaction(size.segmentBytes)} bytes per transaction); zstd Parquet ${megabytes(size.parquetBytes)} MB (${perTransaction(size.parquetBytes)}), ratio ${(size.segmentBytes / size.parquetBytes).toFixed(2)}; without its columns d1, d2, d4, d8 and feePayer ${megabytes(plain)} MB (${perTransaction(plain)}), ratio ${(size.segmentBytes / plain).toFixed(2)}`,
    `writer alone, one thread, ${megabytes(writer.answerBytes)} MB of everything: ours ${speed(writer.sluice.p50)} MB/s, JSON.stringify of the same lines as objects ${speed(writer.stringify.p50)} MB/s, ratio ${digits(factor)} × (goal ${writerFactorGoal} ×: ${factor >= writerFactorGoal ? 'met' : 'missed'})`,
  ];
  if (memory === undefined)
    lines.push('memory: not measured, because this system does not report it');
  else {
    const mebibytes = (bytes: number) => megabytes(bytes, 2 ** 20);
    const limit = memory.cacheBytesMax + beyondCacheBytesMax;
    lines.push(
      `memory: RssAnon at most ${mebibytes(memory.peakBytes)} MiB while answering everything with a cache of ${mebibytes(memory.cacheBytesMax)} MiB, a tenth of the segments; ${mebibytes(memory.startBytes)} MiB before the first byte (limit cache + 200 MiB = ${mebibytes(limit)} MiB: ${memory.peakBytes <= limit ? 'met' : 'missed'})`,
    );
  }
  const missed = results.filter(
    ({ mode, query, sluice, duckdb }) =>
      mode === 'warm' && duckdb.wallMs.p50 / sluice.wallMs.p50 < query.factorGoal,
  );
  if (missed.length > 0)
    lines.push(`goals missed: ${missed.map(({ query }) => query.name).join(', ')}`);
  return lines;
}

export function describeSetting(report: EngineReport): string[] {
  const { options, corpus, duckdbVersion } = report;
  const count = (value: number) => value.toLocaleString('en');
  return [
    `corpus: ${count(corpus.blockCount)} blocks of the simulator's 2025 profile without votes, seed ${corpus.seed}: ${count(corpus.counts.transactions)} transactions, ${count(corpus.counts.instructions)} instructions, ${count(corpus.counts.logs)} logs`,
    `sides: our engine with ${options.threadCount} threads; DuckDB ${duckdbVersion} with ${options.threadCount} threads`,
    `runs: ${options.runCount} of each query on each side, and warm for at least ${options.secondsMin} s each; the response is generated and discarded`,
  ];
}

export function describeMode(mode: Mode): string {
  return modeTexts[mode];
}

export function writeMarkdown(report: EngineReport, now: Date): string {
  const { options } = report;
  const table = (rows: readonly (readonly string[])[]) => markdownTable(rows, { leftAtEnd });
  return [
    `# The engine against DuckDB, ${now.toISOString().slice(0, 10)}`,
    '',
    `- commit: ${commit()}`,
    `- machine: ${describeMachine()}`,
    `- command: \`npm run bench -- engine --blocks ${options.blockCount} --seed ${options.seed} --runs ${options.runCount} --seconds ${options.secondsMin} --threads ${options.threadCount}\``,
    ...describeSetting(report).map((line) => `- ${line}`),
    ...options.modes.flatMap((mode) => [
      '',
      `## ${mode}`,
      '',
      describeMode(mode),
      '',
      table(describeResults(report, mode)),
    ]),
    '',
    '## Other measurements',
    '',
    ...describeRest(report).map((line) => `- ${line}`),
    '',
    '## How it was measured',
    '',
    ...method.map((line) => `- ${line}`),
    '',
  ].join('\n');
}

const method = [
  'Times are wall-clock times from the query to the last byte of the response, which is discarded. The ratio is DuckDB’s p50 divided by ours; the CPU ratio uses the CPU time of all threads of a process.',
  'Both sides gave the same bytes for every query in every mode: the checksum is the start of the SHA-256 of all lines.',
  'DuckDB generates the text of each array of each block (`to_json`, `string_agg` in order); the process that sent the query joins these to lines and encodes them. The ratio "unjoined" does not count that last part in DuckDB’s time. Responses above 100 MB are requested in ranges of 100 blocks, because one statement would hold the whole response in memory.',
  'Warm runs have a minimum duration on each side, because the runtime compiles code only after it has run often: twenty runs of a query of two milliseconds are not enough.',
  'Cold measurements start when the process is up (our threads started, DuckDB’s instance created) and no file is open.',
  'The writer is compared on 16 blocks whose segment is open: our time includes decoding pages, selecting rows and copying the output; `JSON.stringify` gets parsed objects with numbers as doubles, and its strings are not encoded to bytes.',
  'Not measured: compression, HTTP, and disks; all files are in the page cache of the system.',
];
