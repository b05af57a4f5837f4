import { execFileSync, spawn } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { systemClock } from '@sluice/base/clock';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { main } from '../main.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-simulate-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const out = new PassThrough({ highWaterMark: 1e9 });
  const err = new PassThrough({ highWaterMark: 1e9 });
  const code = await main(['simulate', ...args], { out, err });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

interface Line {
  readonly slot: number;
  readonly block: Record<string, unknown>;
}

function parseLines(text: string): Line[] {
  expect(text.endsWith('}\n')).toBe(true);
  return text
    .slice(0, -1)
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

describe('a file of blocks', () => {
  const options = ['--seed', '5', '--skip-rate', '0.2', '--start-slot', '300'];

  test('default: the lines equal the results of getBlock for the same slots', async () => {
    const { code, out, err } = await run(...options, '--blocks', '30', '--out', '-');
    expect(code).toBe(0);
    expect(err).toMatch(/^30 of 30 blocks, /);
    const node = await startSimulatedNode(
      { paused: true, chain: { seed: 5, skipRate: 0.2, startSlot: 300 }, resumeAtSlot: 1_000 },
      { clock: systemClock },
    );
    try {
      const lines = out.slice(0, -1).split('\n');
      expect(lines).toHaveLength(30);
      let slot = 299;
      for (const line of lines) {
        slot = node.ledger.chain.nextBlock(slot + 1);
        const config = { commitment: 'finalized', maxSupportedTransactionVersion: 1 };
        const response = await fetch(node.rpcUrl, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({
            jsonrpc: '2.0',
            id: 1,
            method: 'getBlock',
            params: [slot, config],
          }),
        });
        const answer = await response.text();
        const result = answer.slice('{"jsonrpc":"2.0","result":'.length, -',"id":1}\n'.length);
        expect(line).toBe(`{"slot":${slot},"block":${result}}`);
      }
    } finally {
      await node.close();
    }
  });

  test('behavior: a name that ends in .gz writes gzip of the same bytes, and no temporary file stays', async () => {
    const plain = join(folder, 'a.jsonl');
    const zipped = join(folder, 'a.jsonl.gz');
    await run(...options, '--blocks', '5', '--out', plain);
    await run(...options, '--blocks', '5', '--out', zipped);
    expect(gunzipSync(readFileSync(zipped)).equals(readFileSync(plain))).toBe(true);
    expect(parseLines(readFileSync(plain, 'utf8'))).toHaveLength(5);
    expect(readdirSync(folder).sort()).toEqual(['a.jsonl', 'a.jsonl.gz']);
  });

  test('behavior: profile, transactions and votes change the blocks; slot-ms and date change their times', async () => {
    const first = async (...more: string[]) => {
      const { out } = await run(...options, '--blocks', '3', '--out', '-', ...more);
      return parseLines(out);
    };
    const counts = (lines: Line[]) =>
      lines.map(({ block }) => (block['transactions'] as unknown[]).length);
    expect(counts(await first('--transactions', '0', '--votes', 'off'))).toEqual([0, 0, 0]);
    expect(Math.min(...counts(await first('--profile', '2025')))).toBeGreaterThan(200);
    expect(
      Math.min(...counts(await first('--transactions', '0', '--votes', '100'))),
    ).toBeGreaterThan(30);
    const dated = await first('--start-date', '2026-02-03T04:05:06Z', '--slot-ms', '60000');
    const times = dated.map(({ block }) => block['blockTime'] as number);
    const [one, two] = dated.map(({ slot }) => slot) as [number, number];
    expect(times[0]).toBe(Date.parse('2026-02-03T04:05:06Z') / 1000 + (one - 300) * 60);
    expect(times[1]).toBe((times[0] as number) + (two - one) * 60);
  });

  test('error: cli-file-exists without --force; the file is not changed', async () => {
    const path = join(folder, 'kept.jsonl');
    writeFileSync(path, 'mine');
    const refused = await run('--blocks', '1', '--out', path);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('[cli-file-exists]');
    expect(readFileSync(path, 'utf8')).toBe('mine');
    expect((await run('--blocks', '1', '--out', path, '--force')).code).toBe(0);
    expect(parseLines(readFileSync(path, 'utf8'))).toHaveLength(1);
  });

  test('error: cli-file-unwritable for a missing folder', async () => {
    const nowhere = await run('--blocks', '1', '--out', join(folder, 'no', 'file'));
    expect(nowhere.err).toContain('[cli-file-unwritable]');
    expect(nowhere.err).toContain(join(folder, 'no', 'file'));
  });

  test('behavior: --force writes to the target of a symbolic link, and the link stays', async () => {
    const link = join(folder, 'link.jsonl.gz');
    writeFileSync(join(folder, 'target'), 'old');
    symlinkSync('target', link);
    expect((await run('--blocks', '1', '--out', link)).err).toContain('[cli-file-exists]');
    expect((await run('--blocks', '2', '--out', link, '--force')).code).toBe(0);
    expect(readlinkSync(link)).toBe('target');
    const written = gunzipSync(readFileSync(join(folder, 'target')));
    expect(parseLines(String(written))).toHaveLength(2);
  });

  test.each<[string, (path: string) => unknown]>([
    ['a folder', (path) => mkdirSync(path)],
    ['a FIFO', (path) => execFileSync('mkfifo', [path])],
    ['a device', (path) => symlinkSync('/dev/null', path)],
    ['a symbolic link whose target does not exist', (path) => symlinkSync('gone', path)],
  ])('error: cli-file-irregular: --force does not replace %s', async (kind, make) => {
    const path = join(folder, kind.replaceAll(' ', '-'));
    make(path);
    const before = lstatSync(path).ino;
    const { code, err } = await run('--blocks', '1', '--out', path, '--force');
    expect([code, err]).toEqual([1, expect.stringContaining('[cli-file-irregular]')]);
    expect(err).toContain(`path ${path}, found ${kind}`);
    expect(lstatSync(path).ino).toBe(before);
  });
});

describe('wrong options', () => {
  test.each([
    [['--fork-rate', '2'], '--fork-rate', "'2'", 'a number from 0 to 1'],
    [['--skip-rate', '0.9'], '--skip-rate', "'0.9'", 'a number from 0 to 0.5'],
    [['--skip-rate', 'NaN'], '--skip-rate', "'NaN'", 'a number'],
    [['--seed', '1.5'], '--seed', "'1.5'", 'an integer from 0'],
    [['--seed', ''], '--seed', "''", 'an integer from 0'],
    [['--port', '65536'], '--port', "'65536'", 'from 0 to 65535'],
    [['--ws-port', 'x'], '--ws-port', "'x'", 'from 0 to 65535'],
    [['--slot-ms', '0'], '--slot-ms', "'0'", 'from 1 to 60000'],
    [['--fork-depth', '0'], '--fork-depth', "'0'", 'from 1 to'],
    [['--finality-distance', '-1'], '--finality-distance', "'-1'", 'from 0 to'],
    [['--start-slot', '1e99'], '--start-slot', "'1e99'", 'from 0 to'],
    [['--start-date', 'yesterday'], '--start-date', "'yesterday'", 'such as 2026-01-31'],
    [['--start-date', '2026-02-31'], '--start-date', "'2026-02-31'", 'a date that exists'],
    [['--start-date', '2025-02-29T12:00Z'], '--start-date', "'2025-02-29T12:00Z'", 'exists'],
    [['--start-date', '2026-02-31x'], '--start-date', "'2026-02-31x'", 'such as'],
    [['--history', '0'], '--history', "'0'", 'from 1 to'],
    [['--speed', '0'], '--speed', "'0'", 'a number from 0.001'],
    [['--transactions', '5000'], '--transactions', "'5000'", 'from 0 to 4000'],
    [['--votes', 'some'], '--votes', "'some'", 'on, off, or a mean number'],
    [['--votes', '4001'], '--votes', "'4001'", 'on, off, or a mean number'],
    [['--profile', '2024'], '--profile', "'2024'", 'demo'],
    [['--blocks', '0', '--out', 'x'], '--blocks', "'0'", 'from 1 to'],
  ])('error: %j names the option, the value and the expected values', async (args, ...texts) => {
    const { code, err } = await run(...args);
    expect(code).toBe(2);
    for (const text of texts) expect(err).toContain(text);
  });

  test.each([
    [['--blocks', '1'], '--blocks needs --out'],
    [['--out', 'x'], '--out needs --blocks'],
    [['--force'], '--force needs --out'],
    [
      ['--blocks', '1', '--out', 'x', '--ws-port', '1'],
      '--ws-port has no effect on a file of blocks; leave it out',
    ],
    [['--blocks', '1', '--out', 'x', '--fork-rate', '0.1'], '--fork-rate has no effect'],
    [['--forkrate', '1'], 'Did you mean --fork-rate?'],
    [['extra'], 'too many arguments'],
  ])('error: %j is refused', async (args, text) => {
    const { code, err } = await run(...args);
    expect([code, err]).toEqual([2, expect.stringContaining(text)]);
  });

  test('error: listen-failed names the port that is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const { code, err } = await run(
      '--port',
      `${port}`,
      '--ws-port',
      '0',
      '--control-port',
      '0',
      '--grpc-port',
      '0',
    );
    expect(code).toBe(1);
    expect(err).toContain(`port ${port}, reason address already in use`);
    expect(err).toContain('[listen-failed]');
    server.close();
  });
});

describe('the command', () => {
  const bin = fileURLToPath(new URL('../../../bin/sluice.js', import.meta.url));

  function spawnNode(...args: string[]) {
    const child = spawn(process.execPath, [bin, 'simulate', ...args]);
    const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
    let text = '';
    const ready = new Promise<string>((resolve, reject) => {
      child.stdout.on('data', (chunk) => {
        text += String(chunk);
        if (text.includes('Stop with Ctrl-C')) resolve(text);
      });
      child.on('close', () => reject(new Error(`ended early: ${text}`)));
    });
    return { child, ready, ended };
  }
  const ports = ['--port', '0', '--ws-port', '0', '--control-port', '0', '--grpc-port', '0'];

  test.each(['SIGTERM', 'SIGINT'] as const)(
    'default: the command serves until %s and then ends with exit code 0',
    async (signal) => {
      const { child, ready, ended } = spawnNode(...ports, '--start-slot', '50', '--speed', '2');
      const text = await ready;
      expect(text).toContain('seed 1, profile demo, a slot every 400 ms, 2 times as fast');
      // Runs the curl command that was printed.
      const pasted = spawn('sh', [
        '-c',
        (/^Try: {2}(.+)$/m.exec(text) as RegExpExecArray)[1] as string,
      ]);
      const chunks: Buffer[] = [];
      pasted.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
      await new Promise((resolve) => pasted.on('close', resolve));
      const answer = String(Buffer.concat(chunks));
      if (answer !== '') expect(JSON.parse(answer)).toHaveProperty('result.blockhash');
      const url = (/http:\S+/.exec(text) as RegExpExecArray)[0];
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":1,"method":"getSlot","params":[{"commitment":"processed"}]}',
      });
      const { result } = (await response.json()) as { result: number };
      expect(result).toBeGreaterThanOrEqual(50);
      child.kill(signal);
      expect(await ended).toBe(0);
    },
  );

  test('behavior: when the reader closes the pipe, the command ends with exit code 0 and no message', async () => {
    const child = spawn(process.execPath, [
      bin,
      'simulate',
      '--start-slot',
      '0',
      '--blocks',
      '5000',
      '--out',
      '-',
    ]);
    const ended = new Promise((resolve) => child.on('close', resolve));
    const errors: Buffer[] = [];
    child.stderr.on('data', (chunk: Buffer) => errors.push(chunk));
    child.stdout.once('data', () => child.stdout.destroy());
    expect(await ended).toBe(0);
    expect(String(Buffer.concat(errors))).toMatch(/^\d+ of 5000 blocks.*\n$/);
  });

  test('behavior: an interrupted command leaves no file', async () => {
    const path = join(folder, 'cut.jsonl');
    const child = spawn(process.execPath, [bin, 'simulate', '--blocks', '1000000', '--out', path]);
    const ended = new Promise((resolve) => child.on('close', resolve));
    let err = '';
    child.stderr.on('data', (chunk) => {
      err += String(chunk);
    });
    while (!readdirSync(folder).some((name) => name.startsWith('cut.jsonl'))) {
      await systemClock.sleep(20);
    }
    child.kill('SIGTERM');
    expect(await ended).toBe(1);
    expect(err).toContain('[cli-interrupted]');
    expect(readdirSync(folder).filter((name) => name.startsWith('cut'))).toEqual([]);
  });
});
