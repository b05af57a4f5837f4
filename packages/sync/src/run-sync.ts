/** Synchronizes tables of a target with a dataset. */
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import type { Client, Query } from '@sluice/client';
import { plainBlocks, type Row } from './row-builder.ts';
import type { OnSyncEvent } from './sync-events.ts';
import { type ReadColumns, TableSync } from './sync-table.ts';
import { type FindProgram, planTable, type TablePlan } from './table-plan.ts';
import type { TableSpec } from './table-spec.ts';
import type { SyncTarget } from './target.ts';

/** Opens the target of an address, and loads only the modules that it needs. Throws `sync-target-unknown`. */
export async function openSyncTarget(
  url: string,
  options: { readonly clock: Clock },
): Promise<SyncTarget> {
  if (/^postgres(ql)?:\/\//.test(url)) {
    const { PostgresTarget } = await import('./postgres/postgres-target.ts');
    return new PostgresTarget(url, options);
  }
  if (url.startsWith('nats://')) {
    const { NatsTarget } = await import('./nats/nats-target.ts');
    return new NatsTarget(url, options);
  }
  const [, path] = /^duckdb:(.+)$/.exec(url) ?? [];
  if (path !== undefined) {
    const { DuckDbTarget } = await import('./duckdb/duckdb-target.ts');
    return new DuckDbTarget(path, options);
  }
  const [, folder] = /^parquet:(.+)$/.exec(url) ?? [];
  if (folder !== undefined) {
    const { ParquetTarget } = await import('./parquet/parquet-target.ts');
    return new ParquetTarget(folder, options);
  }
  throw new CodedError('sync-target-unknown', { found: url.replace(/\/\/[^@]*@/, '//') });
}

/** Returns the plans of all tables. Each program is looked up once. Fails if the service has no such dataset or does not respond. */
export async function planTables(
  specs: readonly TableSpec[],
  client: Client,
): Promise<readonly TablePlan[]> {
  const programs = new Map<string, ReturnType<FindProgram>>();
  const findProgram: FindProgram = (programId) => {
    const found = programs.get(programId) ?? client.program(programId);
    programs.set(programId, found);
    return found;
  };
  // A ready-made table has no program to look up.
  await client.metadata();
  return Promise.all(specs.map((spec) => planTable(spec, findProgram)));
}

export interface SyncOptions {
  readonly plans: readonly TablePlan[];
  readonly target: SyncTarget;
  readonly client: Client;
  readonly toBlock: number | undefined;
  readonly isFinalized: boolean;
  readonly isRebuilt: boolean;
  readonly workerCount: number;
  /** How long the start waits for a target that cannot be reached yet. */
  readonly waitMsMax: number;
}

export interface SyncDependencies {
  readonly readColumns: ReadColumns;
  readonly clock: Clock;
  readonly onEvent: OnSyncEvent;
  /** Called with each failure after which the start waits. */
  readonly onWait: (error: unknown) => void;
  readonly signal: AbortSignal;
}

const startRepeatMs = 1_000;

/** Repeats the first use of a service or a target, which may be started at the same time as this process. */
export async function repeatStart<Result>(
  work: () => Promise<Result>,
  options: {
    readonly waitMsMax: number;
    readonly isTransient: (error: unknown) => boolean;
    readonly onFailure: (error: unknown) => void;
    readonly clock: Clock;
    readonly signal: AbortSignal;
  },
): Promise<Result> {
  const { clock, signal, waitMsMax, isTransient, onFailure } = options;
  const endMs = clock.nowMs() + waitMsMax;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isTransient(error) || clock.nowMs() + startRepeatMs > endMs) throw error;
      onFailure(error);
      await clock.sleep(startRepeatMs, signal);
      // The wait ends early when the command is stopped.
      if (signal.aborted) throw error;
    }
  }
}

/** Runs until every table has reached `toBlock`, a table fails, or the signal aborts. */
export async function runSync(options: SyncOptions, dependencies: SyncDependencies): Promise<void> {
  const { plans, target, waitMsMax, ...rest } = options;
  // No table is dropped if another one cannot be.
  const dropped = options.isRebuilt ? plans.map(({ name }) => name) : [];
  try {
    await repeatStart(() => target.check(dropped), {
      ...dependencies,
      waitMsMax,
      isTransient: (error) => target.isTransient(error),
      onFailure: (error) => dependencies.onWait(target.explain(error)),
    });
  } catch (error) {
    throw target.explain(error);
  }
  const orders = target.isSequential ? { workerCount: 1 } : {};
  const finality = target.isFinalizedOnly ? { isFinalized: true } : {};
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, dependencies.signal]);
  const run = async (plan: TablePlan) => {
    try {
      await new TableSync(
        { ...rest, ...orders, ...finality, plan, target },
        { ...dependencies, signal },
      ).run();
    } catch (error) {
      stop.abort(error);
      throw error;
    }
  };
  await Promise.allSettled(plans.map(run)).then((results) => {
    if (stop.signal.aborted) throw stop.signal.reason;
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  });
}

/** Returns the first rows of a table. */
export async function readSample(
  plan: TablePlan,
  client: Client,
  options: { readonly countMax: number; readonly signal: AbortSignal },
): Promise<readonly Row[]> {
  const { countMax, signal } = options;
  const [{ start_block }, final] = await Promise.all([client.metadata(), client.finalizedHead()]);
  const rows: Row[] = [];
  const fromBlock = plan.fromBlock ?? start_block;
  if (final === null || final.number < fromBlock) return rows;
  const query: Query = { ...plan.query, fromBlock, toBlock: final.number };
  for await (const batch of client.stream(query, { finalized: true, signal })) {
    if (batch.kind === 'rollback') continue;
    for (const block of plainBlocks(batch.blocks)) rows.push(...plan.rowsOf(block));
    if (rows.length >= countMax) break;
  }
  return rows.slice(0, countMax);
}
