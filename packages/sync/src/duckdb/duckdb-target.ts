/**
 * Tables in a file of DuckDB. DuckDB allows one process to have a file open, so it is open only while rows are written, and other programs
 * can read it in between.
 *
 * The library is a native module, which Sluice does not depend on: it is loaded if the user has installed it.
 */
import { rmSync, writeFileSync } from 'node:fs';
// biome-ignore lint/correctness/noUndeclaredDependencies: the user installs this package
import type { DuckDBConnection } from '@duckdb/node-api';
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { systemErrorCode } from '@sluice/base/system-error-code';
import { messageOf } from '@sluice/protocol/unknown-value';
import { buildWriter, type ColumnType } from '../column-types.ts';
import { encodeRows } from '../parquet/encode-rows.ts';
import type { Row } from '../row-builder.ts';
import {
  checkDefinition,
  newTable,
  SequentialStore,
  type StoredTable,
  statusOf,
  type TableWriter,
} from '../sequential-store.ts';
import type { TablePlan } from '../table-plan.ts';
import type { OpenOptions, SyncTarget, TableStatus, TableStore } from '../target.ts';

const packageName = '@duckdb/node-api';

/** `generation` grows with every process that opens a table; a process whose generation is not the stored one has been replaced. */
const stateSchema = `
create schema if not exists sluice;
create table if not exists sluice.tables (table_name varchar primary key, generation bigint not null, state varchar not null)`;

/** Runs work in a transaction, alone in this process and with the file open. */
type Transact = <Result>(work: (file: DuckDBConnection) => Promise<Result>) => Promise<Result>;

export class DuckDbTarget implements SyncTarget {
  readonly name: string;
  readonly isSequential = true;
  readonly isFinalizedOnly = false;
  readonly #path: string;
  readonly #clock: Clock;
  /** Ends when the file is free. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(path: string, { clock }: { readonly clock: Clock }) {
    this.name = path;
    this.#path = path;
    this.#clock = clock;
  }

  async check(): Promise<void> {
    await this.#transact((file) => file.run(stateSchema));
  }

  async openTable(plan: TablePlan, { isRebuilt }: OpenOptions): Promise<TableStore> {
    const { state, generation } = await this.#transact(async (file) => {
      const exists = await tableExists(file, plan);
      const found = await readState(file, plan);
      if (exists && found === undefined)
        throw new CodedError('sync-table-foreign', { table: plan.name });
      const isNew = found === undefined || isRebuilt || !exists;
      if (!isNew) checkDefinition(plan, found.state.definition);
      if (isNew) await createTable(file, plan);
      const next = {
        generation: (found?.generation ?? 0) + 1,
        state: isNew ? newTable(plan, this.#clock.unixMs()) : found.state,
      };
      await file.run('insert or replace into sluice.tables values ($1, $2, $3)', [
        ...[plan.name, next.generation, JSON.stringify(next.state)],
      ]);
      return next;
    });
    const transact: Transact = (work) => this.#transact(work);
    const writer = new DuckDbWriter({ plan, generation, path: this.#path }, transact);
    return new SequentialStore(state, writer, () => this.#clock.unixMs());
  }

  describe(plan: TablePlan): string {
    return createStatement(plan);
  }

  writeRow({ columns }: TablePlan, row: Row): readonly string[] {
    return columns.map(({ type }, i) => buildWriter(type)(row[i]));
  }

  status(): Promise<readonly TableStatus[]> {
    return this.#transact(async (file) => {
      await file.run(stateSchema);
      const stored = await file.runAndReadAll(
        'select table_name, state from sluice.tables order by table_name',
      );
      const tables: TableStatus[] = [];
      for (const [name, text] of stored.getRows().map((row) => row.map(String))) {
        const state: StoredTable = JSON.parse(text ?? '');
        const table = name ?? '';
        const counted = await file.runAndReadAll(`select count(*) from ${quoteName(table)}`);
        tables.push(statusOf(table, { ...state, rowCount: Number(counted.getRows()[0]?.[0]) }));
      }
      return tables;
    });
  }

  /** Another program has the file open, or the disk is full. */
  isTransient(error: unknown): boolean {
    const text = messageOf(error);
    return /Could not set lock on file|No space left on device/.test(text);
  }

  explain(error: unknown): unknown {
    if (error instanceof CodedError || !(error instanceof Error)) return error;
    const [code] = /^[A-Z][A-Za-z ]* Error/.exec(error.message) ?? [systemErrorCode(error)];
    if (code === undefined) return error;
    const detail = { target: this.name, code, reason: error.message };
    return new CodedError('sync-target-failed', detail, { cause: error });
  }

  #transact<Result>(work: (file: DuckDBConnection) => Promise<Result>): Promise<Result> {
    const run = async () => {
      const { DuckDBInstance } = await loadLibrary();
      const instance = await DuckDBInstance.create(this.#path);
      try {
        const file = await instance.connect();
        try {
          await file.run('begin');
          const result = await work(file);
          await file.run('commit');
          return result;
        } finally {
          // A transaction that is not committed is rolled back.
          file.closeSync();
        }
      } finally {
        instance.closeSync();
      }
    };
    const result = this.#last.then(run, run);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

async function loadLibrary(): Promise<typeof import('@duckdb/node-api')> {
  try {
    // biome-ignore lint/correctness/noUndeclaredDependencies: the user installs this package
    return await import('@duckdb/node-api');
  } catch (error) {
    if (systemErrorCode(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw packageMissing(error);
  }
}

function packageMissing(cause: unknown): CodedError {
  return new CodedError('sync-package-missing', { package: packageName }, { cause });
}

class DuckDbWriter implements TableWriter {
  readonly #plan: TablePlan;
  readonly #generation: number;
  readonly #rowsPath: string;
  readonly #transact: Transact;

  constructor(
    options: { readonly plan: TablePlan; readonly generation: number; readonly path: string },
    transact: Transact,
  ) {
    this.#plan = options.plan;
    this.#generation = options.generation;
    this.#rowsPath = `${options.path}.${options.plan.name}.parquet`;
    this.#transact = transact;
  }

  write(
    change: { readonly rollbackTo: number | undefined; readonly rows: readonly Row[] },
    next: StoredTable,
  ): Promise<void> {
    const { name } = this.#plan;
    const { rollbackTo, rows } = change;
    return this.#transact(async (file) => {
      const found = await readState(file, this.#plan);
      if (found?.generation !== this.#generation)
        throw new CodedError('sync-table-busy', { table: name });
      if (rollbackTo !== undefined)
        await file.run(`delete from ${quoteName(name)} where slot > $1`, [BigInt(rollbackTo)]);
      if (rows.length > 0) await this.#insert(file, rows);
      await file.run('update sluice.tables set state = $2 where table_name = $1', [
        name,
        JSON.stringify(next),
      ]);
    });
  }

  /** The rows go through a Parquet file, which DuckDB reads much faster than statements with values. */
  async #insert(file: DuckDBConnection, rows: readonly Row[]): Promise<void> {
    const { name, columns } = this.#plan;
    try {
      writeFileSync(this.#rowsPath, encodeRows(columns, rows));
      const values = columns.map((column) => `"${column.name}"::${typeName(column.type)}`);
      await file.run(
        `insert into ${quoteName(name)} select ${values.join(', ')} from read_parquet($1)`,
        [this.#rowsPath],
      );
    } finally {
      rmSync(this.#rowsPath, { force: true });
    }
  }

  async close(): Promise<void> {}
}

const splitName = (name: string) => {
  const [schema, table] = name.split('.');
  return { schema: schema === 'public' ? 'main' : (schema ?? 'main'), table: table ?? name };
};

function quoteName(name: string): string {
  const { schema, table } = splitName(name);
  return `"${schema}"."${table}"`;
}

async function tableExists(file: DuckDBConnection, plan: TablePlan): Promise<boolean> {
  const { schema, table } = splitName(plan.name);
  const found = await file.runAndReadAll(
    'select 1 from information_schema.tables where table_schema = $1 and table_name = $2',
    [schema, table],
  );
  return found.currentRowCount > 0;
}

async function readState(
  file: DuckDBConnection,
  { name }: TablePlan,
): Promise<{ generation: number; state: StoredTable } | undefined> {
  const found = await file.runAndReadAll(
    'select generation, state from sluice.tables where table_name = $1',
    [name],
  );
  const [row] = found.getRows();
  return row && { generation: Number(row[0]), state: JSON.parse(String(row[1])) };
}

async function createTable(file: DuckDBConnection, plan: TablePlan): Promise<void> {
  await file.run(`create schema if not exists "${splitName(plan.name).schema}"`);
  await file.run(`drop table if exists ${quoteName(plan.name)}`);
  await file.run(createStatement(plan));
}

function createStatement({ name, columns }: TablePlan): string {
  const lines = columns.map(
    (column) => `  "${column.name}" ${typeName(column.type)}${column.isKey ? ' not null' : ''}`,
  );
  return `create table ${quoteName(name)} (\n${lines.join(',\n')});`;
}

/** A numeric without a number of digits may have more than the 38 of a decimal, so it is text, as large numbers are in Parquet files. */
function typeName({ sql }: ColumnType): string {
  const [, digits] = /^numeric\((.*)\)$/.exec(sql) ?? [];
  if (digits !== undefined && Number.parseInt(digits, 10) <= 38) return `decimal(${digits})`;
  if (sql.startsWith('numeric')) return 'varchar';
  const names: Readonly<Record<string, string>> = {
    'double precision': 'double',
    bytea: 'blob',
    jsonb: 'json',
    text: 'varchar',
    'text[]': 'varchar[]',
  };
  return names[sql] ?? sql;
}
