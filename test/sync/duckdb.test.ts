/** `sluice sync` into a file of DuckDB while the ledger forks and the command is killed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { systemClock } from '@sluice/base/clock';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { StormWorld } from '../client/storm-world.ts';
import { findFreePorts } from '../find-free-ports.ts';
import { type ExpectedRows, expectRows, type NodeBlock } from './expected-rows.ts';
import { SyncProcess } from './sync-process.ts';

const forkCount = 8;
const firstSlot = 60;
const slotMs = 400;
const calmSlots = 40;
const folder = mkdtempSync(join(tmpdir(), 'sluice-duckdb-'));
const path = join(folder, 'ledger.duckdb');

let world: StormWorld;

beforeAll(async () => {
  world = await StormWorld.start({
    ...{ seed: 6, slotMs, killEverySlots: Infinity, forkEverySlots: 2 },
    ...{ burstSlotsMax: 3, forkDepthMax: 12, cutBytes: 300_000 },
  });
});

afterAll(async () => {
  await world?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Reads the file after the command has ended. */
async function read(query: string): Promise<readonly string[]> {
  const instance = await DuckDBInstance.create(path, { access_mode: 'READ_ONLY' });
  try {
    const connection = await instance.connect();
    const rows = (await connection.runAndReadAll(query)).getRows();
    connection.closeSync();
    return rows.map(String);
  } finally {
    instance.closeSync();
  }
}

/** Reads the slots of the tables from the metrics, because the file cannot be read while the command writes it. */
async function readSlots(port: number): Promise<readonly number[]> {
  const text = await fetch(`http://127.0.0.1:${port}/metrics`)
    .then((response) => response.text())
    .catch(() => '');
  return [...text.matchAll(/^sluice_sync_slot\{.*\} (\d+)$/gm)].map(([, slot]) => Number(slot));
}

const readers: Readonly<Record<'transactions' | 'moves', string>> = {
  transactions: `select concat_ws(' ', slot, transaction_index, signature, fee_payer, fee, epoch(block_time)::bigint) from transactions
    where slot <= $last order by slot, transaction_index`,
  moves: `select slot || ' ' || transaction_index || ' ' || account || ' ' || coalesce(before::varchar, '') || ' ' || coalesce(after::varchar, '')
    || ' ' || coalesce(shown, '') from moves where slot <= $last order by slot, 1`,
};

test('behavior: after forks and kills the file has the rows of the ledger, each once', async () => {
  const file = join(folder, 'tables.yaml');
  writeFileSync(
    file,
    `tables:
  transactions: { fromBlock: ${firstSlot} }
  moves:
    fromBlock: ${firstSlot}
    tokenBalances: [{}]
    columns: { before: preAmount, after: postAmount, shown: "shift(postAmount, postDecimals)" }`,
  );
  const [port = 0] = await findFreePorts(1);
  const sync = new SyncProcess([
    ...[world.url, '--to', `duckdb:${path}`, '--tables', file, '--metrics-port', String(port)],
  ]).start();
  let slots: readonly number[] = [];
  let isWatching = true;
  const watching = (async () => {
    while (isWatching) {
      slots = await readSlots(port);
      await systemClock.sleep(10);
    }
  })();
  const isAtHead = () => {
    const { branch, confirmedSlot } = world.node.state();
    const head = branch.previousBlock(confirmedSlot);
    return slots.length === 2 && slots.every((slot) => slot === head);
  };
  try {
    for (let round = 0; world.forkDepths.length < forkCount; round++) {
      if (round > 0) {
        await sync.kill();
        sync.start();
      }
      await world.runUntil(world.slot + 6, isAtHead);
    }
    const last = world.slot;
    world.node.ledger.time.advance(calmSlots * slotMs);
    while (!isAtHead()) await systemClock.sleep(20);
    await sync.kill('SIGTERM');
    const expected: ExpectedRows = { transactions: [], moves: [], transfers: [] };
    for (let slot = firstSlot; slot <= last; slot++) {
      if (world.node.ledger.chain.blockAt(slot) === undefined) continue;
      const rows = expectRows(slot, await world.readBlock<NodeBlock>(slot));
      for (const name of ['transactions', 'moves'] as const) expected[name].push(...rows[name]);
    }
    for (const name of ['transactions', 'moves'] as const) {
      const stored = await read(readers[name].replace('$last', String(last)));
      expect(stored, name).toEqual(expected[name]);
      expect(expected[name].length).toBeGreaterThan(20);
    }
  } catch (error) {
    process.stdout.write(sync.errors.slice(-3_000));
    throw error;
  } finally {
    isWatching = false;
    await watching;
    await sync.kill();
  }
  const status = new SyncProcess(['status', '--to', `duckdb:${path}`]).start();
  expect(await status.finish(), status.errors).toBe(0);
  expect(JSON.parse(status.output)).toMatchObject([
    { table: 'public.moves', phase: 'follow', lag: expect.any(Number) },
    { table: 'public.transactions', phase: 'follow' },
  ]);
});
