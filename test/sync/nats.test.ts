/** `sluice sync` with a real NATS server while the ledger forks, and the command and the server are killed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jetstream } from '@nats-io/jetstream';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import { systemClock } from '@sluice/base/clock';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StormWorld } from '../client/storm-world.ts';
import { findProgram } from '../cluster/services/child.ts';
import { type NatsCluster, startNats } from '../cluster/services/start-nats.ts';
import { expectRows, type NodeBlock } from './expected-rows.ts';
import { startHoldingRelay } from './holding-relay.ts';
import { SyncProcess } from './sync-process.ts';

const hasNats = findProgram('nats-server', 'NATS_SERVER') !== undefined;
const forkCount = 12;
const killEveryForks = 2;
const firstSlot = 60;
const slotMs = 400;
const calmSlots = 40;
const subject = 'ledger.transactions';
const folder = mkdtempSync(join(tmpdir(), 'sluice-nats-sync-'));

let nats: NatsCluster;
let world: StormWorld;

beforeAll(async () => {
  if (!hasNats) return;
  nats = await startNats(folder, 1);
  world = await StormWorld.start({
    ...{ seed: 5, slotMs, killEverySlots: Infinity, forkEverySlots: 2 },
    ...{ burstSlotsMax: 3, forkDepthMax: 12, cutBytes: 300_000 },
  });
});

afterAll(async () => {
  await world?.close();
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const address = () => `nats://127.0.0.1:${nats.ports[0]}/ledger`;

type Row = Readonly<Record<string, unknown>>;
interface Message {
  readonly kind: 'start' | 'rows' | 'rollback';
  readonly rows?: readonly Row[];
  readonly to?: number;
}

/** Keeps the rows of the messages as a consumer does, and counts what it receives. */
class Consumer {
  rows: Row[] = [];
  readonly counts = { start: 0, rows: 0, rollback: 0 };
  readonly #connection: NatsConnection;

  private constructor(connection: NatsConnection) {
    this.#connection = connection;
  }

  static async readAll(stream = 'ledger'): Promise<Consumer> {
    const connection = await connect({ servers: [`127.0.0.1:${nats.ports[0]}`] });
    const consumer = new Consumer(connection);
    try {
      await consumer.#read(stream);
    } finally {
      await connection.close();
    }
    return consumer;
  }

  async #read(stream: string): Promise<void> {
    const client = jetstream(this.#connection);
    const source = await client.consumers.get(stream);
    let { num_pending: left } = await source.info();
    while (left > 0)
      for await (const message of await source.fetch({ max_messages: left, expires: 5_000 })) {
        this.#take(message.json<Message>());
        left--;
      }
  }

  #take({ kind, rows = [], to = 0 }: Message): void {
    this.counts[kind]++;
    if (kind === 'start') this.rows = [];
    if (kind === 'rollback') this.rows = this.rows.filter(({ slot }) => Number(slot) <= to);
    this.rows.push(...rows);
  }
}

async function readHead(): Promise<string> {
  const status = new SyncProcess(['status', '--to', address()]).start();
  if ((await status.finish()) !== 0) return '';
  const [found] = JSON.parse(status.output) as { slot: number; phase: string }[];
  return found?.phase === 'follow' ? String(found.slot) : '';
}

describe.skipIf(!hasNats)(
  `with NATS${hasNats ? '' : ' (skipped: nats-server is not installed)'}`,
  () => {
    test('behavior: after forks and kills a consumer has the rows of the ledger, each once', async () => {
      const file = join(folder, 'tables.yaml');
      writeFileSync(file, `tables: { transactions: { fromBlock: ${firstSlot} } }`);
      const sync = new SyncProcess([world.url, '--to', address(), '--tables', file]).start();
      let head = '';
      let isWatching = true;
      const watching = (async () => {
        const connection = await connect({
          servers: [`127.0.0.1:${nats.ports[0]}`],
          maxReconnectAttempts: -1,
          reconnectTimeWait: 50,
        });
        while (isWatching) {
          const stored = await jetstream(connection)
            .jetstreamManager()
            .then((manager) =>
              manager.direct.getMessage('KV_sluice-sync', {
                last_by_subj: `$KV.sluice-sync.${subject}`,
              }),
            )
            .then((message) => message?.json<{ table: { cursor: Cursor | null } }>())
            .catch(() => undefined);
          head = stored?.table.cursor?.blocks.at(-1)?.hash ?? head;
          await systemClock.sleep(5);
        }
        await connection.close();
      })();
      const kills = [
        async () => {
          await sync.kill();
          sync.start();
        },
        async () => {
          await nats.servers[0]?.child.stop('SIGKILL');
          nats.servers[0]?.restart();
        },
      ];
      try {
        for (let i = 0; i < forkCount / killEveryForks; i++) {
          const count = world.forkDepths.length + killEveryForks;
          const killed = kills[i % 2]?.();
          while (world.forkDepths.length < count)
            await world.runUntil(world.slot + 2, (wanted) => wanted === head);
          await killed;
        }
        const last = world.slot;
        world.node.ledger.time.advance(calmSlots * slotMs);
        while (Number(await readHead()) < last + calmSlots - 5) await systemClock.sleep(20);
        isWatching = false;
        await watching;
        await sync.kill('SIGTERM');
        const consumer = await Consumer.readAll();
        const expected: string[] = [];
        for (let slot = firstSlot; slot <= last; slot++)
          if (world.node.ledger.chain.blockAt(slot) !== undefined)
            expected.push(...expectRows(slot, await world.readBlock<NodeBlock>(slot)).transactions);
        const found = consumer.rows
          .filter(({ slot }) => Number(slot) <= last)
          .map((row) =>
            [
              ...[row['slot'], row['transaction_index'], row['signature'], row['fee_payer']],
              ...[row['fee'], Date.parse(String(row['block_time'])) / 1000],
            ].join(' '),
          );
        expect(found).toEqual(expected);
        expect(expected.length).toBeGreaterThan(20);
        expect(consumer.counts.start).toBe(1);
        expect(consumer.counts.rollback).toBeGreaterThan(forkCount / 4);
      } catch (error) {
        process.stdout.write(sync.errors.slice(-3_000));
        throw error;
      } finally {
        isWatching = false;
        await sync.kill();
      }
    });

    test('behavior: --rebuild starts the messages again, and a second process ends the first', async () => {
      const args = [world.directUrl, '--to', address(), '--table', 'transactions'];
      const again = new SyncProcess([...args, '--rebuild', '--to-block', '80']).start();
      expect(await again.finish(), again.errors).toBe(0);
      const rebuilt = await Consumer.readAll();
      expect(rebuilt.counts).toMatchObject({ start: 1, rollback: 0 });
      expect(Math.max(...rebuilt.rows.map(({ slot }) => Number(slot)))).toBeLessThanOrEqual(80);
      const first = new SyncProcess(args).start();
      while (!first.errors.includes('follows the ledger')) await systemClock.sleep(20);
      const second = new SyncProcess(args).start();
      while (!second.errors.includes('follows the ledger')) await systemClock.sleep(20);
      world.node.ledger.time.advance(4 * slotMs);
      expect(await first.finish()).toBe(1);
      expect(first.errors).toContain('[sync-table-busy]');
      await second.kill('SIGTERM');
    });

    test('behavior: after a kill between two messages of a block a consumer has its rows once', async () => {
      const { slot, signatures } = await findBlock();
      // Rows of 90 KB, so that a message has two of them.
      const names = Array.from({ length: 900 }, (_, i) => `signature_${i}`);
      const columns = Object.fromEntries(names.map((name) => [name, 'transaction.signature']));
      const file = join(folder, 'wide.yaml');
      const tables = { wide: { fromBlock: slot, instructions: [{}], columns } };
      writeFileSync(file, JSON.stringify({ tables }));
      const relay = await startHoldingRelay(nats.ports[0] ?? 0, {
        subject: 'blocks.wide',
        messageCount: 2,
      });
      const start = (port: number | undefined) =>
        new SyncProcess([
          ...[world.directUrl, '--to', `nats://127.0.0.1:${port}/blocks`],
          ...['--tables', file, '--to-block', `${slot}`],
        ]).start();
      const killed = start(relay.port);
      try {
        await Promise.race([relay.held, killed.finish()]);
        expect(killed.hasEnded, killed.errors).toBe(false);
      } finally {
        await killed.kill();
        relay.close();
      }
      const before = await Consumer.readAll('blocks');
      expect(before.counts).toEqual({ start: 1, rows: 1, rollback: 0 });
      expect(before.rows.length).toBeLessThan(signatures.length);
      const next = start(nats.ports[0]);
      expect(await next.finish(), next.errors).toBe(0);
      expect(next.errors).not.toContain('indexes');
      const after = await Consumer.readAll('blocks');
      expect(after.counts).toMatchObject({ start: 1, rollback: 1 });
      expect(after.rows.map((row) => row['signature_0'])).toEqual(signatures);
    });
  },
);

/** Returns a final block that needs at least two messages, with the signature of each instruction. */
async function findBlock(): Promise<{ slot: number; signatures: readonly string[] }> {
  for (let slot = firstSlot; ; slot++) {
    if (world.node.ledger.chain.blockAt(slot) === undefined) continue;
    const { transactions } = await world.readBlock<NodeBlock>(slot);
    const signatures = transactions.flatMap(({ transaction, meta }) => {
      const inner = meta.innerInstructions.flatMap(({ instructions }) => instructions);
      const count = transaction.message.instructions.length + inner.length;
      return Array<string>(count).fill(transaction.signatures[0] ?? '');
    });
    if (signatures.length > 4) return { slot, signatures };
  }
}

interface Cursor {
  readonly blocks: readonly { readonly hash: string }[];
}
