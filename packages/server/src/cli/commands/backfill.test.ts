import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { systemClock } from '@sluice/base/clock';
import { encodeArchive, encodeSlotRanges } from '@sluice/grpc/encode-archive';
import type { JsonBlock } from '@sluice/grpc/encode-json-block';
import type { SimulatedNode } from '@sluice/simulator/start-node';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WriterLock } from '../../storage/writer-lock.ts';
import { main } from '../main.ts';

const firstSlot = 260;
const headSlot = 300;
let folder: string;
let node: SimulatedNode;
const at = (name: string) => join(folder, name);

beforeAll(async () => {
  // Each run adds listeners for the signals of the process, and these tests run many commands.
  process.setMaxListeners(100);
  folder = mkdtempSync(join(tmpdir(), 'sluice-backfill-'));
  const chain = { seed: 5, startSlot: headSlot, skipRate: 0, forkRate: 0 };
  const content = { transactionsPerBlock: 1, votes: 0, epochRewardsPerBlock: 1 };
  node = await startSimulatedNode({ paused: true, chain, content }, { clock: systemClock });
  const lines: string[] = [];
  for (let slot = firstSlot; slot < firstSlot + 5; slot++) {
    lines.push(`{"slot":${slot},"block":${JSON.stringify(await getBlock(slot))}}`);
  }
  writeFileSync(at('some.jsonl'), `${lines.join('\n')}\n`);
});
afterAll(async () => {
  await node.close();
  rmSync(folder, { recursive: true });
});

async function getBlock(slot: number): Promise<unknown> {
  const config = { encoding: 'json', maxSupportedTransactionVersion: 1, rewards: true };
  const body = { jsonrpc: '2.0', id: 1, method: 'getBlock', params: [slot, config] };
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(node.rpcUrl, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  });
  return ((await response.json()) as { result: unknown }).result;
}

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const out = new PassThrough({ highWaterMark: 1e9 });
  const err = new PassThrough({ highWaterMark: 1e9 });
  const code = await main(args, { out, err });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

/** Creates a dataset of five blocks in a data folder of its own. */
async function makeDataset(name: string): Promise<string> {
  const { code } = await run('import', '--data', at(name), '--dataset', 'mine', at('some.jsonl'));
  expect(code).toBe(0);
  return at(name);
}

const backfill = (data: string, to: number) =>
  run('backfill', '--data', data, '--dataset', 'mine', '--to', String(to), '--rpc', node.rpcUrl);

describe('sluice backfill', () => {
  test('default: history is loaded down to a slot with progress on stderr; a second run has nothing to do', async () => {
    const data = await makeDataset('one');
    const { code, out, err } = await backfill(data, 200);
    expect([code, out]).toEqual([0, 'mine: 60 blocks added; starts at slot 200\n']);
    expect(err).toMatch(/60 blocks, \d+\.\d MB, \d+ blocks\/s, \d+\.\d MB\/s, 100 %\n$/);
    const again = await backfill(data, 200);
    expect([again.code, again.out]).toEqual([0, 'mine: nothing to do; starts at slot 200\n']);
    const verified = await run('verify', '--data', data);
    expect([verified.code, verified.err]).toEqual([0, expect.anything()]);
  });

  test('behavior: history comes from an archive, and another source fills a hole in it', async () => {
    const blocks: { slot: number; block: JsonBlock }[] = [];
    for (let slot = 199; slot < firstSlot; slot++) {
      blocks.push({ slot, block: (await getBlock(slot)) as JsonBlock });
    }
    const archive = encodeArchive(blocks);
    mkdirSync(at('archive'));
    writeFileSync(at('archive/epoch-0.car'), archive.bytes);
    const ranges = archive.ranges.filter(({ slot }) => slot !== 230);
    writeFileSync(
      at('archive/epoch-0-slot-ranges.raw'),
      encodeSlotRanges({ ...archive, ranges }, 0),
    );
    const data = await makeDataset('archived');
    const options = ['--data', data, '--dataset', 'mine', '--to', '200'];
    const more = ['--archive', at('archive'), '--rpc', node.rpcUrl];
    const { code, out } = await run('backfill', ...options, ...more);
    expect([code, out]).toEqual([0, 'mine: 60 blocks added; starts at slot 200\n']);
    const plain = await makeDataset('by-node');
    await backfill(plain, 200);
    for (const name of readdirSync(`${plain}/mine/segments`)) {
      const [a, b] = [plain, data].map((one) => readFileSync(`${one}/mine/segments/${name}`));
      expect(Buffer.compare(a as Buffer, b as Buffer), name).toBe(0);
    }
    const verified = await run('verify', '--data', data);
    expect([verified.code, verified.err]).toEqual([0, expect.anything()]);
  });

  test('error: the dataset, the folder and the address are checked before a source is called', async () => {
    const data = await makeDataset('two');
    const missing = await run(
      'backfill',
      '--data',
      data,
      '--dataset',
      'other',
      '--to',
      '0',
      '--rpc',
      'http://127.0.0.1:1',
    );
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('[dataset-missing]')]);
    const address = await run(
      'backfill',
      '--data',
      data,
      '--dataset',
      'mine',
      '--to',
      '0',
      '--rpc',
      'ftp://node',
    );
    expect([address.code, address.err]).toEqual([
      2,
      expect.stringContaining('--rpc needs an address that starts with http'),
    ]);
    const usage = await run(
      'backfill',
      '--data',
      data,
      '--dataset',
      'mine',
      '--to',
      '-1',
      '--rpc',
      node.rpcUrl,
    );
    expect([usage.code, usage.err]).toEqual([2, expect.stringContaining('Expected a slot')]);
    const lock = await WriterLock.acquire(data);
    try {
      const held = await backfill(data, 0);
      expect([held.code, held.err]).toEqual([1, expect.stringContaining('[data-folder-locked]')]);
    } finally {
      await lock.release();
    }
  });
});

describe('sluice serve --backfill-to', () => {
  test('error: --backfill-to is refused with --keep and without --rpc', async () => {
    const follow = ['--dataset', 'mine', '--rpc', node.rpcUrl];
    const both = await run('serve', ...follow, '--backfill-to', '1', '--keep', '7d');
    expect([both.code, both.err]).toEqual([2, expect.stringContaining('cannot be combined')]);
    const alone = await run('serve', '--backfill-to', '1');
    expect([alone.code, alone.err]).toEqual([
      2,
      expect.stringContaining('--backfill-to needs --rpc'),
    ]);
  });

  test('error: an invalid address is reported by its option and not repeated', async () => {
    const wrong: [string, string][] = [
      ['--rpc', 'ftp://secret'],
      ['--portal', 'http://127.0.0.1/secret'],
      ['--ws', 'http://secret'],
    ];
    for (const [option, address] of wrong) {
      const { code, err } = await run(
        ...['serve', '--dataset', 'mine', '--rpc', node.rpcUrl, option, address],
      );
      expect([code, err]).toEqual([2, expect.stringContaining(`${option} needs `)]);
      expect(err).not.toContain('secret');
    }
  });
});

describe('sluice repair', () => {
  test('default: a damaged segment is loaded from a node again, and has the same bytes', async () => {
    const data = await makeDataset('repaired');
    const segments = join(data, 'mine/segments');
    const path = join(segments, readdirSync(segments)[0] ?? '');
    const bytes = readFileSync(path);
    const damaged = Buffer.from(bytes);
    damaged.writeUInt8(damaged.readUInt8(300) ^ 1, 300);
    writeFileSync(path, damaged);
    const { code, out } = await run('repair', 'mine', '--data', data, '--rpc', node.rpcUrl);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^mine: segments\/\S+: repaired\nmine: no damage is left\n$/),
    ]);
    expect(Buffer.compare(readFileSync(path), bytes)).toBe(0);
  });
});
