import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Block } from '@sluice/ledger/block';
import { columnTypes, openDuckdb, runScript } from './duckdb.ts';
import { createTables, TABLE_NAMES, type TableName } from './tables.ts';
import { writeRows } from './write-rows.ts';

/** DuckDB receives rows in batches of this many blocks, about 150 MB of text. */
export const pieceBlockCount = 50;

/** Loads rows into DuckDB's tables as text with explicit types, and writes the Parquet files from them. */
export class DuckdbLoader {
  readonly #folder: string;
  readonly #parquetFolder: string;
  readonly #connection: DuckDBConnection;
  #blockCount = 0;
  #rows: Record<TableName, string[]> = emptyRows();

  /** Creates a temporary database in `folder`. The Parquet files are written to `parquetFolder`. */
  static async open(folder: string, parquetFolder: string): Promise<DuckdbLoader> {
    const connection = await openDuckdb({ file: join(folder, 'load.duckdb') });
    await connection.run(createTables());
    return new DuckdbLoader(folder, parquetFolder, connection);
  }

  private constructor(folder: string, parquetFolder: string, connection: DuckDBConnection) {
    this.#folder = folder;
    this.#parquetFolder = parquetFolder;
    this.#connection = connection;
  }

  async append(block: Block): Promise<void> {
    const rows = writeRows(block);
    for (const table of TABLE_NAMES) this.#rows[table].push(rows[table]);
    if (++this.#blockCount % pieceBlockCount === 0) await this.#load();
  }

  async finish(): Promise<void> {
    await this.#load();
    await runScript(this.#connection, 'parquet.sql', { folder: this.#parquetFolder });
    this.#connection.closeSync();
    for (const file of await readdir(this.#folder)) {
      if (file.startsWith('load.')) await rm(join(this.#folder, file));
    }
  }

  async #load(): Promise<void> {
    const rows = this.#rows;
    this.#rows = emptyRows();
    for (const table of TABLE_NAMES) {
      const lines = rows[table].filter((text) => text !== '');
      if (lines.length === 0) continue;
      const file = join(this.#folder, 'load.jsonl');
      await writeFile(file, lines);
      const columns = (await columnTypes(this.#connection, table))
        .map(([name, type]) => `'${name}': '${type.replaceAll("'", "''")}'`)
        .join();
      await this.#connection.run(
        `INSERT INTO ${table} SELECT * FROM read_json('${file}', format = 'newline_delimited', columns = {${columns}})`,
      );
    }
  }
}

function emptyRows(): Record<TableName, string[]> {
  return Object.fromEntries(TABLE_NAMES.map((table) => [table, []])) as unknown as Record<
    TableName,
    string[]
  >;
}
