/** Archives as processes read them: standard input, kills at any moment of an import and of a backfill, and a second run. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { systemClock } from '@sluice/base/clock';
import { type EncodedArchive, encodeArchive, encodeSlotRanges } from '@sluice/grpc/encode-archive';
import { parseJsonBlock } from '@sluice/grpc/encode-json-block';
import { createSimulatedLedger } from '@sluice/simulator/start-simulated-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ServiceProcess } from './service-process.ts';

const bin = fileURLToPath(new URL('../../packages/server/bin/sluice.js', import.meta.url));
/** An import and a backfill store a segment after this many blocks. */
const segmentBlocks = 1_024;
const blockCount = 2 * segmentBlocks + 300;
const firstSlot = 1_000;
const name = 'mine';
/** The tests start a dozen processes each, and a machine may be several times slower than one on which they take half a minute. */
const timeout = 600_000;

let folder: string;
let archive: EncodedArchive;
let expected: string;
const at = (path: string) => join(folder, path);
const slotOf = (number: number) => archive.ranges[number]?.slot ?? 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-archive-'));
  const chain = { seed: 6, startSlot: firstSlot, skipRate: 0.1, forkRate: 0 };
  const content = { transactionsPerBlock: 1, votes: 0, epochRewardsPerBlock: 1 };
  const ledger = createSimulatedLedger({ paused: true, chain, content }, { clock: systemClock });
  const blocks = [];
  const lines: string[] = [];
  for (let slot = firstSlot; blocks.length < blockCount; slot++) {
    const chainBlock = ledger.chain.blockAt(slot);
    if (chainBlock === undefined) continue;
    const { json } = ledger.render(chainBlock, { transactionDetails: 'full', rewards: true });
    blocks.push({ slot, block: parseJsonBlock(json) });
    lines.push(`{"slot":${slot},"block":${Buffer.from(json).toString()}}\n`);
  }
  archive = encodeArchive(blocks);
  writeFileSync(at('epoch-0.car'), archive.bytes);
  writeFileSync(at('epoch-0-slot-ranges.raw'), encodeSlotRanges(archive, 0));
  writeFileSync(at('all.jsonl'), lines.join(''));
  writeFileSync(at('last.jsonl'), lines.slice(-5).join(''));
  await run('import', 'by-lines', at('all.jsonl'));
  expected = await answer('by-lines');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function start(command: string, data: string, ...args: string[]) {
  const options = ['--data', at(data), '--dataset', name];
  const child = spawn(process.execPath, [bin, command, ...options, ...args]);
  const text = { out: '', err: '' };
  child.stdout.on('data', (bytes) => {
    text.out += String(bytes);
  });
  child.stderr.on('data', (bytes) => {
    text.err += String(bytes);
  });
  return { child, text, closed: once(child, 'close') };
}

/** Runs a command to its end and returns its output. */
async function run(command: string, data: string, ...args: string[]): Promise<string> {
  const { child, text, closed } = start(command, data, ...args);
  child.stdin.end();
  await closed;
  expect(child.exitCode, text.err).toBe(0);
  return text.out;
}

/** Waits until a condition is true, and kills the process. */
async function killWhen(
  holds: () => boolean,
  { child, text, closed }: ReturnType<typeof start>,
): Promise<void> {
  while (!holds()) {
    expect(child.exitCode, text.err).toBe(null);
    await systemClock.sleep(10);
  }
  child.kill('SIGKILL');
  await closed;
  expect(child.signalCode).toBe('SIGKILL');
}

const filesOf = (path: string) => (existsSync(path) ? readdirSync(path) : []);

/** Returns how many segments of a dataset are committed. A file is announced in the journal before, but not by its id. */
function committedCount(data: string): number {
  const [journal, segments] = [at(`${data}/${name}/journal`), at(`${data}/${name}/segments`)];
  const records = filesOf(journal).map((file) => readFileSync(join(journal, file), 'latin1'));
  return filesOf(segments).filter((file) => records.join('').includes(`"id":"${file}"`)).length;
}

/** Returns all records of a data folder. */
async function answer(data: string): Promise<string> {
  const service = await ServiceProcess.startServe(['--data', at(data)]);
  try {
    const kinds = ['transactions', 'instructions', 'logs', 'balances', 'tokenBalances', 'rewards'];
    const response = await service.query(`/datasets/${name}/finalized-stream`, {
      ...Object.fromEntries(kinds.map((kind) => [kind, [{}]])),
      fromBlock: slotOf(1),
      toBlock: slotOf(blockCount - 1),
      includeAllBlocks: true,
      fields: { block: { number: true, hash: true, parentHash: true, height: true } },
    });
    const text = await response.text();
    expect(text.trimEnd().split('\n')).toHaveLength(blockCount - 1);
    return text;
  } finally {
    await service.end('SIGTERM');
  }
}

test('behavior: F-40 an import of an archive from standard input that is killed three times continues, and a second import changes nothing', {
  timeout,
}, async () => {
  // The pipe stays open, so that the import cannot end before it is killed: before the first segment, and after the first and the second.
  for (const [segmentCount, share] of [
    [0, 0.3],
    [1, 0.6],
    [2, 0.97],
  ] as const) {
    const importing = start('import', 'killed', '-');
    const sent = archive.bytes.subarray(0, Math.floor(archive.bytes.length * share));
    importing.child.stdin.on('error', () => undefined).write(sent);
    const isThere = () =>
      filesOf(at(`killed/${name}/journal`)).length > 0 &&
      filesOf(at(`killed/${name}/segments`)).length >= segmentCount;
    await killWhen(isThere, importing);
  }
  const whole = start('import', 'killed', '-');
  whole.child.stdin.end(archive.bytes);
  await whole.closed;
  const [, imported, known] =
    /^mine: ([\d,]+) blocks imported, ([\d,]+) already/.exec(whole.text.out) ?? [];
  const count = (text = '') => Number(text.replace(',', ''));
  expect(count(imported) + count(known)).toBe(blockCount);
  expect(count(known)).toBeGreaterThanOrEqual(segmentBlocks);
  // With the index, only the last stored block is read again.
  const second = await run('import', 'killed', at('epoch-0.car'));
  expect(second).toMatch(/^mine: 0 blocks imported, 1 already stored;/);
  await run('verify', 'killed');
  expect(await answer('killed')).toBe(expected);
});

test('behavior: F-40 a backfill from an HTTP archive that is killed continues below its last segment, and a second one has nothing to do', {
  timeout,
}, async () => {
  const files = new Map([['/epoch-0.car', archive.bytes]]);
  files.set('/epoch-0-slot-ranges.raw', encodeSlotRanges(archive, 0));
  // Blocks below this offset are not sent until the first command was killed.
  let heldBelow = archive.ranges[500]?.offset ?? 0;
  let requested: number[] = [];
  const server = createServer((request, response) => {
    const bytes = files.get(request.url ?? '') ?? new Uint8Array();
    const [, first, last] = /bytes=(\d+)-(\d+)/.exec(request.headers.range ?? '') ?? [];
    if (first === undefined) return void response.writeHead(200).end(bytes);
    if (Number(first) < heldBelow) return;
    requested.push(Number(first));
    response.writeHead(206).end(bytes.subarray(Number(first), Number(last) + 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    await run('import', 'filled', at('last.jsonl'));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const args = ['--to', `${slotOf(1)}`, '--archive', url];
    await killWhen(() => committedCount('filled') >= 2, start('backfill', 'filled', ...args));
    heldBelow = 0;
    requested = [];
    expect(await run('backfill', 'filled', ...args)).toContain(`starts at slot ${slotOf(1)}\n`);
    // The blocks of the segment that was stored before are not requested again; the last block of the archive is its head.
    const offsetOf = (number: number) => archive.ranges[number]?.offset ?? 0;
    const [stored, head] = [offsetOf(blockCount - segmentBlocks), offsetOf(blockCount - 8)];
    expect(requested.filter((offset) => offset >= stored && offset < head)).toEqual([]);
    expect(requested.length).toBeGreaterThan(10);
    expect(await run('backfill', 'filled', ...args)).toBe(
      `mine: nothing to do; starts at slot ${slotOf(1)}\n`,
    );
    await run('verify', 'filled');
    expect(await answer('filled')).toBe(expected);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
