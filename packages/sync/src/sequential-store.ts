/**
 * A table in a target that takes blocks in order only: files and streams of messages. The history is one span, and there are no new columns
 * in rows that exist, so such a target needs one operation, which stores rows and the state of the table together.
 */
import { assert } from '@sluice/base/assert';
import { CodedError } from '@sluice/base/errors';
import type { CursorState } from '@sluice/client';
import { addedColumns } from './compare-definitions.ts';
import type { Row } from './row-builder.ts';
import type { TableDefinition, TablePlan } from './table-plan.ts';
import type { Change, LoadEnd, Span, TableState, TableStatus, TableStore, Tip } from './target.ts';

/** What is stored of a table beside its rows, as plain JSON. */
export interface StoredTable {
  readonly definition: TableDefinition;
  readonly span: Span | null;
  readonly phase: TableState['phase'];
  readonly cursor: CursorState | null;
  readonly nextBlock: number | null;
  readonly unixSeconds: number | null;
  readonly rowCount: number;
  readonly forkCount: number;
  readonly updatedAt: string;
}

export interface TableWriter {
  /** Stores rows in their order, after the rows above `rollbackTo` are removed, and the state. All of it or nothing. */
  write(
    change: { readonly rollbackTo: number | undefined; readonly rows: readonly Row[] },
    next: StoredTable,
  ): Promise<void>;
  close(): Promise<void>;
}

/** Returns the state of a new table. */
export function newTable(plan: TablePlan, nowMs: number): StoredTable {
  return {
    ...{ definition: plan.definition, span: null, phase: 'load', cursor: null, nextBlock: null },
    ...{ unixSeconds: null, rowCount: 0, forkCount: 0, updatedAt: new Date(nowMs).toISOString() },
  };
}

/** Throws `sync-table-changed` if the stored rows have other columns or another query. */
export function checkDefinition(plan: TablePlan, stored: TableDefinition): void {
  const [added] = addedColumns(plan.name, { stored, given: plan.definition });
  if (added === undefined) return;
  const changed = `the column ${added}`;
  const detail = { table: plan.name, changed, stored: 'absent', given: 'a new column' };
  throw new CodedError('sync-table-changed', detail);
}

export class SequentialStore implements TableStore {
  readonly columnLoad = undefined;
  readonly state: TableState;
  readonly #writer: TableWriter;
  readonly #nowMs: () => number;
  #stored: StoredTable;

  constructor(stored: StoredTable, writer: TableWriter, nowMs: () => number) {
    const { phase, cursor, nextBlock, span } = stored;
    this.state = { phase, cursor, nextBlock, spans: span === null ? [] : [span], fill: null };
    this.#stored = stored;
    this.#writer = writer;
    this.#nowMs = nowMs;
  }

  startLoad([span]: readonly Span[]): Promise<void> {
    return this.#write({}, { span: span ?? null });
  }

  load(span: Span, rows: readonly Row[]): Promise<void> {
    return this.#write({ rows }, { span, cursor: span.cursor });
  }

  finishLoad({ cursor, nextBlock, unixSeconds }: LoadEnd): Promise<void> {
    const time = timeOf({ unixSeconds });
    return this.#write({}, { phase: 'follow', cursor, nextBlock, span: null, ...time });
  }

  commit({ rollbackTo, rows, cursor, tip }: Change): Promise<void> {
    const forkCount = this.#stored.forkCount + (rollbackTo === undefined ? 0 : 1);
    return this.#write({ rollbackTo, rows }, { cursor, forkCount, ...timeOf(tip) });
  }

  fillColumns(): Promise<void> {
    assert(false, 'a sequential target refuses new columns');
  }

  close(): Promise<void> {
    return this.#writer.close();
  }

  async #write(
    { rollbackTo, rows = [] }: { rollbackTo?: number | undefined; rows?: readonly Row[] },
    change: Partial<StoredTable>,
  ): Promise<void> {
    const next = {
      ...this.#stored,
      ...change,
      rowCount: this.#stored.rowCount + rows.length,
      updatedAt: new Date(this.#nowMs()).toISOString(),
    };
    await this.#writer.write({ rollbackTo, rows }, next);
    this.#stored = next;
  }
}

function timeOf({ unixSeconds }: Pick<Tip, 'unixSeconds'>): Partial<StoredTable> {
  return unixSeconds === null ? {} : { unixSeconds };
}

export function statusOf(table: string, stored: StoredTable): TableStatus {
  const { phase, span, cursor, unixSeconds, rowCount, forkCount, updatedAt } = stored;
  const slot = cursor?.blocks.at(-1)?.number ?? null;
  const loaded =
    span === null || slot === null ? 0 : (slot - span.first + 1) / (span.last - span.first + 1);
  return {
    ...{ table, phase, loadedShare: phase === 'follow' ? 1 : loaded, slot, rowCount, forkCount },
    blockTime: unixSeconds === null ? null : new Date(unixSeconds * 1000),
    updatedAt: new Date(updatedAt),
  };
}
