import { ENGINE_LIMITS } from '@sluice/server/dist/engine/threads/engine-limits.js';
import { commit, describeMachine, digits, markdownTable, megabytes } from '../report-text.ts';
import type { CheckedAnswer } from './check-answer.ts';
import type { ScanCost } from './explain-query.ts';
import type { ScanQuery } from './make-queries.ts';
import type { RivalResult } from './measure-rival.ts';
import type { ScanResult } from './measure-scan.ts';
import type { FirstScanOptions } from './options.ts';
import type { ParseSpeed } from './parse-speed.ts';
import type { ImportResult } from './stored-blocks.ts';

export interface QueryReport {
  readonly query: ScanQuery;
  readonly answer: Pick<CheckedAnswer, 'textBytes' | 'checksum'>;
  readonly cost: ScanCost;
  readonly scans: readonly ScanResult[];
  readonly rival: RivalResult | undefined;
  /** The baseline before and after this query. */
  readonly parse: readonly ParseSpeed[];
}

export interface FirstScanReport {
  readonly options: FirstScanOptions;
  readonly corpus: CorpusReport;
  readonly imported: ImportResult;
  readonly queries: readonly QueryReport[];
}

export interface CorpusReport {
  readonly origin: string;
  readonly blockCount: number;
  readonly transactionCount: number;
  readonly rawBytes: number;
  readonly segmentBytes: number;
  readonly segmentCount: number;
  /** Undefined without DuckDB. */
  readonly parquetBytes: number | undefined;
  readonly duckdbVersion: string | undefined;
}

export interface ReportTable {
  readonly title: string;
  readonly rows: readonly (readonly string[])[];
}

const notMeasured = '–';

export function describeSetting({ options, corpus, imported }: FirstScanReport): string[] {
  const { blockCount, transactionCount } = corpus;
  const perTransaction = (bytes: number) => (bytes / transactionCount).toFixed(0);
  const parseMs = mean(imported.parse.map(({ cpuMsPerBlock }) => cpuMsPerBlock));
  const cpuMs = (imported.cpuSeconds * 1000) / blockCount;
  const parquet =
    corpus.parquetBytes === undefined
      ? ''
      : `; zstd Parquet ${megabytes(corpus.parquetBytes)} MB, ${perTransaction(corpus.parquetBytes)} a transaction`;
  const cache = options.cacheMegabytes ?? ENGINE_LIMITS.cacheBytesMax / 1e6;
  return [
    `machine: ${describeMachine()}; commit ${commit()}`,
    `corpus: ${blockCount.toLocaleString('en')} blocks, ${transactionCount.toLocaleString('en')} transactions, ${megabytes(corpus.rawBytes)} MB of raw JSON, from ${corpus.origin}`,
    `on disk: ${megabytes(corpus.segmentBytes)} MB in ${corpus.segmentCount} segments, ${perTransaction(corpus.segmentBytes)} bytes per transaction${parquet}`,
    `import: ${(blockCount / imported.seconds).toFixed(1)} blocks/s, ${cpuMs.toFixed(0)} ms of processor time per block, ${(cpuMs / parseMs).toFixed(1)} × JSON.parse of the same bytes (${parseMs.toFixed(1)} ms); memory ${megabytes(imported.anonymousBytesPeak)} MB`,
    `service: cache ${cache.toFixed(0)} MB${options.cacheMegabytes === undefined ? ', all defaults' : ''}; ${options.runCount} first scans, ${options.repeatCount} repeated, medians`,
    ...(corpus.duckdbVersion === undefined
      ? []
      : [
          `rival: DuckDB ${corpus.duckdbVersion} over zstd Parquet, 2 threads, answers checked to be the same bytes`,
        ]),
  ];
}

export function describeTables(report: FirstScanReport): ReportTable[] {
  const tables = [speedTable(report), waitTable(report), costTable(report)];
  return report.options.hasRival ? [...tables, rivalTable(report)] : tables;
}

/** One row for each query and encoding. */
function scanRows(
  report: FirstScanReport,
  cells: (scan: ScanResult, query: QueryReport) => readonly string[],
): (readonly string[])[] {
  return report.queries.flatMap((query) =>
    query.scans.map((scan) => [query.query.name, scan.encoding, ...cells(scan, query)]),
  );
}

function speedTable(report: FirstScanReport): ReportTable {
  const { blockCount } = report.corpus;
  const head = [
    ...['query', 'encoding', 'answer MB', 'sent MB', 'first scan blocks/s', 'MB/s'],
    ...['repeated blocks/s', 'MB/s', 'cold files blocks/s', 'JSON.parse MB/s'],
  ];
  const rows = scanRows(report, (scan, { answer, parse }) => {
    const speed = (ms: number) => [
      digits((blockCount * 1000) / ms),
      digits(answer.textBytes / 1000 / ms),
    ];
    return [
      digits(answer.textBytes / 1e6),
      digits(scan.sentBytes / 1e6),
      ...speed(scan.firstMs.p50),
      ...speed(scan.repeatedMs.p50),
      scan.cold === undefined ? notMeasured : (speed(scan.cold.ms)[0] ?? ''),
      digits(mean(parse.map(({ megabytesPerSecond }) => megabytesPerSecond))),
    ];
  });
  return { title: 'Speed over HTTP, one stream (MB are of JSON)', rows: [head, ...rows] };
}

function waitTable(report: FirstScanReport): ReportTable {
  const head = [
    ...['query', 'encoding', 'first line ms p50', 'p95', 'first line of the process ms'],
    ...['streams', 'MB/s', 'total / one', 'slowest / fastest', 'RssAnon MB', 'VmHWM MB'],
  ];
  const rows = scanRows(report, (scan) => [
    digits(scan.firstLineMs.p50),
    digits(scan.firstLineMs.p95),
    digits(scan.processFirstLineMs.p50),
    `${scan.streams.streamCount}`,
    digits(scan.streams.megabytesPerSecond),
    scan.streams.totalToOne.toFixed(2),
    scan.streams.slowestToFastest.toFixed(2),
    digits(scan.anonymousBytesPeak / 1e6),
    digits(scan.residentBytesPeak / 1e6),
  ]);
  return {
    title:
      'First line on segments that were never opened, concurrent streams, memory of the service',
    rows: [head, ...rows],
  };
}

function costTable({ queries }: FirstScanReport): ReportTable {
  const head = [
    ...['query', 'answer MB', 'read MB', 'inflated MB', 'read / answer', 'inflated / answer'],
    ...['cold files: disk MB', 'checksum'],
  ];
  const rows = queries.map(({ query, answer, cost, scans }) => {
    const disk = scans[0]?.cold?.diskBytes;
    return [
      query.name,
      digits(cost.answerBytes / 1e6),
      digits(cost.fileBytes / 1e6),
      digits(cost.bytesInflated / 1e6),
      digits(cost.fileBytes / cost.answerBytes),
      digits(cost.bytesInflated / cost.answerBytes),
      disk === undefined ? notMeasured : digits(disk / 1e6),
      answer.checksum.slice(0, 12),
    ];
  });
  return { title: 'What a first scan reads (`sluice explain`)', rows: [head, ...rows] };
}

/** Ratios are the times of DuckDB divided by the times of the service, so greater is better. */
function rivalTable({ queries, corpus }: FirstScanReport): ReportTable {
  const head = [
    ...['query', 'first scan blocks/s', 'repeated blocks/s', 'cold files blocks/s'],
    ...queries
      .slice(0, 1)
      .flatMap(({ scans }) =>
        scans.flatMap(({ encoding }) =>
          ['first', 'repeated', 'cold'].map((kind) => `${encoding}, ${kind}`),
        ),
      ),
  ];
  const rows = queries.flatMap(({ query, rival, scans }) => {
    if (rival === undefined) return [];
    const speed = (ms: number | undefined) =>
      ms === undefined ? notMeasured : digits((corpus.blockCount * 1000) / ms);
    const ratio = (theirs: number | undefined, ours: number | undefined) =>
      theirs === undefined || ours === undefined ? notMeasured : `${digits(theirs / ours)} ×`;
    return [
      [
        query.name,
        speed(rival.firstMs),
        speed(rival.repeatedMs),
        speed(rival.coldMs),
        ...scans.flatMap((scan) => [
          ratio(rival.firstMs, scan.firstMs.p50),
          ratio(rival.repeatedMs, scan.repeatedMs.p50),
          ratio(rival.coldMs, scan.cold?.ms),
        ]),
      ],
    ];
  });
  return { title: 'DuckDB, and the speed of the service relative to it', rows: [head, ...rows] };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

export function writeMarkdown(report: FirstScanReport, date: Date, command: string): string {
  return [
    `# First scans over HTTP, ${date.toISOString().slice(0, 10)}`,
    '',
    `- command: \`${command}\``,
    ...describeSetting(report).map((line) => `- ${line}`),
    ...describeTables(report).flatMap(({ title, rows }) => [
      '',
      `## ${title}`,
      '',
      markdownTable(rows),
    ]),
    '',
    '## How it was measured',
    '',
    ...method.map((line) => `- ${line}`),
    '',
  ].join('\n');
}

const method = [
  'A first scan runs in a new service process whose code is warm: the process has run the same query on another dataset (`--warm-seconds`, 4 s of processor time by default). It has opened none of the measured segments. The files are in the page cache of the system, except cold files, which are dropped from it before the scan.',
  'Repeated scans follow in the same process. The time is measured from the request to the last byte; compressed text is decompressed after that.',
  'The time to the first line is measured for ranges that start at the first matching block of each segment, in a new process with warm code. The first line of the process is that of its first request, without warm code.',
  'Concurrent streams send the same query when the segments are already open, over a range that gives 2 GB of JSON for all together. The client is one process on the same machine.',
  'JSON.parse of some of the blocks ran in one thread before and after each query. It shows the speed of the machine at that time.',
  'DuckDB runs in a separate process without HTTP, generates the same text and discards it. Its first scan is the first of that process. Responses above 100 MB are requested in ranges of 100 blocks.',
];
