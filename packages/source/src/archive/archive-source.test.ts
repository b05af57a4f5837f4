/** An archive in a folder and on an HTTP server gives the blocks of its files, reads only ranges, and reports faults as refusals. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encodeArchive, encodeSlotRanges } from '@sluice/grpc/encode-archive';
import { toSlot } from '@sluice/ledger/primitives';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { normalizeBlock } from '../normalize/normalize-block.ts';
import { type BlockForms, simulatedForms } from '../testing/binary-forms.ts';
import { ArchiveSource } from './archive-source.ts';
import { readArchiveBlock } from './read-archive-block.ts';

const never = new AbortController().signal;
const options = { signal: never, timeoutMs: 1_000 };
let folder: string;
let server: Server;
let url: string;
let blocks: BlockForms[];
let requests: string[] = [];
/** The status of the next replies, instead of the file. */
let statuses: number[] = [];
let ignoresRanges = false;
let files: Map<string, Uint8Array>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-archive-'));
  blocks = simulatedForms(20, { transactionsPerBlock: 3, votes: 1 });
  const archive = encodeArchive(blocks);
  files = new Map([
    ['epoch-0.car', archive.bytes],
    ['epoch-0-slot-ranges.raw', encodeSlotRanges(archive, 0)],
  ]);
  for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
  server = createServer((request, response) => {
    const name = (request.url ?? '').slice('/archive/'.length);
    const { range } = request.headers;
    requests.push(`${name} ${range ?? ''}`);
    const bytes = files.get(name);
    const status = statuses.shift() ?? (bytes === undefined ? 404 : 200);
    if (bytes === undefined || status !== 200) return void response.writeHead(status).end();
    const [, first, last] = /bytes=(\d+)-(\d+)/.exec(range ?? '') ?? [];
    if (first === undefined || ignoresRanges) return void response.writeHead(200).end(bytes);
    response.writeHead(206).end(bytes.subarray(Number(first), Number(last) + 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/archive`;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const open = (location: string) =>
  new ArchiveSource({ kind: 'archive', name: 'archive-1', location });

describe.each(['folder', 'http'] as const)('%s', (kind) => {
  const location = () => (kind === 'folder' ? folder : url);

  test('default: lists its slots and returns their blocks and headers', async () => {
    const source = open(location());
    const range = { first: 0, last: 2_000 };
    const slots = await source.listSlots(range, 'finalized', never);
    expect(slots).toEqual({ kind: 'ok', value: blocks.map(({ slot }) => slot) });
    for (const { slot, json } of blocks) {
      const { header, ...rest } = normalizeBlock(slot, json).block;
      const block = await source.block(slot, 'finalized', options);
      if (block.kind === 'refused') throw new TypeError(block.cause);
      const read = readArchiveBlock(slot, block.value).block;
      // The archive does not have the hash of the parent.
      expect(read).toEqual({ header: { ...header, parentHash: null }, ...rest });
      const own = await source.header(slot, 'finalized', never);
      expect(own).toEqual({ kind: 'ok', value: { ...header, parentHash: null } });
    }
    const first = blocks[0]?.slot;
    expect(await source.firstAvailable()).toEqual({ kind: 'ok', value: first });
    await source.close();
  });

  test('behavior: a slot without a block, and an epoch that is missing, are refused', async () => {
    const source = open(location());
    const slots = new Set<number>(blocks.map(({ slot }) => slot));
    const skipped = toSlot(
      [...slots].map((slot) => slot + 1).find((slot) => !slots.has(slot)) ?? 0,
    );
    expect(await source.block(skipped, 'finalized', options)).toMatchObject({
      reason: 'skipped-hint',
    });
    expect(await source.block(toSlot(432_000 * 5), 'finalized', options)).toMatchObject({
      reason: 'pruned',
    });
    const across = await source.listSlots({ first: 0, last: 432_000 }, 'finalized', never);
    expect(across).toMatchObject({ kind: 'refused', reason: 'pruned' });
  });
});

test('behavior: neighbouring blocks are read with one request, and only their ranges', async () => {
  const source = open(url);
  requests = [];
  await Promise.all(blocks.map(({ slot }) => source.block(slot, 'finalized', options)));
  const ranges = requests.filter((request) => request.startsWith('epoch-0.car bytes='));
  expect(ranges.length).toBeLessThan(blocks.length / 2);
  expect(requests.filter((request) => request.includes('raw'))).toHaveLength(1);
});

test('behavior: a failed request is not remembered', async () => {
  const source = open(url);
  const { slot } = blocks[3] as BlockForms;
  statuses = [503];
  expect(await source.block(slot, 'finalized', options)).toMatchObject({ reason: 'outage' });
  statuses = [200, 429];
  expect(await source.block(slot, 'finalized', options)).toMatchObject({ reason: 'outage' });
  statuses = [403];
  expect(await source.block(slot, 'finalized', options)).toMatchObject({ reason: 'key' });
  expect(await source.block(slot, 'finalized', options)).toMatchObject({ kind: 'ok' });
});

test('error: a server that ignores ranges is refused instead of sending a whole epoch', async () => {
  const source = open(url);
  ignoresRanges = true;
  const { slot } = blocks[3] as BlockForms;
  const answer = await source.block(slot, 'finalized', options);
  ignoresRanges = false;
  expect(answer).toMatchObject({ reason: 'incapable', cause: expect.stringContaining('ranges') });
});

test('error: an address that cannot be reached is an outage without the address in its cause', async () => {
  const source = open('http://127.0.0.1:9/secret-key');
  const answer = await source.block(toSlot(1), 'finalized', options);
  expect(answer).toMatchObject({ kind: 'refused', reason: 'outage' });
  expect(JSON.stringify(answer)).not.toContain('secret');
});
