import { join } from 'node:path';
import type { DuckDBConnection, DuckDBDataChunk } from '@duckdb/node-api';
import type { Query } from '@sluice/server/dist/query/query.js';
import { type Corpus, parquetFolder } from './corpus.ts';
import { openDuckdb } from './duckdb.ts';
import { arrays, buildDuckdbSql, type DuckdbSource } from './duckdb-sql.ts';
import type { Side } from './side.ts';
import { TABLE_NAMES, type TableName } from './write-rows.ts';

export interface DuckdbOptions {
  readonly threadCount: number;
  /** Whether the tables are loaded into memory first. Otherwise each query reads the Parquet files. */
  readonly inMemory: boolean;
}

/** DuckDB over the corpus, with tables in memory or with Parquet files. */
export class DuckdbSide implements Side {
  readonly #corpus: Corpus;
  readonly #connection: DuckDBConnection;
  readonly #source: DuckdbSource;
  /**
   * The number of blocks per statement. A response of gigabytes is requested in ranges, because all of it would have to
   * fit in memory.
   */
  rangeBlockCount = Infinity;

  private constructor(corpus: Corpus, connection: DuckDBConnection, options: DuckdbOptions) {
    this.#corpus = corpus;
    this.#connection = connection;
    this.#source = options.inMemory
      ? { from: (table) => table, position: 'rowid' }
      : {
          from: (table) => `read_parquet('${this.#parquetFile(table)}', file_row_number = true)`,
          position: 'file_row_number',
        };
  }

  static async start(corpus: Corpus, options: DuckdbOptions): Promise<DuckdbSide> {
    const connection = await openDuckdb({ threads: options.threadCount });
    const side = new DuckdbSide(corpus, connection, options);
    if (options.inMemory) {
      for (const table of TABLE_NAMES) {
        await connection.run(
          `CREATE TABLE ${table} AS FROM read_parquet('${side.#parquetFile(table)}')`,
        );
      }
    }
    return side;
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
    const [numbers = [], places = [], texts = []] = [0, 1, 2].map((at) =>
      chunk.getColumnValues(at),
    );
    numbers.forEach((value, row) => {
      const number = Number(value);
      const parts = blocks.get(number) ?? [];
      parts[Number(places[row])] = texts[row] as string;
      blocks.set(number, parts);
    });
  }
  for (const [number, [header, ...parts]] of [...blocks].sort(([a], [b]) => a - b)) {
    if (parts.length === 0 && !query.includeAllBlocks && number !== query.toBlock) continue;
    const texts = parts.map((text, at) => (text === undefined ? '' : `,"${arrays[at]}":[${text}]`));
    yield `{"header":${header}${texts.join('')}}\n`;
  }
}
