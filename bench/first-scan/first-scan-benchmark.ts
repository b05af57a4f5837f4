import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Benchmark } from '../benchmark.ts';
import { duckdbVersion } from '../duckdb/duckdb.ts';
import { alignTable } from '../report-text.ts';
import { ServiceProcess } from '../service/processes.ts';
import { checkAnswer } from './check-answer.ts';
import { explainQuery } from './explain-query.ts';
import { makeQueries, type ScanQuery } from './make-queries.ts';
import { Rival } from './measure-rival.ts';
import { ScanMeasurement, type ScanResult } from './measure-scan.ts';
import { type FirstScanOptions, optionsHelp, parseOptions } from './options.ts';
import { measureParse } from './parse-speed.ts';
import { prepareRawBlocks } from './raw-blocks.ts';
import { readAnswer } from './read-answer.ts';
import {
  describeSetting,
  describeTables,
  type FirstScanReport,
  type QueryReport,
  writeMarkdown,
} from './report.ts';
import { DATASET, importBlocks } from './stored-blocks.ts';
import type { Setup } from './warm-service.ts';

const clockOf = () => new Date(performance.timeOrigin + performance.now());

/** Measures the first scan of history by a user, and repeated scans. */
export const firstScanBenchmark: Benchmark = {
  name: 'first-scan',
  summary: 'queries over HTTP, first and repeated scans, compared with DuckDB',
  options: optionsHelp,
  async run(print, args) {
    const options = parseOptions(args);
    const folder = await mkdtemp(join(tmpdir(), 'sluice-first-scan-'));
    try {
      const report = await measureAll(options, folder);
      for (const line of describeSetting(report)) print(line);
      for (const { title, rows } of describeTables(report)) {
        print('');
        print(title);
        for (const line of alignTable(rows)) print(line);
      }
      const command = `npm run bench -- first-scan ${args.join(' ')}`.trim();
      if (options.jsonFile !== undefined)
        await writeFile(options.jsonFile, `${JSON.stringify({ command, ...report }, null, 1)}\n`);
      if (options.markdownFile !== undefined)
        await writeFile(options.markdownFile, writeMarkdown(report, clockOf(), command));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

async function measureAll(options: FirstScanOptions, folder: string): Promise<FirstScanReport> {
  const progress = (text: string) => void process.stderr.write(`first-scan: ${text}\n`);
  // Detects a missing DuckDB before anything is measured.
  const version = options.hasRival ? await duckdbVersion() : undefined;
  progress('blocks');
  const raw = await prepareRawBlocks(options, folder);
  progress(`import of ${raw.blockCount} blocks`);
  const { stored, result: imported } = await importBlocks(raw, folder);
  const setup: Setup = { options, raw, stored, progress };
  const rival = options.hasRival ? await Rival.prepare(setup) : undefined;
  const wanted = makeQueries(raw).filter(({ name }) => options.queries?.includes(name) ?? true);
  const transactionCount = await countTransactions(setup);
  const queries: QueryReport[] = [];
  for (const query of wanted) queries.push(await measureQuery(setup, query, rival));
  const corpus = {
    origin: raw.origin,
    blockCount: raw.blockCount,
    transactionCount,
    rawBytes: raw.byteLength,
    segmentBytes: stored.segments.reduce((sum, { byteLength }) => sum + byteLength, 0),
    segmentCount: stored.segments.length,
    parquetBytes: await rival?.parquetBytes(),
    duckdbVersion: version,
  };
  return { options, corpus, imported, queries };
}

async function measureQuery(
  setup: Setup,
  query: ScanQuery,
  rival: Rival | undefined,
): Promise<QueryReport> {
  const { options, raw, progress } = setup;
  const answer = await inService(setup, (port) =>
    checkAnswer({ ...wholeRange(setup, port), body: query.body }, query),
  );
  const before = measureParse(raw.sampleTexts);
  const scans: ScanResult[] = [];
  for (const encoding of options.encodings) {
    const scan = await new ScanMeasurement(setup, query, encoding).measure(answer);
    scans.push(scan);
    // Printed at once, so that an interrupted run has reported its results.
    progress(
      `${query.name} ${encoding}: first scan ${scan.firstMs.p50.toFixed(1)} ms, repeated ${scan.repeatedMs.p50.toFixed(1)} ms, first line ${scan.firstLineMs.p50.toFixed(1)} ms`,
    );
  }
  const theirs = await rival?.measure(setup, query, answer);
  if (theirs !== undefined)
    progress(
      `${query.name} DuckDB: first scan ${theirs.firstMs.toFixed(1)} ms, repeated ${theirs.repeatedMs.toFixed(1)} ms`,
    );
  const { textBytes, checksum } = answer;
  const cost = await explainQuery(setup, query);
  const parse = [before, measureParse(raw.sampleTexts)];
  return { query, answer: { textBytes, checksum }, cost, scans, rival: theirs, parse };
}

function wholeRange({ raw }: Setup, port: number) {
  const range = { first: raw.firstSlot, last: raw.lastSlot };
  return { port, dataset: DATASET, encoding: 'identity', range } as const;
}

/** Runs a task with a service process that is not measured. */
async function inService<Result>(
  { stored }: Setup,
  use: (port: number) => Promise<Result>,
): Promise<Result> {
  const service = await ServiceProcess.start(stored.dataFolder);
  try {
    return await use(service.port);
  } finally {
    await service.process.stop();
  }
}

async function countTransactions(setup: Setup): Promise<number> {
  const body = { includeAllBlocks: true, fields: { block: { recordCounts: true } } };
  const pieces: Buffer[] = [];
  await inService(setup, (port) =>
    readAnswer({ ...wholeRange(setup, port), body }, (piece) => void pieces.push(piece)),
  );
  const lines = Buffer.concat(pieces).toString().trimEnd().split('\n');
  return lines
    .map((line) => JSON.parse(line) as { header: { recordCounts: { transactions: number } } })
    .reduce((sum, { header }) => sum + header.recordCounts.transactions, 0);
}
