import { join } from 'node:path';
import type { DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api';
import type { Query } from '@sluice/server/dist/query/query.js';
import { type Corpus, parquetFolder } from '../subject/corpus.ts';
import type { Side } from '../subject/side.ts';
import { openDuckdb } from './duckdb.ts';
import { arrays, buildDuckdbSql, type DuckdbSource } from './duckdb-sql.ts';
import type { TableName } from './tables.ts';

/** DuckDB over the Parquet files of the corpus. */
export class DuckdbSide implements Side {
  readonly #corpus: Corpus;
  readonly #connection: DuckDBConnection;
  readonly #source: DuckdbSource;
  /**
   * The number of blocks per statement. A response of gigabytes is requested in ranges, because all of it would have to
   * fit in memory.
   */
  rangeBlockCount = Infinity;

  private constructor(corpus: Corpus, connection: DuckDBConnection) {
    this.#corpus = corpus;
    this.#connection = connection;
    this.#source = {
      from: (table) => `read_parquet('${this.#parquetFile(table)}', file_row_number = true)`,
      position: 'file_row_number',
    };
  }

  static async start(corpus: Corpus, options: { threadCount: number }): Promise<DuckdbSide> {
    return new DuckdbSide(corpus, await openDuckdb({ threads: options.threadCount }));
  }

  async discard(query: Query): Promise<number> {
    let joiningMs = 0;
    for (const sql of this.#statements(query)) {
      const chunks = await (await this.#connection.run(sql)).fetchAllChunks();
      const start = performance.now();
      for (const line of toLines(chunks, query)) Buffer.from(line);
      joiningMs += performance.now() - start;
    }
    return joiningMs;
  }

  async *answer(query: Query): AsyncGenerator<string> {
    for (const sql of this.#statements(query)) {
      yield* toLines(await (await this.#connection.run(sql)).fetchAllChunks(), query);
    }
  }

  async close(): Promise<void> {
    this.#connection.closeSync();
  }

  *#statements(query: Query): Generator<string> {
    const end = Math.min(query.toBlock ?? Infinity, this.#corpus.lastSlot);
    for (let first = query.fromBlock; first <= end; first += this.rangeBlockCount) {
      const last = Math.min(first + this.rangeBlockCount - 1, end);
      yield buildDuckdbSql(query, this.#source, { first, last });
    }
  }

  #parquetFile(table: TableName): string {
    return join(parquetFolder(this.#corpus), `${table}.parquet`);
  }
}

/** Joins the rows of a statement (block, array number, text) into lines. */
function* toLines(chunks: readonly DuckDBDataChunk[], query: Query): Generator<string> {
  const blocks = new Map<number, (string | undefined)[]>();
  for (const chunk of chunks) {
    const [numbers = [], numbersOfArrays = [], texts = []] = [0, 1, 2].map((at) =>
      chunk.getColumnValues(at),
    );
    numbers.forEach((value, row) => {
      const number = Number(value);
      const parts = blocks.get(number) ?? [];
      parts[Number(numbersOfArrays[row])] = texts[row] as string;
      blocks.set(number, parts);
    });
  }
  for (const [number, [header, ...parts]] of [...blocks].sort(([a], [b]) => a - b)) {
    if (parts.length === 0 && !query.includeAllBlocks && number !== query.toBlock) continue;
    const texts = parts.map((text, at) => (text === undefined ? '' : `,"${arrays[at]}":[${text}]`));
    yield `{"header":${header}${texts.join('')}}\n`;
  }
}
