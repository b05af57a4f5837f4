/** DuckDB in this process. It is loaded on first use, because it is a native module that may be missing. */
import { readFile } from 'node:fs/promises';
import type { DuckDBConnection } from '@duckdb/node-api';

/** The SQL scripts are not compiled; they are read from the source folder. */
const scriptFolder = new URL('../../duckdb/', import.meta.url);

export async function duckdbVersion(): Promise<string> {
  const connection = await openDuckdb();
  const [row] = (await connection.runAndReadAll('SELECT version()')).getRows();
  connection.closeSync();
  return String(row?.[0]);
}

export async function openDuckdb(
  options: { file?: string; threads?: number } = {},
): Promise<DuckDBConnection> {
  const { DuckDBInstance } = await import('@duckdb/node-api');
  const settings: Record<string, string> =
    options.threads === undefined ? {} : { threads: String(options.threads) };
  const instance = await DuckDBInstance.create(options.file ?? ':memory:', settings);
  return await instance.connect();
}

export async function readScript(script: string): Promise<string> {
  return await readFile(new URL(script, scriptFolder), 'utf8');
}

/** Runs a script from the repository, in which `{name}` is replaced by the value of that name. */
export async function runScript(
  connection: DuckDBConnection,
  script: string,
  values: Readonly<Record<string, string>> = {},
): Promise<void> {
  const text = await readScript(script);
  await connection.run(text.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole));
}

/** Returns the columns of a table in order, with their types. */
export async function columnTypes(
  connection: DuckDBConnection,
  table: string,
): Promise<readonly (readonly [name: string, type: string])[]> {
  const reader = await connection.runAndReadAll(`DESCRIBE ${table}`);
  return reader.getRows().map(([name, type]) => [String(name), String(type)] as const);
}
