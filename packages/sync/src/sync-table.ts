/**
 * Keeps one table equal to its query: loads the finalized history in several spans at once, then follows the ledger block by block.
 *
 *   first ──── span ──── span ──── span ──── finalized head ──── head
 *   └──── load, in parallel, without indexes ────┘└── follow, in order ──┘
 *
 * Every position is stored with the rows. After any failure the table is opened again and continues at the stored positions.
 */
import type { ArrowField } from '@sluice/arrow/arrow-type';
import type { ArrowBatch } from '@sluice/arrow/ipc-reader';
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { type Client, type CursorState, isSluiceError, type Query } from '@sluice/client';
import type { ColumnPlan } from './column-plan.ts';
import { plainBlocks, type Row } from './row-builder.ts';
import type { OnSyncEvent } from './sync-events.ts';
import type { TablePlan } from './table-plan.ts';
import type { ColumnLoad, Fill, RowEncoder, Span, SyncTarget, TableStore, Tip } from './target.ts';

export interface TableOptions {
  readonly plan: TablePlan;
  readonly target: SyncTarget;
  readonly client: Client;
  /** The last slot; undefined to follow the ledger. */
  readonly toBlock: number | undefined;
  /** Whether to store finalized blocks only. */
  readonly isFinalized: boolean;
  readonly isRebuilt: boolean;
  /** The number of spans that are loaded at the same time. */
  readonly workerCount: number;
}

/** A record batch of an Arrow table, with the block up to which its rows are complete. */
export interface ColumnBatch {
  readonly fields: readonly ArrowField[];
  readonly batch: ArrowBatch;
  readonly covered: CursorState['blocks'][number];
}

/** Reads an Arrow table of finalized blocks, after the cursor if there is one. Retries nothing. */
export type ReadColumns = (
  request: {
    readonly query: Query;
    /** The table and its further columns, as parameters of the request. */
    readonly parameters: ColumnPlan['parameters'];
    readonly after: CursorState['blocks'][number] | undefined;
  },
  signal: AbortSignal,
) => AsyncIterable<ColumnBatch>;

export interface TableDependencies {
  readonly readColumns: ReadColumns;
  readonly clock: Clock;
  readonly onEvent: OnSyncEvent;
  readonly signal: AbortSignal;
}

/** Rows that are stored in one transaction of a load: enough that a commit costs little, and few enough for the memory. */
const rowsMax = 20_000;
/** The same for rows in the form of the target. Each span that is loaded has at most twice this in memory. */
const encodedBytesMax = 8 << 20;
/** Batches of up to a megabyte, for wide rows. */
const batchesMax = 16;
/** More spans than workers, so that a dense part of the history does not keep one worker busy at the end. */
const spansPerWorker = 4;
/** A table that is further behind than this reads finalized blocks first, without a line for each block. */
const catchUpSlots = 500;
/** How long the deletion of replaced blocks waits for the blocks that replace them, to be stored in the same transaction. */
const rollbackWaitMs = 1_000;
const retryFirstMs = 250;
const retryMaxMs = 10_000;

interface Position {
  readonly cursor: CursorState | null;
  readonly nextBlock: number;
}

export class TableSync {
  readonly #options: TableOptions;
  readonly #dependencies: TableDependencies;
  #isRebuilt: boolean;
  #failureCount = 0;

  constructor(options: TableOptions, dependencies: TableDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#isRebuilt = options.isRebuilt;
  }

  /** Resolves when `toBlock` is reached. Rejects with an error that a retry cannot correct, or when the signal aborts. */
  async run(): Promise<void> {
    const { clock, signal, onEvent } = this.#dependencies;
    const { target, plan, toBlock } = this.#options;
    for (;;) {
      try {
        await this.#runOnce();
        if (toBlock !== undefined) onEvent({ kind: 'end', table: plan.name, slot: toBlock });
        return;
      } catch (error) {
        signal.throwIfAborted();
        // The target must not explain an error of the service, which can be a lost connection too.
        const isTarget = !isSluiceError(error);
        const explained = isTarget ? target.explain(error) : error;
        const isTransient = isServiceFailure(error) || (isTarget && target.isTransient(error));
        if (!isTransient) throw explained;
        const waitMs = Math.min(retryFirstMs * 2 ** this.#failureCount++, retryMaxMs);
        onEvent({ kind: 'retry', table: plan.name, error: explained, waitMs });
        await clock.sleep(waitMs, signal);
      }
    }
  }

  async #runOnce(): Promise<void> {
    const { target, plan } = this.#options;
    const store = await target.openTable(plan, { isRebuilt: this.#isRebuilt });
    this.#isRebuilt = false;
    const { signal } = this.#dependencies;
    try {
      const position = await this.#position(store, signal);
      const { fill } = store.state;
      await runTogether(fill === null ? 1 : 2, signal, (either, index) =>
        index === 0 || fill === null
          ? this.#follow(store, position, either)
          : this.#fill(store, fill, either),
      );
    } finally {
      await store.close();
    }
  }

  async #position(store: TableStore, signal: AbortSignal): Promise<Position> {
    const { state } = store;
    if (state.phase === 'load') return this.#load(store, signal);
    return { cursor: state.cursor, nextBlock: state.nextBlock ?? 0 };
  }

  async #load(store: TableStore, signal: AbortSignal): Promise<Position> {
    const { workerCount, plan, target } = this.#options;
    const { onEvent } = this.#dependencies;
    let { spans } = store.state;
    if (spans.length === 0) {
      const { first, last } = await this.#historyRange(signal);
      const countMax = target.isSequential ? 1 : workerCount * spansPerWorker;
      spans = splitRange(first, last, countMax);
      if (spans.length === 0) {
        await store.finishLoad({ cursor: null, nextBlock: first, unixSeconds: null });
        return { cursor: null, nextBlock: first };
      }
      await store.startLoad(spans);
    }
    const [firstSpan, lastSpan] = [spans[0], spans.at(-1)] as [Span, Span];
    onEvent({
      kind: 'load-start',
      table: plan.name,
      first: firstSpan.first,
      last: lastSpan.last,
    });
    const waiting = spans.filter(({ isDone }) => !isDone);
    let cursor = lastSpan.cursor;
    const { columnLoad } = store;
    await runTogether(workerCount, signal, async (either) => {
      const encoder = columnLoad?.openEncoder();
      for (let span = waiting.shift(); span !== undefined; span = waiting.shift()) {
        const end = await (columnLoad === undefined || encoder === undefined
          ? this.#loadSpan(store, span, either)
          : this.#loadColumns({ ...columnLoad, encoder }, span, either));
        if (span === lastSpan) cursor = end;
      }
    });
    if (!target.isSequential) onEvent({ kind: 'index', table: plan.name });
    const nextBlock = lastSpan.last + 1;
    const unixSeconds = await this.#timeAt(cursor, signal);
    await store.finishLoad({ cursor, nextBlock, unixSeconds });
    return { cursor, nextBlock };
  }

  async #historyRange(signal: AbortSignal): Promise<{ first: number; last: number }> {
    const { client, plan, toBlock = Infinity } = this.#options;
    const [{ start_block }, final] = await Promise.all([
      client.metadata({ signal }),
      client.finalizedHead({ signal }),
    ]);
    const first = Math.max(plan.fromBlock ?? start_block, 0);
    return { first, last: Math.min(final?.number ?? -1, toBlock) };
  }

  /** Returns the time of the block up to which a load is complete. Its rows need not have it. */
  async #timeAt(cursor: CursorState | null, signal: AbortSignal): Promise<number | null> {
    const slot = cursor?.blocks.at(-1)?.number;
    if (slot === undefined) return null;
    const fields = { block: { number: true, timestamp: true } } as const;
    const query: Query = { fields, fromBlock: slot, toBlock: slot, includeAllBlocks: true };
    for await (const batch of this.#options.client.stream(query, { finalized: true, signal }))
      if (batch.kind !== 'rollback')
        return tipOf(plainBlocks(batch.blocks).at(-1)?.header).unixSeconds;
    return null;
  }

  /** Returns a function that reports the progress of a span after each part of it was stored. */
  #spanProgress(span: Span): (cursor: CursorState | null, rows: number, isDone: boolean) => void {
    let stored = span.cursor?.blocks.at(-1)?.number ?? span.first - 1;
    return (cursor, rows, isDone) => {
      this.#failureCount = 0;
      const slot = isDone ? span.last : (cursor?.blocks.at(-1)?.number ?? stored);
      const table = this.#options.plan.name;
      this.#dependencies.onEvent({ kind: 'load', table, slots: slot - stored, rows });
      stored = slot;
    };
  }

  async #loadColumns(
    { columns, encoder, load }: ColumnLoad & { readonly encoder: RowEncoder },
    span: Span,
    signal: AbortSignal,
  ): Promise<CursorState | null> {
    const { parameters, query } = columns;
    const report = this.#spanProgress(span);
    let { cursor } = span;
    const save = async (isDone: boolean) => {
      const rows = encoder.take();
      await load({ ...span, cursor, isDone }, rows);
      report(cursor, rows.rowCount, isDone);
    };
    const request = {
      query: { ...query, fromBlock: span.first, toBlock: span.last },
      parameters,
      after: cursor?.blocks.at(-1),
    };
    for await (const { fields, batch, covered } of this.#dependencies.readColumns(
      request,
      signal,
    )) {
      encoder.add(fields, batch);
      cursor = { blocks: [covered] };
      if (encoder.byteCount >= encodedBytesMax) await save(false);
    }
    await save(true);
    return cursor;
  }

  async #loadSpan(store: TableStore, span: Span, signal: AbortSignal): Promise<CursorState | null> {
    const report = this.#spanProgress(span);
    let cursor = span.cursor;
    const save = async (rows: readonly Row[], isDone: boolean) => {
      await store.load({ ...span, cursor, isDone }, rows);
      report(cursor, rows.length, isDone);
    };
    let rows: Row[] = [];
    let batchCount = 0;
    const range = { cursor, fromBlock: span.first, toBlock: span.last };
    for await (const batch of this.#finalized(range, signal)) {
      for (const row of batch.rows) rows.push(row);
      cursor = batch.cursor;
      if (rows.length < rowsMax && ++batchCount < batchesMax) continue;
      await save(rows, false);
      rows = [];
      batchCount = 0;
    }
    await save(rows, true);
    return cursor;
  }

  /** Yields the rows of finalized blocks, in order. */
  async *#finalized(
    range: { cursor: CursorState | null; fromBlock: number; toBlock: number | undefined },
    signal: AbortSignal,
  ): AsyncGenerator<{ rows: Row[]; cursor: CursorState; tip: Tip }> {
    const { client, plan } = this.#options;
    const { cursor, ...slots } = range;
    const query: Query = { ...plan.query, ...slots, toBlock: slots.toBlock ?? null };
    const stream = client.stream(query, { finalized: true, signal, cursor: cursor ?? undefined });
    for await (const batch of stream) {
      if (batch.kind === 'rollback') continue;
      const blocks = plainBlocks(batch.blocks);
      const rows = blocks.flatMap((block) => plan.rowsOf(block));
      yield { rows, cursor: batch.cursor, tip: tipOf(blocks.at(-1)?.header) };
    }
  }

  async #follow(store: TableStore, start: Position, signal: AbortSignal): Promise<void> {
    const { toBlock, isFinalized, plan, client } = this.#options;
    let { cursor } = start;
    const fromBlock = start.nextBlock;
    const slot = cursor?.blocks.at(-1)?.number;
    if (slot !== undefined && toBlock !== undefined && slot >= toBlock) return;
    this.#dependencies.onEvent({ kind: 'follow', table: plan.name, slot });
    // A range that ends is read from finalized blocks, because a block that was stored at last could still be replaced.
    let finalizedEnd = toBlock;
    if (!isFinalized && toBlock === undefined) {
      const final = await client.finalizedHead({ signal });
      const isFar = final !== null && final.number - (slot ?? fromBlock) > catchUpSlots;
      finalizedEnd = isFar ? final.number : -1;
    }
    if (finalizedEnd !== -1) {
      const range = { cursor, fromBlock, toBlock: finalizedEnd };
      for await (const batch of this.#finalized(range, signal)) {
        cursor = batch.cursor;
        await this.#commit(store, { ...batch, rollbackTo: undefined });
      }
    }
    if (isFinalized || toBlock !== undefined) return;
    await this.#followHead(store, { cursor, nextBlock: fromBlock }, signal);
  }

  /** Stores every block as it arrives. A line for each block keeps the position at the head, also if a block has no rows. */
  async #followHead(store: TableStore, position: Position, signal: AbortSignal): Promise<void> {
    const { client, plan } = this.#options;
    const query: Query = {
      ...plan.query,
      fromBlock: position.nextBlock,
      includeAllBlocks: true,
    };
    const stream = client.stream(query, { signal, cursor: position.cursor ?? undefined });
    let rollback: { to: number; cursor: CursorState } | undefined;
    for (;;) {
      const next = stream.next();
      if (rollback !== undefined && !(await this.#arrives(next))) {
        const { to, cursor } = rollback;
        const tip = { slot: to, unixSeconds: null };
        await this.#commit(store, { rows: [], cursor, tip, rollbackTo: to });
        rollback = undefined;
      }
      const step = await next;
      if (step.done === true) return;
      const batch = step.value;
      if (batch.kind === 'rollback') {
        const to = Math.min(batch.to.number, rollback?.to ?? Infinity);
        rollback = { to, cursor: batch.cursor };
        continue;
      }
      const blocks = plainBlocks(batch.blocks);
      const rows = blocks.flatMap((block) => plan.rowsOf(block));
      const tip = tipOf(blocks.at(-1)?.header);
      await this.#commit(store, { rows, cursor: batch.cursor, tip, rollbackTo: rollback?.to });
      rollback = undefined;
    }
  }

  /** Returns whether a promise is settled before the wait is over. */
  #arrives(next: Promise<unknown>): Promise<boolean> {
    const settled = next.then(
      () => true,
      () => true,
    );
    return Promise.race([
      settled,
      this.#dependencies.clock.sleep(rollbackWaitMs).then(() => false),
    ]);
  }

  async #commit(store: TableStore, change: Parameters<TableStore['commit']>[0]): Promise<void> {
    await store.commit(change);
    this.#failureCount = 0;
    const { tip, rows, rollbackTo } = change;
    this.#dependencies.onEvent({
      kind: 'commit',
      table: this.#options.plan.name,
      ...tip,
      rows: rows.length,
      rollbackTo,
    });
  }

  /** Fills new columns from finalized blocks, while the table is followed with them. */
  async #fill(store: TableStore, fill: Fill, signal: AbortSignal): Promise<void> {
    const { onEvent } = this.#dependencies;
    const { columns, first, last } = fill;
    const table = this.#options.plan.name;
    onEvent({ kind: 'fill', table, columns, last });
    const range = { cursor: null, fromBlock: first, toBlock: last };
    for await (const { rows, tip } of this.#finalized(range, signal))
      await store.fillColumns(rows, { ...fill, first: tip.slot + 1 });
    await store.fillColumns([], null);
    onEvent({ kind: 'filled', table, columns });
  }
}

/** Returns whether the service can be expected to work again: it cannot be reached, or it is busy or starting. */
export function isServiceFailure(error: unknown): boolean {
  if (isSluiceError(error)) return error.retryable;
  if (!(error instanceof CodedError)) return false;
  if (error.code === 'service-unreachable') return true;
  return error.code === 'service-refused' && [429, 503].includes(Number(error.detail['status']));
}

function tipOf(header: Readonly<Record<string, unknown>> | undefined): Tip {
  const time = header?.['timestamp'];
  const unixSeconds = time === null || time === undefined ? null : Number(time);
  return { slot: Number(header?.['number']), unixSeconds };
}

/** Runs tasks together. If one fails, the others are stopped and end before its error is thrown, because they use the same store. */
async function runTogether(
  count: number,
  signal: AbortSignal,
  run: (either: AbortSignal, index: number) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const either = AbortSignal.any([stop.signal, signal]);
  const tasks = Array.from({ length: count }, (_, index) =>
    run(either, index).catch((error: unknown) => {
      if (!stop.signal.aborted) stop.abort(error);
    }),
  );
  await Promise.all(tasks);
  stop.signal.throwIfAborted();
}

/** Divides a range of slots into disjoint spans of nearly equal length. */
export function splitRange(first: number, last: number, countMax: number): readonly Span[] {
  const slotCount = last - first + 1;
  const count = Math.max(Math.min(countMax, slotCount), 0);
  const startOf = (i: number) => first + Math.floor((slotCount * i) / count);
  return Array.from({ length: count }, (_, i) => ({
    first: startOf(i),
    last: startOf(i + 1) - 1,
    cursor: null,
    isDone: false,
  }));
}
