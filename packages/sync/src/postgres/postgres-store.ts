/** A table in PostgreSQL that this process writes. Rows and position are always committed together. */
import { assert } from '@sluice/base/assert';
import { planColumns } from '../column-plan.ts';
import type { WriteValue } from '../column-types.ts';
import type { Row } from '../row-builder.ts';
import type { TablePlan } from '../table-plan.ts';
import type { Change, ColumnLoad, Fill, LoadEnd, Span, TableState, TableStore } from '../target.ts';
import { ColumnEncoder } from './encode-columns.ts';
import { FencedError } from './postgres-errors.ts';
import type { Session } from './session.ts';
import {
  columnList,
  columnWriters,
  copyInto,
  createIndex,
  createKey,
  encodeRows,
  quote,
  quoteTable,
} from './statements.ts';

export interface StoreOptions {
  readonly plan: TablePlan;
  readonly state: TableState;
  readonly generation: string;
  /** Whether the columns have the types of the plan, which the binary form of COPY requires. */
  readonly hasPlannedTypes: boolean;
  /** The session that holds the lock of the table. */
  readonly session: Session;
  readonly openSession: () => Promise<Session>;
}

export class PostgresStore implements TableStore {
  readonly state: TableState;
  readonly columnLoad: ColumnLoad | undefined;
  readonly #plan: TablePlan;
  readonly #generation: string;
  readonly #session: Session;
  readonly #openSession: () => Promise<Session>;
  readonly #writers: readonly WriteValue[];
  /** Further sessions that load spans and fill columns. */
  readonly #idle: Session[] = [];
  readonly #all = new Set<Session>();
  #isClosed = false;

  constructor(options: StoreOptions) {
    const { plan, state, generation, hasPlannedTypes, session, openSession } = options;
    this.state = state;
    this.#plan = plan;
    this.#generation = generation;
    this.#session = session;
    this.#openSession = openSession;
    this.#writers = columnWriters(plan.columns);
    this.#all.add(session);
    this.columnLoad = hasPlannedTypes ? this.#columnLoad() : undefined;
  }

  #columnLoad(): ColumnLoad | undefined {
    const plan = this.#plan;
    const columns = planColumns(plan);
    if (columns === undefined) return undefined;
    const statement = `${copyInto(plan)} with (format binary)`;
    return {
      columns,
      openEncoder: () => new ColumnEncoder(plan, columns),
      load: (span, { rowCount, bytes }) =>
        this.#load(span, rowCount, (session) => session.copy(statement, { messages: bytes })),
    };
  }

  startLoad(spans: readonly Span[]): Promise<void> {
    return this.#session.transaction(async () => {
      await this.#updateState('first_block = $3', [spans[0]?.first ?? null]);
      for (const { first, last } of spans) {
        await this.#session.query('insert into sluice.spans values ($1, $2, $3, null, false)', [
          this.#plan.name,
          first,
          last,
        ]);
      }
    });
  }

  load(span: Span, rows: readonly Row[]): Promise<void> {
    return this.#load(span, rows.length, (session) => this.#copy(session, rows));
  }

  #load(
    { first, cursor, isDone }: Span,
    rowCount: number,
    copy: (session: Session) => Promise<void>,
  ): Promise<void> {
    return this.#withSession((session) =>
      session.transaction(async () => {
        // A crash of the server loses the newest commits as a whole, rows and positions, and they are then loaded again.
        await session.run('set local synchronous_commit = off');
        if (rowCount > 0) await copy(session);
        await session.query(
          'update sluice.spans set cursor = $3, is_done = $4 where table_name = $1 and first = $2',
          [this.#plan.name, first, JSON.stringify(cursor), isDone],
        );
        await this.#updateState('row_count = row_count + $3', [rowCount], session);
      }),
    );
  }

  finishLoad({ cursor, nextBlock, unixSeconds }: LoadEnd): Promise<void> {
    const { name, indexes } = this.#plan;
    return this.#session.transaction(async () => {
      await this.#session.run(createKey(this.#plan));
      for (const columns of indexes) await this.#session.run(createIndex(name, columns));
      await this.#updateState(
        `phase = 'follow', cursor = $3, next_block = $4, slot = $5, indexes = $6,
        block_time = to_timestamp($7::double precision)`,
        [
          cursor === null ? null : JSON.stringify(cursor),
          nextBlock,
          cursor?.blocks.at(-1)?.number ?? null,
          JSON.stringify(indexes),
          unixSeconds,
        ],
      );
      await this.#session.query('delete from sluice.spans where table_name = $1', [name]);
    });
  }

  commit({ rollbackTo, rows, cursor, tip }: Change): Promise<void> {
    return this.#session.transaction(async () => {
      const deleted = rollbackTo === undefined ? 0 : await this.#deleteAbove(rollbackTo);
      await this.#copy(this.#session, rows);
      await this.#updateState(
        `cursor = $3, slot = $4, block_time = to_timestamp($5::double precision),
        row_count = row_count + $6, fork_count = fork_count + $7`,
        [
          JSON.stringify(cursor),
          tip.slot,
          tip.unixSeconds,
          rows.length - deleted,
          rollbackTo === undefined ? 0 : 1,
        ],
      );
    });
  }

  async #deleteAbove(slot: number): Promise<number> {
    const [found] = await this.#session.query<{ count: string }>(
      `with deleted as (delete from ${quoteTable(this.#plan.name)} where slot > $1 returning 1)
      select count(*) from deleted`,
      [slot],
    );
    return Number(found?.count ?? 0);
  }

  fillColumns(rows: readonly Row[], rest: Fill | null): Promise<void> {
    const names = new Set(this.state.fill?.columns);
    const { name, columns } = this.#plan;
    const keys = columns.filter(({ isKey }) => isKey);
    const filled = columns.filter((column) => names.has(column.name));
    const used = columns.flatMap((column, i) =>
      column.isKey || names.has(column.name) ? [{ column, i }] : [],
    );
    const staged = used.map(({ column }) => column);
    const parts = rows.map((row) => used.map(({ i }) => row[i]));
    const sets = filled.map((column) => `${quote(column.name)} = s.${quote(column.name)}`);
    const join = keys.map((column) => `t.${quote(column.name)} = s.${quote(column.name)}`);
    return this.#withSession((session) =>
      session.transaction(async () => {
        await session.run(
          `create temporary table staged on commit drop as
          select ${columnList(staged)} from ${quoteTable(name)} with no data`,
        );
        const bytes = encodeRows(parts, columnWriters(staged));
        await session.copy(`copy staged (${columnList(staged)}) from stdin`, { rows: bytes });
        await session.run(
          `update ${quoteTable(name)} t set ${sets.join(', ')} from staged s where ${join.join(' and ')}`,
        );
        const value = rest === null ? null : JSON.stringify(rest);
        await this.#updateState('fill = $3', [value], session);
      }),
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#all].map((session) => session.close()));
  }

  async #copy(session: Session, rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    await session.copy(copyInto(this.#plan), { rows: encodeRows(rows, this.#writers) });
  }

  /** Changes the state, unless another process has taken over. It is the last statement of a transaction, because it locks the state. */
  async #updateState(
    assignments: string,
    values: readonly unknown[],
    session = this.#session,
  ): Promise<void> {
    const changed = await session.query(
      `update sluice.tables set ${assignments}, updated_at = now()
      where table_name = $1 and generation = $2 returning 1 as one`,
      [this.#plan.name, this.#generation, ...values],
    );
    if (changed.length !== 1) throw new FencedError(`another process writes ${this.#plan.name}`);
  }

  async #withSession<Result>(work: (session: Session) => Promise<Result>): Promise<Result> {
    assert(!this.#isClosed, 'a closed table is not written');
    const session = this.#idle.pop() ?? (await this.#openSession());
    this.#all.add(session);
    const result = await work(session);
    this.#idle.push(session);
    return result;
  }
}
