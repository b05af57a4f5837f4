/** Compares the rows per second of `sluice export` with those of the Arrow stream that it reads, by processor time of one thread. */

import { countRows, EXPORT_FORMATS, encodeTable } from '@sluice/arrow/encode-table';
import { encodeSchema } from '@sluice/arrow/ipc-messages';
import { ArrowStreamReader } from '@sluice/arrow/ipc-reader';
import { ARROW_TABLE_NAMES, type ArrowTable } from '@sluice/protocol/arrow-table';
import { arrowFields } from '@sluice/server/dist/engine/arrow/arrow-columns.js';
import { Engine } from '@sluice/server/dist/engine/engine.js';
import type { Query } from '@sluice/server/dist/query/query.js';
import { selectTable } from '@sluice/server/dist/query/select-table.js';
import { buildSegment } from '@sluice/server/dist/segment/write/build-segment.js';
import { type Benchmark, quantilesOf, usedMs } from './benchmark.ts';
import { corpusBlocks } from './corpus-blocks.ts';
import { makeQueries } from './first-scan/make-queries.ts';
import { parseBody } from './parse-body.ts';
import { readArgs, readCount } from './read-args.ts';
import { alignTable } from './report-text.ts';

const cacheBytesMax = 1 << 28;
const warmRunCount = 2;
const sampleBlockCount = 12;

export const exportBenchmark: Benchmark = {
  name: 'export',
  summary: 'rows of exported files against those of the Arrow stream, by processor time',
  options: [
    '--blocks N    blocks of the simulated ledger (default 30)',
    '--seed N      its seed (default 1)',
    '--runs N      timed runs of each table (default 3)',
  ],
  async run(print, args) {
    const text = { type: 'string' } as const;
    const values = readArgs(args, { blocks: text, seed: text, runs: text });
    const runCount = readCount('runs', values.runs, { fallback: 3, min: 1 });
    const seed = readCount('seed', values.seed, { fallback: 1, min: 0 });
    const blockCount = readCount('blocks', values.blocks, { fallback: 30, min: 1 });
    const blocks = [...corpusBlocks({ seed, blockCount })];
    const engine = new Engine({ cacheBytesMax });
    engine.open('corpus', buildSegment(blocks));
    const sample = blocks.slice(0, sampleBlockCount);
    const everything = makeQueries({ sample, hasRareAccount: false }).at(-1)?.body;
    const query = parseBody({ fromBlock: 0, ...everything });
    print(
      `${blockCount} blocks of the simulated ledger, seed ${seed}, ${runCount} runs, all records`,
    );
    const forms = EXPORT_FORMATS.flatMap((format) => [`${format} ms`, 'rate']);
    const rows = [['table', 'rows', 'stream ms', 'read ms', ...forms]];
    for (const table of ARROW_TABLE_NAMES) rows.push(measure(engine, query, table, runCount));
    for (const line of alignTable(rows)) print(line);
  },
};

/** Returns the figures of a table: its stream, reading it, and the files with both. */
function measure(engine: Engine, query: Query, table: ArrowTable, runCount: number): string[] {
  const arrow = { table, addresses: 'text' } as const;
  const selected = selectTable(query, arrow);
  const fields = arrowFields(selected, arrow);
  const stream = () => [...engine.run('corpus', selected)];
  const read = (pieces: readonly Uint8Array[]) => {
    const reader = new ArrowStreamReader();
    reader.push(encodeSchema(fields));
    const batches = pieces.flatMap((piece) => reader.push(piece));
    const parts = batches.map((batch) => ({ batch, start: 0, end: batch.length }));
    return { fields, parts };
  };
  const pieces = stream();
  const batches = read(pieces);
  const streamMs = time(stream, runCount);
  const readMs = time(() => read(pieces), runCount);
  const forms = EXPORT_FORMATS.flatMap((format) => {
    const ms = time(() => encodeTable(format, batches), runCount);
    return [ms.toFixed(1), `${(streamMs / (streamMs + readMs + ms)).toFixed(3)} ×`];
  });
  return [table, String(countRows(batches)), streamMs.toFixed(1), readMs.toFixed(1), ...forms];
}

function time(run: () => unknown, runCount: number): number {
  const samples: number[] = [];
  for (let i = -warmRunCount; i < runCount; i++) {
    const startMs = usedMs();
    run();
    if (i >= 0) samples.push(usedMs() - startMs);
  }
  return quantilesOf(samples).p50;
}
