import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { serveFolder } from '../../app/serve-folder.ts';
import { HttpFixture, makeChain } from '../../http/testing/http-fixture.ts';
import { MATCH, makeHash } from '../../stream/testing/make-block.ts';
import { runMain } from '../testing/run-main.ts';

const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
let folder: string;
const at = (name: string) => join(folder, name);
/** An address at which no service listens, so that names are looked up only in the folder. */
const nowhere = 'http://127.0.0.1:1';

beforeAll(async () => {
  process.setMaxListeners(100);
  folder = mkdtempSync(join(tmpdir(), 'sluice-query-'));
  const blocks = at('blocks.jsonl');
  const chain = ['--seed', '5', '--skip-rate', '0.2', '--start-slot', '300'];
  await runMain(['simulate', ...chain, '--blocks', '30', '--out', blocks]);
  await runMain(['import', '--data', at('data'), '--dataset', 'mine', blocks]);
});
beforeEach(() => {
  vi.stubEnv('SLUICE_URL', undefined);
  vi.stubEnv('SLUICE_KEY', undefined);
});
afterEach(() => vi.unstubAllEnvs());
afterAll(() => rmSync(folder, { recursive: true }));

const query = (...args: string[]) => runMain(['query', 'mine', '--data', at('data'), ...args]);

function linesOf(text: string): string[] {
  return text.split('\n').slice(0, -1);
}

/** Returns the lines that a service sends for a query. */
async function askDirectly(body: object): Promise<string[]> {
  const options = { dataFolder: at('data'), name: 'mine', version: 'test' };
  const { url, key, close } = await serveFolder(options, { clock: systemClock });
  try {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` };
    const sent = { method: 'POST', headers, body: JSON.stringify(body) };
    return linesOf(await (await fetch(`${url}/stream`, sent)).text());
  } finally {
    await close();
  }
}

describe('from a data folder', () => {
  test('default: through a pipe, the lines are byte for byte those of the service', async () => {
    const body = {
      fromBlock: 300,
      fields: {
        block: { number: true, hash: true },
        transaction: { transactionIndex: true, fee: true, err: true },
        balance: { account: true, pre: true, post: true },
        reward: { pubKey: true, lamports: true },
      },
      transactions: [{ balances: true }],
      rewards: [{}],
    };
    writeFileSync(at('q.json'), JSON.stringify(body));
    const { code, out } = await query('--query', at('q.json'));
    expect(code).toBe(0);
    const expected = await askDirectly(body);
    expect(expected.length).toBeGreaterThan(20);
    expect(linesOf(out)).toEqual(expected);
  });

  test('behavior: flags select instructions with their transactions', async () => {
    const { code, out } = await query(
      '--program',
      tokenProgram,
      '--d1',
      '0x03',
      '--with',
      'transaction',
    );
    expect(code).toBe(0);
    const records = linesOf(out).flatMap((line) => {
      const { instructions = [], transactions = [] } = JSON.parse(line) as Record<string, object[]>;
      return [...instructions, ...transactions];
    });
    expect(records.length).toBeGreaterThan(10);
    for (const record of records) {
      if ('programId' in record)
        expect(record).toMatchObject({ programId: tokenProgram, d1: '0x03' });
      else expect(record).toHaveProperty('signatures');
    }
  });

  test('behavior: several values are separated by commas or given by repeating the option, and the dataset may come last', async () => {
    const count = async (...args: string[]) =>
      JSON.parse(
        (await runMain(['query', '--data', at('data'), '--count', ...args, 'mine'])).out,
      ) as {
        instructions: number;
      };
    const [first, second] = [
      await count('--program', tokenProgram, '--d1', '0x03'),
      await count('--program', tokenProgram, '--d1', '0x0c'),
    ];
    const both = first.instructions + second.instructions;
    expect(await count('--program', tokenProgram, '--d1', '0x03,0x0c')).toMatchObject({
      instructions: both,
    });
    const repeated = ['--d1', '0x03', '--d1', '0x0c', '--program', tokenProgram];
    expect(await count(...repeated)).toMatchObject({ instructions: both });
  });

  test('behavior: on a terminal the output is a table, and escape sequences of the ledger are removed', async () => {
    const args = ['query', 'mine', '--data', at('data'), '--program', tokenProgram];
    vi.stubEnv('NO_COLOR', '1');
    const { out } = await runMain(args, true);
    const [heading, first] = linesOf(out);
    expect(heading).toMatch(/^slot +transactionIndex +instructionAddress +programId +d8/);
    expect(first).toMatch(/^3\d\d +\d+ +[\d.]+ +Tokenk…3VQ5DA/);
    expect(out).not.toContain('\x1b');
  });

  test('behavior: --count counts records of each kind, and --last and --limit bound the range', async () => {
    const { out } = await query('--count');
    const counts = JSON.parse(out) as Record<string, number>;
    expect(counts).toMatchObject({ blocks: 30 });
    expect(counts['instructions']).toBeGreaterThan(counts['transactions'] as number);
    const last = linesOf((await query('--last', '5')).out);
    expect(last.length).toBeGreaterThan(1);
    expect(last.length).toBeLessThanOrEqual(5);
    expect(linesOf((await query('--limit', '7')).out)).toHaveLength(7);
    const none = JSON.parse((await query('--count', '--account', MATCH)).out) as object;
    expect(none).toEqual({ blocks: 0, transactions: 0 });
  });

  test('behavior: --output csv and pretty write these formats', async () => {
    const { out } = await query('--output', 'csv', '--limit', '2');
    expect(linesOf(out)[0]).toBe('slot,hash,timestamp');
    const fields = 'instruction.data,transaction.signatures,transaction.fee,block.timestamp';
    const csv = await query('--program', tokenProgram, '--output', 'csv', '--fields', fields);
    const [heading, ...rows] = linesOf(csv.out);
    expect(heading).toBe('slot,timestamp,data,signature,transaction.fee');
    expect(rows.length).toBeGreaterThan(10);
    for (const row of rows) expect(row).toMatch(/^3\d\d,\d{10},\w+,\w{64,88},\d+$/);
    const pretty = await query('--output', 'pretty', '--limit', '1');
    expect(pretty.out).toMatch(/^\{\n {2}"header": \{\n/);
  });

  test('behavior: --out continues the file, also with a longer range, and writes each block once', async () => {
    const file = at('out.jsonl');
    const whole = linesOf((await query()).out);
    const middle = (JSON.parse(whole[10] as string) as { header: { number: number } }).header
      .number;
    expect((await query('--out', file, '--to', String(middle))).code).toBe(0);
    expect(linesOf(readFileSync(file, 'utf8'))).toEqual(whole.slice(0, 11));
    const again = await query('--out', file);
    expect([again.code, again.err]).toEqual([
      0,
      expect.stringContaining(`continues after slot ${middle}`),
    ]);
    expect(linesOf(readFileSync(file, 'utf8'))).toEqual(whole);
    // A further run has nothing to do.
    expect((await query('--out', file)).code).toBe(0);
    expect(linesOf(readFileSync(file, 'utf8'))).toEqual(whole);
    const other = await query('--out', file, '--program', tokenProgram);
    expect([other.code, other.err]).toEqual([1, expect.stringContaining('[cli-out-differs]')]);
  });

  test('behavior: --print-curl and --print-ts print the request and do not send it', async () => {
    const curl = await query('--program', tokenProgram, '--last', '3', '--print-curl');
    const [, body = ''] = / -d '(.*)'\n$/.exec(curl.out) ?? [];
    const shown = JSON.parse(body) as { fromBlock: number; toBlock: number };
    expect(shown).toMatchObject({ instructions: [{ programId: [tokenProgram] }] });
    const sent = await askDirectly(shown);
    expect(linesOf((await query('--program', tokenProgram, '--last', '3')).out)).toEqual(sent);
    const program = await query('--print-ts');
    expect(program.out).toContain("from '@sluice/client'");
  });

  test.each([
    [['--query', 'q.json', '--program', tokenProgram], 2, 'cannot be combined with --program'],
    [['--last', '3', '--from', '1'], 2, 'cannot be combined with --from and --to'],
    [['--from', '310', '--to', '305'], 2, 'slot 305 is below the first slot 310'],
    [['--from', 'yesterday'], 2, 'Expected a slot, or a date'],
    [['--follow'], 1, '[cli-follow-folder]'],
    [['--program', 'wrong'], 1, 'it decodes to 4 bytes'],
    [['--query', '/nonexistent/q.json'], 1, 'no such file or directory'],
    [['--from', '1'], 1, 'range-unavailable'],
    [['--out', '/nonexistent/x', '--output', 'table'], 1, '[cli-out-format]'],
  ])('error: %j is refused with exit code %i', async (args, code, text) => {
    const result = await query(...args);
    expect([result.code, result.err]).toEqual([code, expect.stringContaining(text)]);
    expect(result.out).toBe('');
  });

  test('error: cli-dataset-missing and cli-dataset-ambiguous list the datasets', async () => {
    vi.stubEnv('SLUICE_URL', '');
    const missing = await runMain(['query', 'other', '--data', at('data')]);
    expect(missing.err).toContain('found mine) [cli-dataset-missing]');
    await runMain(['import', '--data', at('two'), '--dataset', 'a', at('blocks.jsonl')]);
    await runMain(['import', '--data', at('two'), '--dataset', 'b', at('blocks.jsonl')]);
    const several = await runMain(['query', '--data', at('two')]);
    expect(several.err).toContain('found a b) [cli-dataset-ambiguous]');
    vi.stubEnv('SLUICE_URL', nowhere);
    expect((await runMain(['query', 'mine'])).err).toContain('[service-unreachable]');
  });
});

describe('from a running service', () => {
  let fixture: HttpFixture;
  beforeEach(async () => {
    fixture = await HttpFixture.start({ clock: systemClock });
    vi.stubEnv('SLUICE_URL', `http://127.0.0.1:${fixture.port}`);
  });
  afterEach(() => fixture.close());

  const slots = (text: string) =>
    linesOf(text).map((line) => (JSON.parse(line) as { header: { number: number } }).header.number);

  test('default: a dataset is found by its name, by its address, and as the only dataset', async () => {
    const url = `http://127.0.0.1:${fixture.port}`;
    for (const target of [
      'ledger-test',
      'ledger-alias',
      `${url}/datasets/ledger-test`,
      `${url}/`,
    ]) {
      const { code, out } = await runMain(['query', target, '--last', '3']);
      expect([target, code, slots(out)]).toEqual([target, 0, [108, 109, 110]]);
    }
    expect(slots((await runMain(['query'])).out)).toEqual([
      100, 101, 102, 103, 106, 107, 108, 109, 110,
    ]);
    expect(slots((await runMain(['query', '--finalized'])).out)).toEqual([100, 101, 102, 103]);
  });

  test('error: service-dataset-missing lists the datasets of the service', async () => {
    const { code, err } = await runMain(['query', 'other']);
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('found ledger-test) [service-dataset-missing]'),
    ]);
  });

  test('behavior: --follow continues with new blocks across a fork, and the file has only blocks of the chain', async () => {
    const file = at('follow.jsonl');
    const running = runMain(['query', '--follow', '--to', '114', '--from', '108', '--out', file]);
    await untilFile(file, 110);
    fixture.dataset.extend([111, 112]);
    await untilFile(file, 112);
    fixture.dataset.fork(110, [112, 113], 'b');
    await untilFile(file, 113);
    fixture.dataset.extend([114], 'b');
    const { code, err } = await running;
    expect(code).toBe(0);
    expect(err).toContain('fork: the blocks above slot 110 were replaced');
    const headers = linesOf(readFileSync(file, 'utf8')).map(
      (line) => (JSON.parse(line) as { header: { number: number; hash: string } }).header,
    );
    expect(headers.map(({ number, hash }) => [number, hash])).toEqual([
      ...[108, 109, 110].map((slot) => [slot, makeHash('a', slot)]),
      ...[112, 113, 114].map((slot) => [slot, makeHash('b', slot)]),
    ]);
  });

  async function untilFile(file: string, slot: number): Promise<void> {
    const hasSlot = () => existsSync(file) && slots(readFileSync(file, 'utf8')).includes(slot);
    await vi.waitFor(() => expect(hasSlot()).toBe(true), { timeout: 60_000, interval: 10 });
  }

  test('behavior: the key is read from SLUICE_KEY; without it the error of the service is shown', async () => {
    await fixture.close();
    const { createHash } = await import('node:crypto');
    const keys = [{ name: 'one', hash: createHash('sha256').update('secret').digest() }];
    fixture = await HttpFixture.start({ clock: systemClock, keys, dataset: makeChain() });
    vi.stubEnv('SLUICE_URL', `http://127.0.0.1:${fixture.port}`);
    const refused = await runMain(['query', 'ledger-test']);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('key-missing')]);
    expect(refused.err).toContain('SLUICE_KEY');
    vi.stubEnv('SLUICE_KEY', 'secret');
    expect((await runMain(['query', 'ledger-test', '--last', '2'])).code).toBe(0);
  });
});
