/** What a user of `sluice sync` meets: changes of the file, a second process, a full disk, and errors, with real PostgreSQL. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { systemClock } from '@sluice/base/clock';
import { listeningPort } from '@sluice/base/listening-port';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { StormWorld } from '../client/storm-world.ts';
import { hasPostgres, type PostgresServer, startPostgres } from '../examples/postgres-server.ts';
import { repositoryRoot } from '../repository-files.ts';
import { SyncProcess } from './sync-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-sync-'));
const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const amm = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';
const launchpad = '8rzuHJoBG2p9MCnsSD3PhA85jrnTofwXfC4o5rCAaXRi';
const slotMs = 400;

let world: StormWorld;
let database: PostgresServer;

beforeAll(async () => {
  if (!hasPostgres) return;
  database = await startPostgres();
  world = await StormWorld.start({
    seed: 4,
    slotMs,
    killEverySlots: Infinity,
    forkEverySlots: 1,
    burstSlotsMax: 1,
    forkDepthMax: 1,
    cutBytes: 1e9,
  });
  world.node.ledger.time.advance(60 * slotMs);
  // All ranges of the tests are finalized.
  while ((await readHead('finalized-head')) < 110) await systemClock.sleep(20);
  for (const name of ['amm.json', 'launchpad.json']) {
    const body = readFileSync(join(repositoryRoot, 'docs/idl', name));
    await fetch(`${world.adminUrl}/idls/${name}`, { method: 'PUT', body });
  }
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await world?.close();
  await database?.close();
});

async function readHead(name: 'head' | 'finalized-head'): Promise<number> {
  const head = (await (await fetch(`${world.directUrl}/${name}`)).json()) as {
    number: number;
  } | null;
  return head?.number ?? -1;
}

function writeTables(name: string, text: string): string {
  const file = join(folder, `${name}.yaml`);
  writeFileSync(file, text);
  return file;
}

function sync(...args: string[]): SyncProcess {
  return new SyncProcess([world.directUrl, '--to', database.url, ...args]).start();
}

/** Runs the command to its end and returns the exit code with everything that it printed. */
async function run(...args: string[]): Promise<string> {
  const process = sync(...args);
  const code = await process.finish();
  return `${code} ${process.output}${process.errors}`;
}

async function findFreePorts(): Promise<readonly number[]> {
  const servers = [createServer(), createServer()];
  const ports = servers.map(async (server) => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return listeningPort(server);
  });
  const found = await Promise.all(ports);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return found;
}

const through = (url: string, port: number) => url.replace(/:\d+\//, `:${port}/`);

/** Forwards connections to the host of an address. `close` also ends the open ones. */
function relayTo(url: string, port: number): { close(): void } {
  const { hostname, port: to } = new URL(url);
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const other = connect(Number(to), hostname);
    socket.pipe(other).pipe(socket);
    for (const each of [socket, other]) {
      open.add(each);
      each.on('error', () => undefined);
    }
  }).listen(port, '127.0.0.1');
  return {
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}

async function readOne(query: string): Promise<Record<string, unknown>> {
  return (await database.query(query))[0] ?? {};
}

/** Waits until a query returns true. */
async function waitFor(query: string): Promise<void> {
  for (;;) {
    const { done } = await readOne(`select (${query}) as done`).catch(() => ({ done: false }));
    if (done === true) return;
    await systemClock.sleep(20);
  }
}

const slotOf = (table: string) =>
  `select slot from sluice.tables where table_name = 'public.${table}' and phase = 'follow'`;

describe.skipIf(!hasPostgres)('with PostgreSQL', () => {
  test('behavior: new columns, indexes and tables are added while rows arrive, and another query is refused', async () => {
    const item = `{ programId: ${tokenProgram}, name: transfer }`;
    const before = writeTables(
      'a',
      `tables: { moves: { instructions: [${item}], columns: { amount: args.amount } } }`,
    );
    expect(await run('--tables', before, '--to-block', '60')).toMatch(/^0 /);
    const columns =
      '{ amount: args.amount, source: accounts.source, signature: transaction.signature }';
    const after = writeTables(
      'b',
      `tables: { moves: { instructions: [${item}], columns: ${columns}, indexes: [source] }, rewards: {} }`,
    );
    const process = sync('--tables', after);
    try {
      await waitFor(`select fill is null and (${slotOf('rewards')}) >= 100 and (${slotOf('moves')}) >= 100
        from sluice.tables where table_name = 'public.moves'`);
    } finally {
      await process.kill('SIGTERM');
    }
    const { all, filled, signed } = await readOne(
      `select count(*)::int as all, count(source)::int as filled, count(signature)::int as signed from moves where slot <= 60`,
    );
    expect(Number(all)).toBeGreaterThan(5);
    expect([filled, signed]).toEqual([all, all]);
    // The filled values are those of a table that is loaded with the columns from the start.
    expect(
      await run(
        '--tables',
        writeTables(
          'c',
          `tables: { moves_again: { instructions: [${item}], columns: ${columns} } }`,
        ),
        '--to-block',
        '90',
      ),
    ).toMatch(/^0 /);
    expect(
      await readOne(`select count(*)::int as differing from (
        (select * from moves where slot <= 90 except select * from moves_again) union all
        (select * from moves_again except select * from moves where slot <= 90)) d`),
    ).toEqual({ differing: 0 });
    expect(
      await readOne(`select count(*)::int as count from pg_indexes where tablename = 'moves'`),
    ).toEqual({ count: 2 });

    const changed = writeTables(
      'd',
      `tables: { moves: { instructions: [{ programId: ${tokenProgram}, name: transferChecked }] } }`,
    );
    const refused = await run('--tables', changed, '--to-block', '60');
    expect(refused).toMatch(/^1 /);
    expect(refused).toContain('--rebuild');
    expect(refused).toContain('[sync-table-changed]');
    expect(await run('--tables', changed, '--to-block', '60', '--rebuild')).toMatch(/^0 /);
  });

  test('behavior: the load, which reads columns, stores the same rows as the blocks that follow it', async () => {
    const item = `{ programId: ${tokenProgram}, name: transfer }`;
    const chosen = (name: string) => `
  ${name}_transfers:
    instructions: [${item}]
    columns:
      { amount: args.amount, shown: "shift(args.amount, 5)", wide: { value: args.amount, type: numeric }, source: accounts.source,
        all: namedAccounts, args: args, kind: name, signature: transaction.signature, raw: { value: data, type: bytea },
        owner: { value: programId, type: bytea }, start: d1, accounts: accounts, path: { value: instructionAddress, type: text } }
  ${name}_moves:
    tokenBalances: [{}]
    columns:
      { shown: "shift(postAmount, postDecimals)", less: "shift(postAmount, -3)", time: { value: block.time, type: bigint },
        text: { value: preAmount, type: text }, small: { value: postDecimals, type: smallint }, rate: { value: preAmount, type: double precision } }
  ${name}_events:
    events: [{ programId: ${amm}, name: SwapEvent }]
    columns:
      { pool: args.pool, fee: args.fee, is_sale: args.base_for_quote, input: accounts.input_mint, signature: transaction.signature, start: d8,
        sold: "shift(args.amount_in, decimals(accounts.input_mint))", bought: "shift(args.amount_out, decimals(accounts.output_mint))",
        digits: decimals(accounts.input_mint), none: decimals(args.pool), maker: accounts.maker }
  ${name}_trades:
    events: [{ programId: ${launchpad}, name: TradeEvent }]
    columns: { mint: args.mint, tokens: "shift(args.tokens, decimals(args.mint))", text: { value: "shift(args.lamports, 9)", type: text } }
  ${name}_swaps:
    instructions: [{ programId: ${amm}, name: swap, isCommitted: true }]
    columns: { sold: "shift(args.amount_in, decimals(accounts.input_mint))", raw: { value: accounts.pool, type: bytea }, error: decodingError }
  ${name}_headers: { blocks: , columns: { hash: block.hash, parent: block.parentHash, height: block.height } }`;
    const kinds = ['transactions', 'instructions', 'logs', 'balances', 'token_balances', 'rewards'];
    const tables = (name: string) =>
      `tables:\n${kinds.map((kind) => `  ${name}.${kind}:\n`).join('')}${chosen(name)}\n`;
    const [columns, rows] = ['columns', 'rows'].map((name) => writeTables(name, tables(name)));
    for (const schema of ['columns', 'rows']) await database.query(`create schema ${schema}`);
    expect(await run('--tables', columns ?? '', '--to-block', '100')).toMatch(/^0 /);
    // Only the first slots are loaded, and the others are followed.
    expect(await run('--tables', rows ?? '', '--to-block', '62')).toMatch(/^0 /);
    expect(await run('--tables', rows ?? '', '--to-block', '100')).toMatch(/^0 /);
    const pairs = [
      ...kinds.map((kind) => [`columns.${kind}`, `rows.${kind}`]),
      ...['transfers', 'moves', 'events', 'trades', 'swaps', 'headers'].map((name) => [
        `columns_${name}`,
        `rows_${name}`,
      ]),
    ];
    for (const [a = '', b = ''] of pairs) {
      const { count, differing } =
        await readOne(`select (select count(*)::int from ${a}) as count, count(*)::int as differing
        from (select a::text from ${a} a except select b::text from ${b} b union all (select b::text from ${b} b except select a::text from ${a} a)) d`);
      expect(Number(count), a).toBeGreaterThan(3);
      expect(differing, a).toBe(0);
    }
  });

  test('behavior: a rebuild of several tables drops none if one of them cannot be dropped', async () => {
    const tables = ['rebuilt_first', 'rebuilt_last'].map(
      (name) => `  ${name}: { rewards: [{}] }\n`,
    );
    const file = writeTables('rebuilt', `tables:\n${tables.join('')}`);
    expect(await run('--tables', file, '--to-block', '60')).toMatch(/^0 /);
    // The status shows the age of the last block also after a load that did not follow.
    const timed = `select count(block_time)::int as count from sluice.tables where table_name like '%rebuilt_%'`;
    expect(await readOne(timed)).toEqual({ count: 2 });
    await database.query('create view rebuilt_view as select slot from rebuilt_last');
    const before = await readOne(`select 'rebuilt_first'::regclass::oid as id`);
    expect(await run('--tables', file, '--to-block', '60', '--rebuild')).toContain(
      'cannot drop table rebuilt_last',
    );
    expect(await readOne(`select 'rebuilt_first'::regclass::oid as id`)).toEqual(before);
    await database.query('drop view rebuilt_view');
    expect(await run('--tables', file, '--to-block', '60', '--rebuild')).toMatch(/^0 /);
    expect(await readOne(`select 'rebuilt_first'::regclass::oid as id`)).not.toEqual(before);
  });

  test('behavior: a row is visible within 100 ms of the arrival of its block, and status and metrics report it', async () => {
    const process = sync('--table', 'blocks', '--metrics-port', '0');
    try {
      await waitFor(`(${slotOf('blocks')}) >= 100`);
      const delays: number[] = [];
      for (let i = 0; i < 20; i++) {
        const from = world.slot + 1;
        world.node.ledger.time.advance(slotMs);
        if (world.node.ledger.chain.blockAt(from) === undefined) continue;
        // The head of the service is read until it has the block.
        while ((await readHead('head')) < from) await systemClock.sleep(1);
        const startMs = performance.now();
        while ((await database.query(`select 1 from blocks where slot >= ${from}`)).length === 0)
          await systemClock.sleep(1);
        delays.push(performance.now() - startMs);
      }
      delays.sort((a, b) => a - b);
      expect(delays[Math.floor(delays.length / 2)]).toBeLessThan(100);
      const [, url = ''] = /metrics: (\S+)/.exec(process.errors) ?? [];
      const metrics = await (await fetch(url)).text();
      expect(metrics).toMatch(/sluice_sync_slot\{table="public.blocks"\} 1\d\d/);
      expect(metrics).toContain('sluice_sync_following{table="public.blocks"} 1');
      const second = await run('--table', 'blocks');
      expect(second).toMatch(/^1 /);
      expect(second).toContain('[sync-table-busy]');
      const status = new SyncProcess(['status', '--to', database.url]).start();
      expect(await status.finish()).toBe(0);
      const rows = JSON.parse(status.output) as {
        table: string;
        phase: string;
        rowCount: number;
      }[];
      const blocks = rows.find(({ table }) => table === 'public.blocks');
      expect(blocks).toMatchObject({ phase: 'follow', loadedShare: 1 });
      expect(blocks?.rowCount).toBeGreaterThan(80);
    } finally {
      await process.kill('SIGTERM');
    }
  });

  const isRoot = process.getuid?.() === 0;
  test.skipIf(!isRoot)(
    `behavior: while the disk of the database is full the command waits, and then continues${isRoot ? '' : ' (skipped: needs root)'}`,
    async () => {
      const disk = mkdtempSync(join(tmpdir(), 'sluice-disk-'));
      chmodSync(disk, 0o777);
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=120m', 'tmpfs', disk]);
      const small = await startPostgres(disk).catch((error: unknown) => {
        execFileSync('umount', [disk]);
        throw error;
      });
      const filler = join(disk, 'filler');
      const process = new SyncProcess([world.directUrl, '--to', small.url, '--table', 'logs']);
      try {
        process.start();
        const isFollowing = `select 1 from sluice.tables where phase = 'follow'`;
        while ((await small.query(isFollowing).catch(() => [])).length === 0)
          await systemClock.sleep(20);
        execFileSync('bash', ['-c', `dd if=/dev/zero of=${filler} bs=1M status=none 2>&1 || true`]);
        const last = world.slot + 40;
        world.node.ledger.time.advance(40 * slotMs);
        while (!process.errors.includes('trying again')) await systemClock.sleep(20);
        expect(process.errors).toMatch(/No space left/);
        rmSync(filler);
        const isStored = `select 1 from sluice.tables where slot >= ${last - 5} and row_count = (select count(*) from logs)`;
        while ((await small.query(isStored).catch(() => [])).length === 0)
          await systemClock.sleep(50);
      } finally {
        await process.kill();
        await small.close();
        execFileSync('umount', [disk]);
      }
    },
  );

  test('error: each failure has a code and says what to do', async () => {
    await database.query('create table mine (a int)');
    await database.query(`create user poor`);
    const poor = database.url.replace('postgres@', 'poor@');
    const at = (to: string) => [
      ...['--to', to, '--table', 'rewards', '--to-block', '10', '--wait', '0'],
    ];
    const cases: readonly [readonly string[], string, string][] = [
      [
        ['--table', 'mine', '--program', tokenProgram, '--instruction', 'transfer'],
        'sync-table-foreign',
        'another name',
      ],
      [
        ['--table', 'x', '--program', tokenProgram, '--instruction', 'transfr'],
        'sync-name-unknown',
        'nearest transfer',
      ],
      [
        [
          '--table',
          'x',
          '--program',
          'So11111111111111111111111111111111111111112',
          '--event',
          'A',
        ],
        'sync-idl-missing',
        'register the IDL',
      ],
      [['--table', 'x'], 'cli-usage', 'transactions'],
      [
        ['--table', 'x', '--program', tokenProgram, '--instruction', 'transfer', '--event', 'A'],
        'cli-usage',
        'cannot be combined with --instruction',
      ],
      [at('mysql://127.0.0.1/x'), 'sync-target-unknown', 'postgres://'],
      [at('postgres://127.0.0.1:1/x'), 'sync-target-unreachable', 'connection refused'],
      [at(database.url.replace(/[^/]*$/, 'nothing')), 'sync-target-login', 'does not exist'],
      [
        ['--to', poor, '--table', 'rewards2.rewards', '--to-block', '10'],
        'sync-target-permission',
        'permission denied',
      ],
      [['--tables', '/nothing.yaml'], 'cli-file-unreadable', 'no such file'],
    ];
    for (const [args, code, text] of cases) {
      const result = await run(...args);
      expect(result).toMatch(/^[12] /);
      expect(result).toContain(`[${code}]`);
      expect(result).toContain(text);
    }
    const secret = await run(...at('postgres://me:hunter2@127.0.0.1:1/x'));
    expect(secret).not.toContain('hunter2');
    const missing = new SyncProcess([
      ...['http://127.0.0.1:1/datasets/x', '--to', database.url],
      ...['--table', 'rewards', '--wait', '0'],
    ]).start();
    expect(await missing.finish()).toBe(1);
    expect(missing.errors).toContain('http://127.0.0.1:1/datasets/x');
    expect(missing.errors).toContain('[network-failed]');
    expect(missing.errors).not.toContain('the target');
  });

  test('behavior: a service that is lost while a table is followed is named as the reason, and the table continues', async () => {
    const [port = 0] = await findFreePorts();
    const relay = relayTo(world.directUrl, port);
    const process = new SyncProcess([
      ...[through(world.directUrl, port), '--to', database.url, '--table', 'lost.blocks'],
    ]);
    await database.query('create schema lost');
    const slot = `select slot from sluice.tables where table_name = 'lost.blocks'`;
    let second: ReturnType<typeof relayTo> | undefined;
    try {
      process.start();
      await waitFor(`(${slot}) >= 100`);
      relay.close();
      while (!process.errors.includes('; retrying')) await systemClock.sleep(20);
      expect(process.errors).not.toContain('the target');
      second = relayTo(world.directUrl, port);
      const last = world.slot + 10;
      world.node.ledger.time.advance(10 * slotMs);
      await waitFor(`(${slot}) >= ${last - 5}`);
    } finally {
      await process.kill();
      relay.close();
      second?.close();
    }
  });

  test('behavior: at its start the command waits for a database and a service that start later', async () => {
    const [servicePort = 0, databasePort = 0] = await findFreePorts();
    const process = new SyncProcess([
      ...[through(world.directUrl, servicePort), '--to', through(database.url, databasePort)],
      ...['--table', 'waiting.moves', '--program', tokenProgram, '--instruction', 'transfer'],
      ...['--to-block', '20'],
    ]);
    await database.query('create schema waiting');
    process.start();
    const reasons = () => process.errors.match(/waiting for it, for up to 60 s/g)?.length ?? 0;
    while (reasons() === 0) await systemClock.sleep(20);
    const service = relayTo(world.directUrl, servicePort);
    while (reasons() === 1) await systemClock.sleep(20);
    const servers = [service, relayTo(database.url, databasePort)];
    expect(await process.finish(), process.errors).toBe(0);
    for (const server of servers) server.close();
  });

  test('behavior: Parquet files have the rows of PostgreSQL exactly once, also after a kill', async () => {
    const out = join(folder, 'files');
    const files = `'${join(out, 'token_balances', '*.parquet')}'`;
    const toFiles = (...args: string[]) =>
      new SyncProcess([
        ...[world.directUrl, '--to', `parquet:${out}`, '--table', 'token_balances', ...args],
      ]).start();
    const following = toFiles();
    while (!existsSync(join(out, 'token_balances.state.json'))) await systemClock.sleep(5);
    while (!following.errors.includes('follows the ledger')) await systemClock.sleep(5);
    await following.kill();
    const rest = toFiles('--to-block', '105');
    expect(await rest.finish(), rest.errors).toBe(0);
    expect(await run('--table', 'token_balances', '--to-block', '105', '--rebuild')).toMatch(/^0 /);
    const columns = [
      ...['slot', 'transaction_index', 'account', 'extract(epoch from block_time)::bigint'],
      ...['pre_mint', 'post_decimals', 'post_owner', 'pre_amount', 'post_amount'],
    ];
    const row = columns.map((column) => `coalesce((${column})::varchar, '-')`).join(` || ' ' || `);
    const instance = await DuckDBInstance.create(':memory:');
    const reader = await instance.connect();
    const found = await reader.runAndReadAll(`select ${row} from ${files} where slot <= 105`);
    const stored = await database.query(
      `select ${row} as row from token_balances where slot <= 105`,
    );
    expect(stored.length).toBeGreaterThan(100);
    expect(found.getRows().map(String).sort()).toEqual(stored.map(({ row }) => String(row)).sort());
    reader.closeSync();
    const other = toFiles('--from-block', '70', '--to-block', '105');
    expect(await other.finish()).toBe(1);
    expect(other.errors).toContain('[sync-table-changed]');
    const status = new SyncProcess(['status', '--to', `parquet:${out}`]).start();
    expect(await status.finish(), status.errors).toBe(0);
    expect(JSON.parse(status.output)).toMatchObject([
      { table: 'token_balances', phase: 'follow', forkCount: 0 },
    ]);
  });

  test('behavior: a dry run prints statements and rows, and writes nothing', async () => {
    const file = writeTables(
      'dry',
      `tables: { dry: { tokenBalances: [{}], columns: { shown: "shift(postAmount, postDecimals)" }, indexes: [account] } }`,
    );
    const result = await run('--tables', file, '--dry-run');
    expect(result).toContain('create table "public"."dry"');
    expect(result).toContain('create index on "public"."dry" ("account");');
    expect(result).toContain('-- 5 rows');
    expect(await readOne(`select to_regclass('public.dry') as found`)).toEqual({ found: null });
  });

  test('behavior: a table that was dropped is created and loaded again', async () => {
    expect(await run('--table', 'balances', '--to-block', '50')).toMatch(/^0 /);
    const { count } = await readOne('select count(*)::int as count from balances');
    await database.query('drop table balances');
    expect(await run('--table', 'balances', '--to-block', '50')).toMatch(/^0 /);
    expect(await readOne('select count(*)::int as count from balances')).toEqual({ count });
    expect(await run('--table', 'balances', '--to-block', '70')).toMatch(/^0 /);
    const later = await readOne(
      'select count(*)::int as count, max(slot)::int as last from balances',
    );
    expect(Number(later['count'])).toBeGreaterThan(Number(count));
    expect(Number(later['last'])).toBeLessThanOrEqual(70);
  });
});
