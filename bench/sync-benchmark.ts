/** Measures the load of `sluice sync` into PostgreSQL beside `psql \\copy` of the same rows in the same minute. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keysOf } from '@sluice/protocol/typed-keys';
import { type Benchmark, quantilesOf, UsageFailure } from './benchmark.ts';
import { readArgs, readCount } from './read-args.ts';
import { CommandProcess } from './service/command-process.ts';
import { datasetName, ServiceProcess } from './service/processes.ts';
import { importSimulated, prepareStoredData } from './service/stored-data.ts';

const text = { type: 'string' } as const;
const firstSlot = 1_000;
const amm = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';
const item = (name: string) => `[{ programId: ${amm}, name: ${name}, isCommitted: true }]`;
const shifted = (amount: string, mint: string) =>
  `shift(args.${amount}, decimals(accounts.${mint}))`;

/** The description of each table: ready-made ones, and decoded ones, the last two with amounts in whole tokens. */
const TABLES = {
  token_balances: '',
  balances: '',
  instructions: '',
  transactions: '',
  swaps: `instructions: ${item('swap')}`,
  swap_events: `events: ${item('SwapEvent')}`,
  sold: `instructions: ${item('swap')}
    columns: { pool: accounts.pool, sold: "${shifted('amount_in', 'input_mint')}" }`,
  trades: `events: ${item('SwapEvent')}
    columns:
      block_time: block.time
      signature: transaction.signature
      pool: args.pool
      sold: accounts.input_mint
      amount_in: "${shifted('amount_in', 'input_mint')}"
      amount_out: "${shifted('amount_out', 'output_mint')}"`,
} as const;

export const syncBenchmark: Benchmark = {
  name: 'sync',
  summary: 'loads tables into PostgreSQL, beside psql \\copy of the same rows; needs psql and --to',
  options: [
    '--to ADDRESS     an empty database, postgres://… (default: the variable SLUICE_SYNC_TO)',
    '--blocks N       number of blocks (default 300)',
    '--repeat N       runs of each (default 3)',
    `--table NAME     one of ${Object.keys(TABLES).join(', ')} (default: all)`,
  ],
  async run(print, args) {
    const given = readArgs(args, { to: text, blocks: text, repeat: text, table: text });
    const blockCount = readCount('blocks', given.blocks, { fallback: 300, min: 10 });
    const repeatCount = readCount('repeat', given.repeat, { fallback: 3, min: 1 });
    const to = given.to ?? process.env['SLUICE_SYNC_TO'];
    if (to === undefined) {
      // Without a name all benchmarks run, also where there is no database.
      if (args.length > 0) throw new UsageFailure('--to takes the address of a database');
      return print('skipped: --to takes the address of a database');
    }
    const data = await prepareStoredData({
      name: `sync-${blockCount}`,
      seed: 1,
      make: (folder) =>
        importSimulated(folder, { seed: 1, profile: '2025', firstSlot, blockCount }),
    });
    const service = await ServiceProcess.start(data);
    try {
      const idl = readFileSync(new URL('../../docs/idl/amm.json', import.meta.url));
      await fetch(new URL('/idls/amm.json', service.adminUrl), { method: 'PUT', body: idl });
      const last = firstSlot + blockCount - 1;
      const tables = keysOf(TABLES).filter((table) => table === (given.table ?? table));
      for (const table of tables) await measure({ to, table, last, repeatCount, service }, print);
    } finally {
      await service.process.stop();
    }
  },
};

interface Run {
  readonly to: string;
  readonly table: keyof typeof TABLES;
  readonly last: number;
  readonly repeatCount: number;
  readonly service: ServiceProcess;
}

async function measure(options: Run, print: (line: string) => void): Promise<void> {
  const { to, table, last, repeatCount, service } = options;
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-sync-'));
  const file = join(folder, 'rows');
  const psql = (...statements: string[]) =>
    execFileSync('psql', [to, '-qtA', ...statements.flatMap((statement) => ['-c', statement])], {
      encoding: 'utf8',
      env: { ...process.env, PGOPTIONS: '-c client_min_messages=warning' },
    }).trim();
  const dataset = `http://127.0.0.1:${service.port}/datasets/${datasetName}`;
  const description = join(folder, 'tables.yaml');
  writeFileSync(description, `tables:\n  ${table}:\n    ${TABLES[table]}\n`);
  const rates: number[] = [];
  const baseline: number[] = [];
  let cpuSeconds = 0;
  let serviceSeconds = 0;
  let bytesPeak = 0;
  let checksum = '';
  try {
    for (let run = 0; run < repeatCount; run++) {
      psql(`drop table if exists ${table}, copied`);
      const servedBefore = service.process.cpuSeconds();
      const cost = await CommandProcess.measure([
        ...['sync', dataset, '--to', to, '--tables', description, '--to-block', `${last}`],
      ]);
      serviceSeconds = service.process.cpuSeconds() - servedBefore;
      const count = Number(psql(`select count(*) from ${table}`));
      checksum = psql(
        `select md5(string_agg(md5(t::text), '' order by md5(t::text))) from ${table} t`,
      );
      psql(`\\copy ${table} to '${file}'`, `create table copied (like ${table})`);
      const startMs = performance.now();
      psql(`\\copy copied from '${file}'`);
      baseline.push(count / ((performance.now() - startMs) / 1000));
      rates.push(count / cost.seconds);
      cpuSeconds = cost.cpuSeconds;
      bytesPeak = Math.max(bytesPeak, cost.anonymousBytesPeak);
    }
    const [rate, copied] = [quantilesOf(rates).p50, quantilesOf(baseline).p50];
    print(
      `${table}: ${Math.round(rate)} rows/s with start and primary key, psql ${Math.round(copied)} rows/s, ratio ${(rate / copied).toFixed(2)}, ${cpuSeconds.toFixed(1)} s of CPU and ${serviceSeconds.toFixed(1)} s of the service, ${Math.round(bytesPeak / 1e6)} MB, checksum ${checksum.slice(0, 8)}`,
    );
  } finally {
    psql(`drop table if exists ${table}, copied`);
    rmSync(folder, { recursive: true, force: true });
  }
}
