import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DuckDBInstance } from '@duckdb/node-api';
import { tableFromIPC } from 'apache-arrow';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ExportManifest, manifestPathOf } from '../export/export-files.ts';
import { runMain } from '../testing/run-main.ts';

let folder: string;
const at = (...names: string[]) => join(folder, ...names);

beforeAll(async () => {
  process.setMaxListeners(100);
  folder = mkdtempSync(join(tmpdir(), 'sluice-export-'));
  const chain = ['--seed', '5', '--skip-rate', '0.2', '--start-slot', '300'];
  await runMain(['simulate', ...chain, '--blocks', '40', '--out', at('blocks.jsonl')]);
  await runMain(['import', '--data', at('data'), '--dataset', 'mine', at('blocks.jsonl')]);
});
beforeEach(() => {
  vi.stubEnv('SLUICE_URL', undefined);
  vi.stubEnv('SLUICE_KEY', undefined);
});
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const source = () => ['mine', '--data', at('data')];
const exported = (name: string, ...args: string[]) =>
  runMain(['export', ...source(), '--out', at(name), ...args]);

function manifestOf(name: string): ExportManifest {
  return JSON.parse(readFileSync(manifestPathOf(at(name)), 'utf8')) as ExportManifest;
}

/** The content of every file in a folder, by its path. */
function contentOf(name: string): Record<string, string> {
  const files = readdirSync(at(name), { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    files
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        return [path.slice(at(name).length), readFileSync(path).toString('base64')];
      }),
  );
}

async function sql(query: string): Promise<Record<string, unknown>[]> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  try {
    return (await connection.runAndReadAll(query)).getRowObjectsJson();
  } finally {
    connection.closeSync();
  }
}

/** Returns all records of one kind that `sluice query` prints for the dataset, each with the slot of its block. */
async function recordsOf(kind: string): Promise<Record<string, unknown>[]> {
  const { out } = await runMain(['query', ...source(), '--kind', kind, '--finalized', '--quiet']);
  return out
    .split('\n')
    .filter(Boolean)
    .flatMap((line) => {
      const block = JSON.parse(line) as Record<string, Record<string, unknown>[]> & {
        header: { number: number };
      };
      return (block[kind] ?? []).map((record) => ({ slot: block.header.number, ...record }));
    });
}

describe('the files', () => {
  test('default: DuckDB opens the folder as one table with the records of the query', async () => {
    const { out, code } = await exported('parquet', '--table', 'instructions', '--slots', '16');
    expect(code).toBe(0);
    const expected = await recordsOf('instructions');
    expect(out).toContain(`${expected.length.toLocaleString('en')} rows in`);
    const table = `read_parquet('${at('parquet')}/*.parquet')`;
    const rows = await sql(
      `select block_slot, transaction_index, instruction_address, program_id, accounts from ${table} order by filename, file_row_number`.replace(
        ')',
        ', filename=true, file_row_number=true)',
      ),
    );
    expect(rows).toEqual(
      expected.map((record) => ({
        block_slot: String(record['slot']),
        transaction_index: record['transactionIndex'],
        instruction_address: record['instructionAddress'],
        program_id: record['programId'],
        accounts: record['accounts'],
      })),
    );
    const types = await sql(
      `describe select block_slot, block_time, data, is_committed from ${table}`,
    );
    expect(types.map((row) => row['column_type'])).toEqual([
      'UBIGINT',
      'TIMESTAMP WITH TIME ZONE',
      'BLOB',
      'BOOLEAN',
    ]);
  });

  test('behavior: the manifest has the ranges, which begin at multiples of their length, and the digest of each file', async () => {
    await exported('digests', '--table', 'logs', '--slots', '16', '--from', '310', '--to', '340');
    const { ranges, rows } = manifestOf('digests');
    expect(ranges.map(({ first, last }) => [first, last])).toEqual([
      [310, 319],
      [320, 335],
      [336, 340],
    ]);
    expect(rows).toBe(ranges.reduce((sum, range) => sum + range.rows, 0));
    for (const { path, bytes, sha256 } of ranges.flatMap(({ files }) => files)) {
      const content = readFileSync(at('digests', path));
      expect([content.length, createHash('sha256').update(content).digest('hex')]).toEqual([
        bytes,
        sha256,
      ]);
    }
  });

  test('behavior: all formats have the same rows, and a folder for each day is a partition', async () => {
    const expected = (await recordsOf('tokenBalances')).length;
    expect(expected).toBeGreaterThan(0);
    const args = ['--table', 'token_balances', '--by-day', '--slots', '100'];
    for (const format of ['parquet', 'arrow', 'csv', 'jsonl'])
      await exported(`by-${format}`, ...args, '--format', format);
    const glob = (name: string, end: string) => `'${at(name)}/*/*.${end}', hive_partitioning=true`;
    for (const table of [
      `read_parquet(${glob('by-parquet', 'parquet')})`,
      `read_csv(${glob('by-csv', 'csv')})`,
      `read_json(${glob('by-jsonl', 'jsonl')})`,
    ]) {
      const counts = await sql(`select count(*) as n, count(distinct day) as days from ${table}`);
      expect(counts).toEqual([{ n: String(expected), days: '1' }]);
    }
    const files = manifestOf('by-arrow').ranges.flatMap((range) => range.files);
    const tables = files.map(({ path }) => tableFromIPC(readFileSync(at('by-arrow', path))));
    expect(tables.reduce((sum, { numRows }) => sum + numRows, 0)).toBe(expected);
    const same = await sql(
      `select count(*) as n from read_parquet(${glob('by-parquet', 'parquet')}) p join read_json(${glob('by-jsonl', 'jsonl')}) j
       using (block_slot, transaction_index, account) where p.post_amount is not distinct from j.post_amount and p.pre_owner is not distinct from j.pre_owner`,
    );
    expect(same).toEqual([{ n: String(expected) }]);
  });

  test('behavior: repeated, an export gives the same bytes', async () => {
    for (const format of ['parquet', 'arrow']) {
      const args = ['--table', 'transactions', '--format', format, '--slots', '16'];
      await exported(`first-${format}`, ...args);
      await exported(`second-${format}`, ...args);
      expect(contentOf(`second-${format}`)).toEqual(contentOf(`first-${format}`));
      await exported(`first-${format}`, ...args);
      expect(contentOf(`first-${format}`)).toEqual(contentOf(`second-${format}`));
    }
  });
});

describe('continuing', () => {
  test('behavior: an export that was killed continues and ends with the bytes of an undisturbed one', async () => {
    const args = ['--table', 'instructions', '--slots', '1'];
    await exported('whole', ...args);
    const command = fileURLToPath(new URL('../../../bin/sluice.js', import.meta.url));
    const child = spawn(
      process.execPath,
      [command, 'export', ...source(), ...args, '--out', at('killed')],
      { stdio: 'ignore' },
    );
    const isBegun = () => existsSync(at('killed')) && readdirSync(at('killed')).length > 0;
    while (!isBegun() && child.exitCode === null) await new Promise(setImmediate);
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    expect(child.signalCode).toBe('SIGKILL');
    const before = manifestOf('killed').ranges.length;
    expect(before).toBeLessThan(manifestOf('whole').ranges.length);
    writeFileSync(at('killed', '000000000999-000000000999.parquet.123.tmp'), 'left behind');
    await exported('killed', ...args);
    expect(contentOf('killed')).toEqual(contentOf('whole'));
  });

  test('behavior: an export that was killed before its first range continues, and files that its manifest does not list are removed', async () => {
    const args = ['--table', 'logs', '--slots', '16', '--by-day'];
    await exported('undisturbed', ...args);
    const { request } = manifestOf('undisturbed');
    mkdirSync(at('begun', 'day=2025-01-31'), { recursive: true });
    writeFileSync(at('begun', 'day=2025-01-31', '000000000320-000000000325.parquet'), 'shorter');
    writeFileSync(manifestPathOf(at('begun')), JSON.stringify({ request, rows: 0, ranges: [] }));
    expect((await exported('begun', ...args)).code).toBe(0);
    expect(contentOf('begun')).toEqual(contentOf('undisturbed'));
    // The folder of a day without files is what a run leaves that was killed before its manifest.
    mkdirSync(at('empty', 'day=2025-01-31'), { recursive: true });
    expect((await exported('empty', ...args)).code).toBe(0);
  });

  test('behavior: a later export replaces the last range, which was shorter', async () => {
    const args = ['--table', 'logs', '--slots', '16'];
    await exported('longer', ...args, '--to', '325');
    const [path] =
      manifestOf('longer')
        .ranges.at(-1)
        ?.files.map((file) => file.path) ?? [];
    await exported('longer', ...args, '--to', '330');
    expect(manifestOf('longer').ranges.map(({ last }) => last)).toEqual([303, 319, 330]);
    expect(existsSync(at('longer', path ?? ''))).toBe(false);
  });
});

describe('refusals', () => {
  test('error: cli-out-differs', async () => {
    await exported('differs', '--table', 'logs');
    const { err, code } = await exported('differs', '--table', 'rewards');
    expect(err).toContain('cli-out-differs');
    expect(code).not.toBe(0);
    await exported('differs', '--table', 'rewards', '--force');
    expect(Object.keys(contentOf('differs'))).toHaveLength(1);
    expect(manifestOf('differs').request).toMatchObject({ table: 'rewards' });
  });

  test('error: cli-folder-used', async () => {
    mkdirSync(at('used'));
    writeFileSync(at('used', 'notes.txt'), '');
    for (const force of [[], ['--force']])
      expect((await exported('used', '--table', 'logs', ...force)).err).toContain(
        'cli-folder-used',
      );
    expect(readdirSync(at('used'))).toEqual(['notes.txt']);
    expect(existsSync(manifestPathOf(at('used')))).toBe(false);
  });

  test('error: cli-usage', async () => {
    const program = ['--program', 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'];
    const { err } = await exported('none', '--table', 'logs', ...program);
    expect(err).toContain('the query selects no rows of logs');
    expect((await exported('none', '--table', 'logs', ...program, '--with', 'logs')).code).toBe(0);
  });
});

const python = process.env['PYTHON'] ?? 'python3';
const hasPolars = (() => {
  try {
    execFileSync(python, ['-c', 'import polars'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

test.skipIf(!hasPolars)(
  `behavior: polars opens the folder as one table${hasPolars ? '' : ' (skipped: polars is not installed)'}`,
  async () => {
    await exported('polars', '--table', 'transactions', '--slots', '16');
    await exported('polars-days', '--table', 'transactions', '--by-day');
    const expected = String((await recordsOf('transactions')).length);
    for (const name of ['polars', 'polars-days']) {
      const script = `import polars; print(polars.read_parquet("${at(name)}").height)`;
      expect(execFileSync(python, ['-c', script]).toString().trim()).toBe(expected);
    }
  },
);
