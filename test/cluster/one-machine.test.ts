/** One machine with a small disk and a bucket: queries, faults of the store, restarts, a lost disk. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  catalogueName,
  parseCatalogue,
} from '../../packages/server/src/object-store/cache-catalogue.ts';
import { countGranules, granuleBytes } from '../../packages/server/src/object-store/presence.ts';
import { S3Client } from '../../packages/server/src/object-store/s3-client.ts';
import { waitUntil } from './services/child.ts';
import { type FaultProxy, startFaultProxy } from './services/fault-proxy.ts';
import { ClusterMember } from './services/member.ts';
import { type S3Server, useS3 } from './services/start-s3.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-one-machine-'));
const lastSlot = 400;
let node: Awaited<ReturnType<typeof startSimulatedNode>>;
let s3: S3Server;
let proxy: FaultProxy;
let member: ClusterMember;

const query = {
  fromBlock: 0,
  toBlock: lastSlot - 60,
  instructions: [{}],
  fields: { block: { number: true, hash: true }, instruction: { programId: true, data: true } },
};

beforeAll(async () => {
  s3 = await useS3();
  proxy = await startFaultProxy(s3.port);
  node = await startSimulatedNode(
    {
      paused: true,
      chain: { seed: 5, startSlot: lastSlot + 1, slotMs: 400, skipRate: 0.05, forkRate: 0 },
      content: { transactionsPerBlock: 20 },
    },
    { clock: systemClock },
  );
  member = await start('first');
  await member.untilHead(lastSlot - 5);
  await waitUntil('segments are sealed', async () => (await countSegments()) >= 10);
});
afterAll(async () => {
  await member?.close();
  await node?.close();
  await proxy?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function start(name: string): Promise<ClusterMember> {
  const behind = { ...s3, port: Number(new URL(proxy.url).port) };
  const store = { segmentBlockCount: 32, cacheBytesMax: 64 << 20, requestMsMax: 3_000 };
  return ClusterMember.start({
    name,
    role: 'both',
    folder,
    rpcUrl: node.rpcUrl,
    s3: behind,
    nats: undefined,
    store,
  });
}

async function countSegments(): Promise<number> {
  const client = new S3Client(
    {
      ...s3,
      prefix: '',
      region: 'us-east-1',
      pathStyle: true,
      requestMsMax: 10_000,
      connectionCountMax: 1,
    },
    { credentials: async () => s3, clock: systemClock, random: () => 0 },
  );
  const objects = await client.list('ledger/segments/');
  await client.close();
  return objects.length;
}

async function ask(body: object = query): Promise<{ status: number; text: string }> {
  const response = await fetch(`${member.url}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

/** Starts the service with an empty cache, so that every query goes to the store. */
async function startCold(name: string): Promise<void> {
  await member.close();
  member = await start(name);
  await member.untilHead(lastSlot - 60);
  await waitUntil(
    'the dataset is served',
    async () => (await ask({ ...query, toBlock: 1 })).status === 200,
  );
}

let reference = '';
/** The number of bytes that the first cold query fetched. */
let coldBytes = 0;

test('default: history is read from the bucket, and a machine with an empty disk returns the same', async () => {
  const { status, text } = await ask();
  expect(status).toBe(200);
  reference = text;
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { header: { number: number; hash: string } });
  const expected = [];
  for (let slot = 0; slot <= query.toBlock; slot++) {
    const block = node.ledger.chain.blockAt(slot);
    if (block !== undefined) expected.push([slot, block.blockhash]);
  }
  expect(lines.at(-1)?.header.number).toBe(expected.at(-1)?.[0]);
  expect(lines.length).toBeGreaterThan(300);
  await startCold('second');
  const [before, bytesBefore] = [proxy.requests, proxy.bodyBytes];
  expect(await ask()).toEqual({ status: 200, text: reference });
  const cold = proxy.requests - before;
  coldBytes = proxy.bodyBytes - bytesBefore;
  expect(cold).toBeGreaterThan(5);
  expect(await ask()).toEqual({ status: 200, text: reference });
  expect(proxy.requests - before - cold).toBe(0);
});

/** Returns the number of bytes that the catalogue of the cache lists. The next process uses only these. */
function countListedBytes(): number {
  const cache = join(folder, member.name, 'data/ledger/cache');
  const { files } = parseCatalogue(readFileSync(join(cache, catalogueName)));
  const counts = [...files.values()].map(({ runs }) => countGranules(runs) * granuleBytes);
  return counts.reduce((sum, bytes) => sum + bytes, 0);
}

test('behavior: the cache survives a kill of the process', async () => {
  await waitUntil('the catalogue lists the cache', () => countListedBytes() >= coldBytes);
  const { startCount } = member;
  member.signal('SIGKILL');
  await waitUntil('another process starts', () => member.startCount > startCount);
  await member.untilHead(lastSlot - 60);
  const before = proxy.requests;
  await waitUntil('it answers', async () => (await ask()).status === 200);
  const { text } = await ask();
  expect(text).toBe(reference);
  expect(proxy.requests - before).toBeLessThan(10);
});

test.each([
  ['slow', 1, 120],
  ['failing', 0.1, lastSlot - 60],
  ['throttling', 0.3, lastSlot - 60],
  ['truncated', 0.1, lastSlot - 60],
] as const)(
  'behavior: a store that is %s for a share of %d of the requests does not change the responses',
  async (fault, share, toBlock) => {
    await startCold(`cold-${fault}`);
    Object.assign(proxy, { fault, share });
    const { status, text } = await ask({ ...query, toBlock });
    Object.assign(proxy, { fault: 'none' });
    expect(status).toBe(200);
    expect(reference.startsWith(text)).toBe(true);
    expect(JSON.parse(text.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({
      header: { number: expect.any(Number) },
    });
    expect(text.length).toBeGreaterThan(1_000);
    if (toBlock === query.toBlock) expect(text).toBe(reference);
  },
);

test('limit: a cold scan of small segments needs about one request per segment, several at a time', async () => {
  await startCold('cold-latency');
  const delayMs = 50;
  proxy.restartCount();
  Object.assign(proxy, { delayMs });
  const startMs = performance.now();
  const { text } = await ask();
  const elapsedMs = performance.now() - startMs;
  Object.assign(proxy, { delayMs: 0 });
  const { requests, concurrency } = proxy;
  expect(text).toBe(reference);
  const segments = await countSegments();
  process.stdout.write(
    `cold scan with ${delayMs} ms a request: ${elapsedMs.toFixed(0)} ms, ${requests} requests for ${segments} segments, ${concurrency.toFixed(1)} at a time\n`,
  );
  expect(requests).toBeLessThanOrEqual(segments + 2);
  expect(concurrency).toBeGreaterThan(1.5);
});

test('behavior: wrong bytes end the response after a complete line with an alarm, and the service recovers by itself', async () => {
  await startCold('cold-wrong');
  const { text: cached } = await ask({ ...query, toBlock: 120 });
  // While all bytes are wrong, no verification succeeds, so the alarm lasts.
  Object.assign(proxy, { fault: 'wrong', share: 1, match: '/segments/' });
  const { status, text } = await ask();
  expect(status).toBe(200);
  expect(text.startsWith(cached) && cached.length > 0).toBe(true);
  expect(reference.startsWith(text) && text !== reference && text.endsWith('\n')).toBe(true);
  await waitUntil('the alarm is raised', async () =>
    (await member.readStatus()).alarms.some(({ code }) => code === 'segment-damaged'),
  );
  Object.assign(proxy, { fault: 'none' });
  await waitUntil('the answer is whole again', async () => (await ask()).text === reference);
  await waitUntil('the alarm ends', async () => (await member.readStatus()).alarms.length === 0);
});

test('behavior: without the store the head is served, history gets 503 or ends early, and the service recovers', async () => {
  await startCold('cold-cut');
  Object.assign(proxy, { fault: 'cut', share: 1 });
  expect(await member.readHead()).toBeGreaterThanOrEqual(lastSlot - 60);
  const { status, text } = await ask();
  if (status === 200) expect(reference.startsWith(text) && text !== reference).toBe(true);
  else expect(status).toBe(503);
  const alarmCodes = async () => (await member.readStatus()).alarms.map(({ code }) => code);
  expect(await alarmCodes()).toContain('store-unreachable');
  Object.assign(proxy, { fault: 'none' });
  expect(await ask()).toEqual({ status: 200, text: reference });
  expect(await alarmCodes()).not.toContain('store-unreachable');
});
