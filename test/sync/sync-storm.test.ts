/**
 * `sluice sync` with real PostgreSQL while the ledger forks, connections break, and the command, the service and the database are killed.
 * `npm run test:consumers` runs a short storm; `npm run test:sync` runs 1,000 forks and 50 kills.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { afterAll, expect, test } from 'vitest';
import { StormWorld } from '../client/storm-world.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../examples/postgres-server.ts';
import { type ExpectedRows, expectRows, type NodeBlock } from './expected-rows.ts';
import { SyncProcess } from './sync-process.ts';

const forkCount = Number(process.env['STORM_FORKS'] ?? 30);
const seed = Number(process.env['STORM_SEED'] ?? 3);
const firstSlot = 60;
const slotMs = 400;
const forkEverySlots = 2;
const killCount = Math.max(6, Math.ceil(forkCount / 20));
/** The slots after the last fork, so that the compared blocks are final. */
const calmSlots = 60;

const folder = mkdtempSync(join(tmpdir(), 'sluice-sync-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const tables = `
tables:
  transactions:
    fromBlock: ${firstSlot}
  moves:
    fromBlock: ${firstSlot}
    tokenBalances: [{}]
    columns:
      before: preAmount
      after: postAmount
      shown: shift(postAmount, postDecimals)
  transfers:
    fromBlock: ${firstSlot}
    instructions:
      - { programId: TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA, name: transfer, isCommitted: true }
    indexes: [[source], [destination, slot]]
`;

/** The rows in the form of the expected ones. */
const readers: Readonly<Record<keyof ExpectedRows, string>> = {
  transactions: `select concat_ws(' ', slot, transaction_index, signature, fee_payer, fee, extract(epoch from block_time)::bigint) as row
    from transactions where slot <= $last order by slot, transaction_index`,
  moves: `select slot || ' ' || transaction_index || ' ' || account || ' ' || coalesce(before::text, '') || ' ' || coalesce(after::text, '')
    || ' ' || coalesce(shown::text, '') as row
    from moves where slot <= $last order by slot, slot || ' ' || transaction_index || ' ' || account collate "C"`,
  transfers: `select concat_ws(' ', slot, transaction_index, array_to_string(instruction_address, '.'), signature, amount, source, destination)
    as row from transfers where slot <= $last order by slot, transaction_index, instruction_address`,
};

/** Watches the positions of the tables, also while the database restarts. */
class Positions {
  readonly #database: PostgresServer;
  readonly #stop = new AbortController();
  readonly #watching: Promise<void>;
  tips: readonly string[] = [];
  lowestSlot = -1;

  constructor(database: PostgresServer) {
    this.#database = database;
    this.#watching = this.#watch();
  }

  async #watch(): Promise<void> {
    const query = `select slot::int, cursor -> 'blocks' -> -1 ->> 'hash' as hash from sluice.tables where phase = 'follow'`;
    while (!this.#stop.signal.aborted) {
      // Fails while the database is down, and before the tables exist.
      const rows = await this.#database.query(query).catch(() => []);
      if (rows.length === 3) {
        this.tips = rows.map(({ hash }) => String(hash));
        this.lowestSlot = Math.min(...rows.map(({ slot }) => Number(slot)));
      }
      await systemClock.sleep(5);
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#watching;
  }
}

/** A violated rule of the database, such as a row that is stored twice, or a bug. A database that starts gives other errors. */
const isFault =
  /code (?!08|53|57)[0-9A-Z]{5}, .*\[sync-target-failed\]|internal error|\[sync-table-changed\]/;

/** Kills the command, the database and the service at moments that do not depend on what they do. */
class Killer {
  readonly counts = { sync: 0, database: 0, service: 0 };
  /** The last words of the command if it ended by an error that is not due to a kill. */
  fault: string | undefined;
  #isStopped = false;
  readonly #running: Promise<void>;

  constructor(sync: SyncProcess, database: PostgresServer, world: StormWorld) {
    const random = world.random.fork('kills');
    const { counts } = this;
    const kills = [
      async () => {
        await sync.kill();
        counts.sync++;
        sync.start();
      },
      async () => {
        await database.restart();
        counts.database++;
      },
      async () => {
        await world.restart();
        counts.service++;
      },
    ];
    this.#running = (async () => {
      while (!this.#isStopped) {
        await systemClock.sleep(200 + random.below(4_000));
        // The command ends if it is started while the database is down.
        if (sync.hasEnded) {
          const last = sync.errors.trimEnd().split('\n').at(-1) ?? '';
          if (isFault.test(sync.errors.slice(-2_000))) this.fault = last;
          sync.start();
        } else if (this.total < killCount) await kills[this.total % kills.length]?.();
      }
    })();
  }

  get total(): number {
    return this.counts.sync + this.counts.database + this.counts.service;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }
}

async function compareRows(world: StormWorld, database: PostgresServer, last: number) {
  const expected: ExpectedRows = { transactions: [], moves: [], transfers: [] };
  for (let slot = firstSlot; slot <= last; slot++) {
    if (world.node.ledger.chain.blockAt(slot) === undefined) continue;
    const rows = expectRows(slot, await world.readBlock<NodeBlock>(slot));
    for (const name of ['transactions', 'moves', 'transfers'] as const)
      expected[name].push(...rows[name]);
  }
  for (const name of ['transactions', 'moves', 'transfers'] as const) {
    const query = readers[name].replace('$last', String(last));
    const stored = (await database.query(query)).map(({ row }) => String(row));
    expect(expected[name].length).toBeGreaterThan(forkCount / 4);
    expect(stored, name).toEqual(expected[name]);
    const [counts] = await database.query(
      `select (select count(*) from ${name})::int as actual, row_count::int as kept from sluice.tables where table_name = 'public.${name}'`,
    );
    expect(counts?.['kept'], name).toBe(counts?.['actual']);
  }
}

test.skipIf(!hasPostgres)(
  `behavior: after ${forkCount} forks and ${killCount} kills the tables equal the ledger (seed ${seed})${hasPostgres ? '' : ', skipped: PostgreSQL is not installed'}`,
  async () => {
    const database = await startPostgres();
    const file = join(folder, 'tables.yaml');
    writeFileSync(file, tables);
    const world = await StormWorld.start({
      seed,
      slotMs,
      killEverySlots: Infinity,
      forkEverySlots,
      burstSlotsMax: 3,
      forkDepthMax: 20,
      cutBytes: 300_000,
    });
    const sync = new SyncProcess([world.url, '--to', database.url, '--tables', file]).start();
    const positions = new Positions(database);
    const killer = new Killer(sync, database, world);
    try {
      const isAtHead = (head: string) => {
        expect(killer.fault).toBeUndefined();
        return positions.tips.length === 3 && positions.tips.every((tip) => tip === head);
      };
      while (world.forkDepths.length < forkCount || killer.total < killCount)
        await world.runUntil(world.slot + 20, isAtHead);
      const last = world.slot;
      await killer.stop();
      if (sync.hasEnded) sync.start();
      world.node.ledger.time.advance(calmSlots * slotMs);
      while (positions.lowestSlot < last + calmSlots - 5) await systemClock.sleep(20);
      await sync.kill('SIGTERM');
      await compareRows(world, database, last);
      const [forks] = await database.query(
        'select min(fork_count)::int as count from sluice.tables',
      );
      expect(Number(forks?.['count'])).toBeGreaterThan(forkCount / 3);
      const { sync: ofSync, database: ofDatabase, service } = killer.counts;
      process.stdout.write(
        `\nsync, seed ${seed}: ${world.forkDepths.length} forks, ${forks?.['count']} rollbacks of a table; kills: ${ofSync} of sync, ${ofDatabase} of PostgreSQL, ${service} of the service; ${world.relay.cutCount} connections cut; ${last - firstSlot} slots\n`,
      );
    } catch (error) {
      process.stdout.write(sync.errors.slice(-3_000));
      throw error;
    } finally {
      await killer.stop();
      await positions.close();
      await sync.kill();
      await world.close();
      await database.close();
    }
  },
  3_600_000,
);
