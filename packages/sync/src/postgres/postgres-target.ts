/** Tables in PostgreSQL. */
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { addedColumns } from '../compare-definitions.ts';
import type { Row } from '../row-builder.ts';
import type { TableDefinition, TablePlan } from '../table-plan.ts';
import type {
  OpenOptions,
  Span,
  SyncTarget,
  TableState,
  TableStatus,
  TableStore,
} from '../target.ts';
import { explain, isTransient } from './postgres-errors.ts';
import { PostgresStore } from './postgres-store.ts';
import { Session } from './session.ts';
import {
  columnWriters,
  createIndex,
  createKey,
  createTable,
  lockKey,
  quote,
  quoteTable,
  stateSchema,
} from './statements.ts';

/** How long to wait for the lock of a process that was killed: the server notices that some time later. */
const lockMsMax = 5_000;
const lockPollMs = 100;
/** The advisory lock under which the tables of the state are created. */
const schemaLock = 7_582_341;

interface StateRow {
  readonly definition: TableDefinition;
  readonly indexes: TablePlan['indexes'];
  readonly generation: string;
  readonly phase: TableState['phase'];
  readonly cursor: TableState['cursor'];
  readonly next_block: string | null;
  readonly first_block: string | null;
  readonly fill: TableState['fill'];
}

interface SpanRow {
  readonly first: string;
  readonly last: string;
  readonly cursor: Span['cursor'];
  readonly is_done: boolean;
}

export class PostgresTarget implements SyncTarget {
  readonly name: string;
  readonly isSequential = false;
  readonly isFinalizedOnly = false;
  readonly #url: string;
  readonly #clock: Clock;

  constructor(url: string, { clock }: { readonly clock: Clock }) {
    this.#url = url;
    this.#clock = clock;
    this.name = withoutPassword(url);
  }

  async check(dropped: readonly string[]): Promise<void> {
    const session = await this.#open();
    try {
      const [found] = await session.query<{ exists: boolean }>(
        `select to_regclass('sluice.spans') is not null as exists`,
      );
      if (found?.exists === true) return await this.#checkDrops(session, dropped);
      await session.transaction(async () => {
        await session.run(`select pg_advisory_xact_lock(${schemaLock})`);
        await session.run(stateSchema);
      });
    } finally {
      await session.close();
    }
  }

  /** Drops tables in a transaction that is rolled back. */
  async #checkDrops(session: Session, tables: readonly string[]): Promise<void> {
    for (const table of tables) await this.#lock(session, table);
    await session.run('begin');
    for (const table of tables) {
      const [found] = await session.query<{ foreign: boolean }>(
        `select to_regclass($1) is not null and not exists (select from sluice.tables where table_name = $2) as foreign`,
        [quoteTable(table), table],
      );
      if (found?.foreign === true) throw new CodedError('sync-table-foreign', { table });
      await session.run(`drop table if exists ${quoteTable(table)}`);
    }
    await session.run('rollback');
  }

  async openTable(plan: TablePlan, options: OpenOptions): Promise<TableStore> {
    const session = await this.#open();
    try {
      await this.#lock(session, plan.name);
      const { state, generation } = await session.transaction(() =>
        prepareTable(session, plan, options),
      );
      const hasPlannedTypes = await compareTypes(session, plan);
      const openSession = () => this.#open();
      return new PostgresStore({ plan, state, generation, hasPlannedTypes, session, openSession });
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  async #lock(session: Session, table: string): Promise<void> {
    const endMs = this.#clock.nowMs() + lockMsMax;
    for (;;) {
      const [found] = await session.query<{ locked: boolean }>(
        'select pg_try_advisory_lock($1) as locked',
        [String(lockKey(table))],
      );
      if (found?.locked === true) return;
      if (this.#clock.nowMs() >= endMs) throw new CodedError('sync-table-busy', { table });
      await this.#clock.sleep(lockPollMs);
    }
  }

  describe(plan: TablePlan): string {
    const indexes = plan.indexes.map((columns) => createIndex(plan.name, columns));
    return [createTable(plan), createKey(plan), ...indexes].join('\n');
  }

  writeRow({ columns }: TablePlan, row: Row): readonly string[] {
    return columnWriters(columns).map((write, i) => write(row[i]));
  }

  async status(): Promise<readonly TableStatus[]> {
    const session = await this.#open();
    try {
      const rows = await session.query<StatusRow>(statusQuery);
      return rows.map(toStatus);
    } finally {
      await session.close();
    }
  }

  isTransient(error: unknown): boolean {
    return isTransient(error);
  }

  explain(error: unknown): unknown {
    return explain(error, this.name);
  }

  #open(): Promise<Session> {
    return Session.open(this.#url);
  }
}

function withoutPassword(url: string): string {
  if (!URL.canParse(url)) return url.replace(/:[^:@/]*@/, '@');
  const parsed = new URL(url);
  return `${parsed.protocol}//${parsed.username === '' ? '' : `${parsed.username}@`}${parsed.host}${parsed.pathname}`;
}

/** Returns whether the columns of the table have the types of the plan. A user may have changed them. */
async function compareTypes(session: Session, { name, columns }: TablePlan): Promise<boolean> {
  const [found] = await session.query<{ same: boolean }>(
    `select bool_and(a.atttypid = t.type::regtype) as same from unnest($2::text[], $3::text[]) t (name, type)
    left join pg_attribute a on a.attrelid = $1::regclass and a.attname = t.name and not a.attisdropped`,
    [
      quoteTable(name),
      columns.map((column) => column.name),
      columns.map(({ type }) => type.sql.replace(/\(.*/, '')),
    ],
  );
  return found?.same === true;
}

interface Prepared {
  readonly state: TableState;
  readonly generation: string;
}

/** Creates the table, or changes an existing one to the definition. Runs in a transaction. */
async function prepareTable(
  session: Session,
  plan: TablePlan,
  { isRebuilt }: OpenOptions,
): Promise<Prepared> {
  const { name } = plan;
  const [regclass] = await session.query<{ exists: boolean }>(
    'select to_regclass($1) is not null as exists',
    [quoteTable(name)],
  );
  let exists = regclass?.exists === true;
  let [row] = await session.query<StateRow>(
    'select * from sluice.tables where table_name = $1 for update',
    [name],
  );
  if (row === undefined && exists) throw new CodedError('sync-table-foreign', { table: name });
  if (row !== undefined && (isRebuilt || !exists)) {
    if (exists) await session.run(`drop table ${quoteTable(name)}`);
    await session.query('delete from sluice.tables where table_name = $1', [name]);
    row = undefined;
    exists = false;
  }
  return row === undefined ? createNew(session, plan) : openExisting(session, plan, row);
}

async function createNew(session: Session, plan: TablePlan): Promise<Prepared> {
  const { name, definition } = plan;
  await session.run(createTable(plan));
  await session.query(
    `insert into sluice.tables (table_name, definition, indexes, generation, phase, row_count, fork_count, updated_at)
    values ($1, $2, '[]', 1, 'load', 0, 0, now())`,
    [name, JSON.stringify(definition)],
  );
  const state = { phase: 'load', spans: [], cursor: null, nextBlock: null, fill: null } as const;
  return { state, generation: '1' };
}

async function openExisting(
  session: Session,
  plan: TablePlan,
  stored: StateRow,
): Promise<Prepared> {
  const { name, definition } = plan;
  const added = addedColumns(name, { stored: stored.definition, given: definition });
  // A load that is not finished starts again with all columns.
  if (added.length > 0 && stored.phase === 'load')
    return prepareTable(session, plan, { isRebuilt: true });
  const fill = await addColumns(session, { plan, stored, added });
  const isFollowing = stored.phase === 'follow';
  const known = new Set(stored.indexes.map((columns) => columns.join()));
  const indexes = isFollowing ? plan.indexes.filter((columns) => !known.has(columns.join())) : [];
  for (const columns of indexes) await session.run(createIndex(name, columns));
  const [updated] = await session.query<{ generation: string }>(
    `update sluice.tables set generation = generation + 1, definition = $2, indexes = $3, fill = $4
    where table_name = $1 returning generation`,
    [
      name,
      JSON.stringify(definition),
      JSON.stringify([...stored.indexes, ...indexes]),
      fill === null ? null : JSON.stringify(fill),
    ],
  );
  const spans = await session.query<SpanRow>(
    'select * from sluice.spans where table_name = $1 order by first',
    [name],
  );
  return {
    generation: updated?.generation ?? '',
    state: {
      phase: stored.phase,
      spans: spans.map((span) => ({
        first: Number(span.first),
        last: Number(span.last),
        cursor: span.cursor,
        isDone: span.is_done,
      })),
      cursor: stored.cursor,
      nextBlock: stored.next_block === null ? null : Number(stored.next_block),
      fill,
    },
  };
}

/** Adds new columns, and returns the slots of the rows in which they have to be filled. */
async function addColumns(
  session: Session,
  change: {
    readonly plan: TablePlan;
    readonly stored: StateRow;
    readonly added: readonly string[];
  },
): Promise<TableState['fill']> {
  const { plan, stored, added } = change;
  const last = stored.cursor?.blocks.at(-1)?.number;
  for (const { name, type } of plan.columns.filter((column) => added.includes(column.name)))
    await session.run(`alter table ${quoteTable(plan.name)} add column ${quote(name)} ${type.sql}`);
  if (added.length === 0 || last === undefined) return stored.fill;
  const columns = [...(stored.fill?.columns ?? []), ...added];
  return { columns, first: Number(stored.first_block ?? 0), last };
}

interface StatusRow {
  readonly table_name: string;
  readonly phase: TableState['phase'];
  readonly loaded: number | null;
  readonly slot: string | null;
  readonly block_time: Date | null;
  readonly row_count: string;
  readonly fork_count: string;
  readonly updated_at: Date;
}

const statusQuery = `
select t.*, (
  select sum(case when is_done then last - first + 1
    else coalesce((cursor -> 'blocks' -> -1 ->> 'number')::bigint - first + 1, 0) end)::double precision
    / sum(last - first + 1) from sluice.spans s where s.table_name = t.table_name) as loaded
from sluice.tables t order by table_name`;

function toStatus(row: StatusRow): TableStatus {
  return {
    table: row.table_name,
    phase: row.phase,
    loadedShare: row.phase === 'follow' ? 1 : (row.loaded ?? 0),
    slot: row.slot === null ? null : Number(row.slot),
    blockTime: row.block_time,
    rowCount: Number(row.row_count),
    forkCount: Number(row.fork_count),
    updatedAt: row.updated_at,
  };
}
