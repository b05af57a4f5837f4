/** Runs `sluice import` as a process: standard input, signals and kills. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { systemClock } from '@sluice/base/clock';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { main } from '../../packages/server/src/cli/main.ts';

const bin = fileURLToPath(new URL('../../packages/server/bin/sluice.js', import.meta.url));
let folder: string;
let lines: string[];
const at = (name: string) => join(folder, name);
const slotOf = (line: string | undefined) => Number(/^\{"slot":(\d+)/.exec(line ?? '')?.[1]);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-import-'));
  const options = ['--seed', '3', '--skip-rate', '0.2', '--start-slot', '300'];
  await run('simulate', ...options, '--blocks', '40', '--out', at('all.jsonl'));
  lines = readFileSync(at('all.jsonl'), 'utf8').trimEnd().split('\n');
});
afterAll(() => rmSync(folder, { recursive: true }));

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const out = new PassThrough({ highWaterMark: 1e9 });
  const err = new PassThrough({ highWaterMark: 1e9 });
  const code = await main(args, { out, err });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

function start(...args: string[]) {
  const child = spawn(process.execPath, [bin, ...args]);
  const text = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    text.out += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    text.err += String(chunk);
  });
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  return { child, text, ended };
}

/** Waits until a condition is true. Fails if the process ends before. */
async function until(
  holds: () => boolean,
  { ended, text }: Pick<ReturnType<typeof start>, 'ended' | 'text'>,
) {
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  while (!holds()) {
    expect(hasEnded, text.err).toBe(false);
    await systemClock.sleep(20);
  }
}

test('default: simulate, import, serve: a query gets exactly the blocks of the file', async () => {
  const data = at('spawned');
  const imported = start('import', '--data', data, '--dataset', 'mine', at('all.jsonl'));
  expect(await imported.ended, imported.text.err).toBe(0);
  const serving = start('serve', '--data', data, '--port', '0', '--admin-port', '0');
  try {
    await until(() => serving.text.out.includes('mine: slots'), serving);
    const url = (/http:\S+/.exec(serving.text.out) as RegExpExecArray)[0];
    const response = await fetch(`${url}/datasets/mine/finalized-stream`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        fromBlock: slotOf(lines[0]),
        toBlock: slotOf(lines.at(-1)),
        includeAllBlocks: true,
        fields: { block: { number: true, hash: true } },
      }),
    });
    const answer = (await response.text()).trimEnd().split('\n');
    const received = answer.map((line) => (JSON.parse(line) as { header: object }).header);
    const expected = lines.map((line) => {
      const { slot, block } = JSON.parse(line) as { slot: number; block: { blockhash: string } };
      return { number: slot, hash: block.blockhash };
    });
    expect(received).toEqual(expected);
    const second = start('import', '--data', data, '--dataset', 'mine', at('all.jsonl'));
    expect(await second.ended).toBe(1);
    expect(second.text.err).toContain('[data-folder-locked]');
  } finally {
    serving.child.kill('SIGTERM');
  }
  expect(await serving.ended).toBe(0);
});

test.each([
  ['without a writer', undefined],
  ['whose writer is silent', 'exec 3>"$0"; echo; exec cat'],
])('behavior: SIGTERM ends the wait for a FIFO %s, and nothing is left', async (name, script) => {
  const fifo = at(`fifo-${name}`);
  const data = at(`data-${name}`);
  execFileSync('mkfifo', [fifo]);
  const writer = script === undefined ? undefined : spawn('sh', ['-c', script, fifo]);
  const opened = new Promise((resolve) => writer?.stdout.once('data', resolve) ?? resolve(null));
  const waiting = start('import', '--data', data, '--dataset', 'mine', fifo);
  await until(() => existsSync(join(data, 'mine/journal')), waiting);
  await opened;
  waiting.child.kill('SIGTERM');
  expect(await waiting.ended).toBe(1);
  expect(waiting.text.err).toContain('[import-interrupted]');
  expect(readdirSync(data)).toEqual([]);
  writer?.stdin.end();
});

test.each(['SIGTERM', 'SIGKILL'] as const)(
  'behavior: an import that was ended by %s continues when it is run again',
  async (signal) => {
    const data = at(`cut-${signal}`);
    const blocks = at('many.jsonl');
    // The first 1,024 blocks become a segment, which is written while the remaining ones are imported.
    const blockCount = 1_100;
    if (!existsSync(blocks)) {
      const shape = ['--transactions', '1', '--votes', '0', '--seed', '8'];
      await run('simulate', ...shape, '--blocks', String(blockCount), '--out', blocks);
    }
    const args = ['import', '--data', data, '--dataset', 'mine'];
    const cut = start(...args, '-');
    // The pipe stays open, so the import cannot end before the signal.
    cut.child.stdin.on('error', () => {}).write(readFileSync(blocks));
    const segments = join(data, 'mine/segments');
    const isWritten = (name: string) => name.endsWith('.segment');
    await until(() => existsSync(segments) && readdirSync(segments).some(isWritten), cut);
    cut.child.kill(signal);
    expect(await cut.ended).toBe(signal === 'SIGTERM' ? 1 : null);
    if (signal === 'SIGTERM') expect(cut.text.err).toContain('[import-interrupted]');
    const { code, out } = await run(...args, blocks);
    expect(code).toBe(0);
    const [, imported, known] =
      /^mine: ([\d,]+) blocks imported(?:, ([\d,]+) already stored)?/.exec(out) as RegExpExecArray;
    const count = (text = '0') => Number(text.replace(',', ''));
    expect(count(imported) + count(known)).toBe(blockCount);
    expect(count(imported)).toBeGreaterThan(0);
  },
);

test('default: - is standard input, plain or compressed, with progress but no remaining time', async () => {
  const args = ['import', '--data', at('piped'), '--dataset', 'mine', '-'];
  for (const bytes of [gzipSync(lines.slice(0, 15).join('\n')), lines.join('\n')]) {
    const child = spawn(process.execPath, [bin, ...args]);
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (part: Buffer) => {
        printed += part.toString();
      });
    }
    child.stdin.end(bytes);
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
    expect(printed).toMatch(/^mine: (15|25) blocks imported/m);
    expect(printed).not.toContain('%');
  }
});
