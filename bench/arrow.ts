/** Compares the rows per second of Arrow tables with those of JSON lines, for the queries of the first scan, in one thread. */
import { createHash } from 'node:crypto';
import { encodeSchema } from '@sluice/arrow/ipc-messages';
import { ArrowStreamReader } from '@sluice/arrow/ipc-reader';
import { ARROW_TABLE_NAMES, ARROW_TABLES, type ArrowTable } from '@sluice/protocol/arrow-table';
import { RECORD_ARRAYS, type RecordKind } from '@sluice/protocol/field-table';
import { arrowFields } from '@sluice/server/dist/engine/arrow/arrow-columns.js';
import type { BatchWriter, SelectedBatch } from '@sluice/server/dist/engine/batch-writer.js';
import { Engine } from '@sluice/server/dist/engine/engine.js';
import { STEPS, type StepContext } from '@sluice/server/dist/engine/steps.js';
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
const warmRunCount = 3;
const sampleBlockCount = 12;

interface Side {
  readonly query: Query;
  /** Makes another writer than that of the query. */
  readonly writer?: () => BatchWriter;
  readonly samples: number[];
  byteCount: number;
}

export const arrowBenchmark: Benchmark = {
  name: 'arrow',
  summary: 'rows of Arrow tables against those of JSON lines, by processor time',
  options: [
    '--blocks N    blocks of the simulated ledger (default 40)',
    '--seed N      its seed (default 1)',
    '--runs N      timed runs of each query (default 9)',
  ],
  async run(print, args) {
    const text = { type: 'string' } as const;
    const values = readArgs(args, { blocks: text, seed: text, runs: text });
    const runCount = readCount('runs', values.runs, { fallback: 9, min: 1 });
    const seed = readCount('seed', values.seed, { fallback: 1, min: 0 });
    const blockCount = readCount('blocks', values.blocks, { fallback: 40, min: 1 });
    const blocks = [...corpusBlocks({ seed, blockCount })];
    const engine = new Engine({ cacheBytesMax });
    engine.open('corpus', buildSegment(blocks));
    print(`${blockCount} blocks of the simulated ledger, seed ${seed}, ${runCount} runs`);
    const sample = blocks.slice(0, sampleBlockCount);
    const queries = makeQueries({ sample, hasRareAccount: false });
    const rows = [
      [
        ...['query', 'rows', 'lines ms', 'tables ms', 'rate', 'same rows', 'bound', 'bytes'],
        ...['same rows, each table', 'bound, each table', 'checksum'],
      ],
    ];
    for (const { name, body, isOfAllBlocks } of queries)
      if (!isOfAllBlocks)
        rows.push([name, ...compare(engine, parseBody({ fromBlock: 0, ...body }), runCount)]);
    for (const line of alignTable(rows)) print(line);
  },
};

/** Alternates the sides, so that other load affects all equally. */
function compare(engine: Engine, query: Query, runCount: number): string[] {
  const side = (each: Query): Side => ({ query: each, samples: [], byteCount: 0 });
  const lines = side(query);
  const tables = ARROW_TABLE_NAMES.filter((table) => table !== 'blocks')
    .map((table) => ({ table, ...count(engine, query, table) }))
    .filter(({ rowCount }) => rowCount > 0)
    .map((each) => ({
      ...each,
      arrow: side(each.selected),
      json: side(withoutArrow(each.selected)),
      bound: { ...side(each.selected), writer: () => new ColumnLoader(each.selected, each.table) },
    }));
  for (let run = -warmRunCount; run < runCount; run++)
    for (const each of [
      lines,
      ...tables.flatMap(({ arrow, json, bound }) => [arrow, json, bound]),
    ]) {
      const startMs = usedMs();
      each.byteCount = 0;
      const { query: request, writer } = each;
      const options = writer === undefined ? {} : { writer };
      for (const piece of engine.run('corpus', request, options)) each.byteCount += piece.length;
      if (run >= 0) each.samples.push(usedMs() - startMs);
    }
  const ms = ({ samples }: Side) => quantilesOf(samples).p50;
  const sum = (of: (table: (typeof tables)[number]) => number) =>
    tables.reduce((total, table) => total + of(table), 0);
  const times = (value: number) => `${value.toFixed(2)} ×`;
  const [arrowMs, jsonMs] = [sum(({ arrow }) => ms(arrow)), sum(({ json }) => ms(json))];
  const boundMs = sum(({ bound }) => ms(bound));
  const checksums = createHash('sha256').update(tables.map(({ checksum }) => checksum).join());
  return [
    String(sum(({ rowCount }) => rowCount)),
    ms(lines).toFixed(1),
    arrowMs.toFixed(1),
    times(ms(lines) / arrowMs),
    times(jsonMs / arrowMs),
    times(jsonMs / boundMs),
    times(sum(({ arrow }) => arrow.byteCount) / lines.byteCount),
    tables.map(({ table, arrow, json }) => `${table} ${times(ms(json) / ms(arrow))}`).join(', '),
    tables.map(({ table, json, bound }) => `${table} ${times(ms(json) / ms(bound))}`).join(', '),
    checksums.digest('hex').slice(0, 12),
  ];
}

/**
 * Loads the columns of a table and writes nothing: what no writer can avoid. The rate of lines against it is the highest rate that a table
 * can have.
 */
class ColumnLoader implements BatchWriter {
  readonly isAtLineEnd = true;
  readonly lastLineBlock = -1;
  readonly lineCount = 0;
  readonly #query: Query;
  readonly #kind: RecordKind | undefined;

  constructor(query: Query, table: ArrowTable) {
    const array = ARROW_TABLES[table];
    this.#query = query;
    this.#kind = array === undefined ? undefined : RECORD_ARRAYS[array];
  }

  *write({ found }: SelectedBatch): Generator<Uint8Array> {
    const kind = this.#kind;
    if (found === undefined || kind === undefined) return;
    const { columns } = found;
    const context: StepContext = {
      ...{ dialect: 'ledger', lookupTable: 0, setInt: () => undefined },
      decode: () => ({ p0: 0, w0: 1 }),
    };
    for (const name of this.#query.fields[kind]) STEPS[kind][name]?.bind(columns, context);
    if (this.#query.fields.transaction.includes('signatures')) columns.stored('txSignatures');
    columns.stored('txKeys');
  }

  *flush(): Generator<Uint8Array> {}

  headerLine(): Uint8Array {
    return new Uint8Array(0);
  }

  release(): void {}
}

/** The same rows as lines. */
function withoutArrow({ arrow: _arrow, ...query }: Query): Query {
  return query;
}

/** Returns the number of rows of a table, and a checksum of its bytes. */
function count(engine: Engine, query: Query, table: ArrowTable) {
  const arrow = { table, addresses: 'text' } as const;
  const selected = selectTable(query, arrow);
  const reader = new ArrowStreamReader();
  const hash = createHash('sha256');
  reader.push(encodeSchema(arrowFields(selected, arrow)));
  let rowCount = 0;
  for (const piece of engine.run('corpus', selected)) {
    hash.update(piece);
    for (const { length } of reader.push(piece)) rowCount += length;
  }
  return { selected, rowCount, checksum: hash.digest('hex') };
}
