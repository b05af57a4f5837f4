/**
 * Tables as messages of NATS JetStream, for programs that want to be notified.
 *
 *   subject STREAM.TABLE    start | rows | rows | rollback | rows …
 *   bucket sluice-sync      the state of each table, and the process that writes it
 *
 * Every message is published with the sequence of the message before it in its subject, so the server refuses a message that is stored
 * already. The last message of a change has the new state in a header. If a process is killed between the messages of a change, the next
 * one publishes a rollback to the state before it.
 */
import {
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  StorageType,
} from '@nats-io/jetstream';
import { type KV, Kvm } from '@nats-io/kv';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { Clock } from '@sluice/base/clock';
import { CodedError } from '@sluice/base/errors';
import { buildWriter } from '../column-types.ts';
import type { Row } from '../row-builder.ts';
import { checkDefinition, newTable, SequentialStore, statusOf } from '../sequential-store.ts';
import type { TablePlan } from '../table-plan.ts';
import type { OpenOptions, SyncTarget, TableStatus, TableStore } from '../target.ts';
import { explain, isMissing, isTransient } from './nats-errors.ts';
import { type KeptState, NatsWriter } from './nats-writer.ts';

const streamDefault = 'sluice';
const bucketName = 'sluice-sync';
const requestMsMax = 5_000;

interface Address {
  readonly servers: readonly string[];
  readonly login: Readonly<Record<string, string>>;
  readonly stream: string;
}

export class NatsTarget implements SyncTarget {
  readonly name: string;
  readonly isSequential = true;
  readonly isFinalizedOnly = false;
  readonly #address: Address;
  readonly #clock: Clock;

  constructor(url: string, { clock }: { readonly clock: Clock }) {
    this.#address = parseAddress(url);
    this.#clock = clock;
    this.name = url.replace(/\/\/[^@]*@/, '//');
  }

  async check(): Promise<void> {
    await this.#using(async ({ manager, bucket }) => {
      await this.#createStream(manager);
      await bucket();
    });
  }

  async #createStream(manager: JetStreamManager): Promise<void> {
    const { stream } = this.#address;
    try {
      await manager.streams.info(stream);
    } catch (error) {
      if (!isMissing(error)) throw error;
      const subjects = [`${stream}.>`];
      await manager.streams.add({ name: stream, subjects, storage: StorageType.File });
    }
  }

  async openTable(plan: TablePlan, { isRebuilt }: OpenOptions): Promise<TableStore> {
    const link = await this.#connect();
    try {
      const { stream } = this.#address;
      const subject = `${stream}.${shortName(plan)}`;
      const kv = await link.bucket();
      const entry = await kv.get(subject);
      const found: KeptState | undefined = entry?.operation === 'PUT' ? entry.json() : undefined;
      if (found !== undefined && !isRebuilt) checkDefinition(plan, found.table.definition);
      if (found === undefined) {
        const last = await link.manager.streams.getMessage(stream, { last_by_subj: subject });
        if (last !== null) throw new CodedError('sync-table-foreign', { table: subject });
      }
      const isNew = found === undefined || isRebuilt;
      const kept: KeptState = {
        generation: (found?.generation ?? 0) + 1,
        isStarting: isNew || found.isStarting,
        sequence: isNew ? 0 : found.sequence,
        table: isNew ? newTable(plan, this.#clock.unixMs()) : found.table,
      };
      const revision = entry?.revision ?? 0;
      const options = { plan, stream, subject, kept, revision };
      const writer = new NatsWriter(options, { ...link, kv });
      const table = await writer.start();
      return new SequentialStore(table, writer, () => this.#clock.unixMs());
    } catch (error) {
      await link.connection.close();
      throw error;
    }
  }

  describe(plan: TablePlan): string {
    const lines = plan.columns.map(({ name, type }) => `--   ${name} ${type.sql}`);
    return [`-- subject ${this.#address.stream}.${shortName(plan)}`, ...lines].join('\n');
  }

  writeRow({ columns }: TablePlan, row: Row): readonly string[] {
    return columns.map(({ type }, i) => buildWriter(type)(row[i]));
  }

  status(): Promise<readonly TableStatus[]> {
    const prefix = `${this.#address.stream}.`;
    return this.#using(async ({ bucket }) => {
      const kv = await bucket();
      const names: string[] = [];
      for await (const key of await kv.keys(`${prefix}>`)) names.push(key);
      const tables: TableStatus[] = [];
      for (const key of names.sort()) {
        const kept = (await kv.get(key))?.json<KeptState>();
        if (kept !== undefined) tables.push(statusOf(key.slice(prefix.length), kept.table));
      }
      return tables;
    });
  }

  isTransient(error: unknown): boolean {
    return isTransient(error);
  }

  explain(error: unknown): unknown {
    return explain(error, this.name);
  }

  async #using<Result>(work: (link: Link) => Promise<Result>): Promise<Result> {
    const link = await this.#connect();
    try {
      return await work(link);
    } finally {
      await link.connection.close();
    }
  }

  /** A connection that breaks is not repaired: the table is opened again, which reads what was stored. */
  async #connect(): Promise<Link> {
    const { servers, login } = this.#address;
    const connection = await connect({
      ...login,
      servers: [...servers],
      name: 'sluice sync',
      timeout: requestMsMax,
      reconnect: false,
    });
    try {
      const manager = await jetstreamManager(connection, { timeout: requestMsMax });
      const client = jetstream(connection, { timeout: requestMsMax });
      const bucket = () =>
        new Kvm(client).create(bucketName, { history: 1, storage: StorageType.File });
      return { connection, manager, client, bucket };
    } catch (error) {
      await connection.close();
      throw error;
    }
  }
}

interface Link {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly client: ReturnType<typeof jetstream>;
  readonly bucket: () => Promise<KV>;
}

const shortName = ({ name }: TablePlan) => name.replace(/^public\./, '');

const addressPattern = /^nats:\/\/(?:([^@/]*)@)?([^@/?]+)(?:\/([\w-]*))?$/;

/** `nats://USER:PASSWORD@HOST:PORT,HOST:PORT/STREAM`. A user without a password is a token. */
function parseAddress(url: string): Address {
  const [, secrets, hosts, stream] = addressPattern.exec(url) ?? [];
  if (hosts === undefined)
    throw new CodedError('sync-target-unknown', { found: url.replace(/\/\/[^@]*@/, '//') });
  const [user = '', pass] = (secrets ?? '').split(':').map(decodeURIComponent);
  const named = pass === undefined ? { token: user } : { user, pass };
  const login = secrets === undefined ? {} : named;
  return { servers: hosts.split(','), login, stream: stream || streamDefault };
}
