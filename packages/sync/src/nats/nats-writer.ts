/** Publishes the changes of one table. */
import type { JetStreamClient, JetStreamManager } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { CodedError } from '@sluice/base/errors';
import type { Row } from '../row-builder.ts';
import type { StoredTable, TableWriter } from '../sequential-store.ts';
import type { TablePlan } from '../table-plan.ts';
import { encodeRowLists } from './json-rows.ts';
import { isConflict } from './nats-errors.ts';

/** What the bucket has of a table. */
export interface KeptState {
  /** Grows with every process that opens the table. */
  readonly generation: number;
  /** Whether messages of a former table of this name may still have to be removed. */
  readonly isStarting: boolean;
  /** The sequence of the last message that the state includes. */
  readonly sequence: number;
  readonly table: StoredTable;
}

export interface WriterOptions {
  readonly plan: TablePlan;
  readonly stream: string;
  readonly subject: string;
  /** The state to start with, which the bucket does not have yet. */
  readonly kept: KeptState;
  /** The revision of the state in the bucket; 0 if there is none. */
  readonly revision: number;
}

export interface WriterDependencies {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly client: JetStreamClient;
  readonly kv: KV;
}

type Message =
  | { readonly kind: 'start'; readonly columns: readonly (readonly [string, string])[] }
  | { readonly kind: 'rows'; readonly rows: string }
  | { readonly kind: 'rollback'; readonly to: number };

/** The state without the definition, which does not change between messages. */
type Position = Omit<StoredTable, 'definition'>;

const stateHeader = 'Sluice-State';
/** Rows of a message at most. The default limit of a server is 1 MiB, with the headers. */
const rowBytesMax = 256 << 10;

export class NatsWriter implements TableWriter {
  readonly #options: WriterOptions;
  readonly #dependencies: WriterDependencies;
  #kept: KeptState;
  #revision: number;
  /** The sequence of the last message of the subject; 0 if it has none. */
  #sequence: number;

  constructor(options: WriterOptions, dependencies: WriterDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#kept = options.kept;
    this.#revision = options.revision;
    this.#sequence = options.kept.sequence;
  }

  /** Takes over the table, and returns its state after the messages that are stored. */
  async start(): Promise<StoredTable> {
    const { manager } = this.#dependencies;
    const { stream, subject, plan } = this.#options;
    await this.#keep(this.#kept.table);
    if (this.#kept.isStarting) {
      await manager.streams.purge(stream, { filter: subject });
      this.#sequence = 0;
      const columns = plan.columns.map(({ name, type }) => [name, type.sql] as const);
      await this.#publish({ kind: 'start', columns }, this.#kept.table);
      this.#kept = { ...this.#kept, isStarting: false };
      await this.#keep(this.#kept.table);
      return this.#kept.table;
    }
    const last = await manager.streams.getMessage(stream, { last_by_subj: subject });
    this.#sequence = last?.seq ?? 0;
    if (last === null || last.seq <= this.#kept.sequence) return this.#kept.table;
    const text = last.header.get(stateHeader);
    if (text === '') {
      const { table } = this.#kept;
      await this.#publish({ kind: 'rollback', to: slotOf(table) }, table);
      await this.#keep(table);
    } else {
      const position: Position = JSON.parse(text);
      await this.#keep({ ...this.#kept.table, ...position });
    }
    return this.#kept.table;
  }

  async write(
    change: { readonly rollbackTo: number | undefined; readonly rows: readonly Row[] },
    next: StoredTable,
  ): Promise<void> {
    const { rollbackTo, rows } = change;
    // A commit of its own: rows that follow may be published in part only, and the blocks before them must not count any more.
    if (rollbackTo !== undefined) {
      const before = rolledBack(this.#kept.table, next, rollbackTo);
      await this.#publish({ kind: 'rollback', to: rollbackTo }, before);
      await this.#keep(before);
    }
    const { columns } = this.#options.plan;
    let waiting: string | undefined;
    for (const text of encodeRowLists(columns, rows, rowBytesMax)) {
      if (waiting !== undefined) await this.#publish({ kind: 'rows', rows: waiting }, undefined);
      waiting = text;
    }
    if (waiting !== undefined) await this.#publish({ kind: 'rows', rows: waiting }, next);
    await this.#keep(next);
  }

  async close(): Promise<void> {
    await this.#dependencies.connection.close();
  }

  async #publish(message: Message, state: StoredTable | undefined): Promise<void> {
    const { client } = this.#dependencies;
    const { stream, subject } = this.#options;
    const described = headers();
    if (state !== undefined) {
      const { definition: _, ...position } = state;
      described.set(stateHeader, JSON.stringify(position));
    }
    try {
      const { seq } = await client.publish(subject, encode(message), {
        headers: described,
        msgID: `${subject} ${this.#kept.generation} ${this.#sequence}`,
        expect: { streamName: stream, lastSubjectSequence: this.#sequence },
        // If an acknowledgement is lost, opening the table again shows whether the message was stored.
        retries: 0,
      });
      this.#sequence = seq;
    } catch (error) {
      throw await this.#judge(error);
    }
  }

  async #keep(table: StoredTable): Promise<void> {
    const kept = { ...this.#kept, sequence: this.#sequence, table };
    const text = JSON.stringify(kept);
    const { kv } = this.#dependencies;
    try {
      this.#revision = await kv.put(this.#options.subject, text, { previousSeq: this.#revision });
    } catch (error) {
      throw await this.#judge(error);
    }
    this.#kept = kept;
  }

  /** A conflict is the end of this process only if another one has taken over. Otherwise a message was stored whose acknowledgement was lost. */
  async #judge(error: unknown): Promise<unknown> {
    if (!isConflict(error)) return error;
    const found = (await this.#dependencies.kv.get(this.#options.subject))?.json<KeptState>();
    const isReplaced = (found?.generation ?? 0) > this.#kept.generation;
    return isReplaced
      ? new CodedError('sync-table-busy', { table: this.#options.plan.name })
      : error;
  }
}

function encode(message: Message): string {
  return message.kind === 'rows'
    ? `{"kind":"rows","rows":${message.rows}}`
    : JSON.stringify(message);
}

function slotOf({ cursor, nextBlock, span }: Position): number {
  return cursor?.blocks.at(-1)?.number ?? (nextBlock ?? span?.first ?? 0) - 1;
}

/** The state after the blocks above a slot were removed, before others are added. */
function rolledBack(stored: StoredTable, next: StoredTable, to: number): StoredTable {
  const blocks = (stored.cursor?.blocks ?? []).filter(({ number }) => number <= to);
  const cursor = blocks.length === 0 ? null : { ...stored.cursor, blocks };
  return { ...stored, cursor, nextBlock: to + 1, forkCount: next.forkCount };
}
