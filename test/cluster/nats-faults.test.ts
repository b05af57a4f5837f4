/** A writer and a reader while servers of the feed are stopped, without a quorum, with a full stream, and with retention. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { waitUntil } from './services/child.ts';
import { type FaultProxy, startFaultProxy } from './services/fault-proxy.ts';
import { ClusterMember } from './services/member.ts';
import { type NatsCluster, startNats } from './services/start-nats.ts';
import { type S3Server, useS3 } from './services/start-s3.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-nats-faults-'));
const startSlot = 80;
const members: ClusterMember[] = [];
let node: Awaited<ReturnType<typeof startSimulatedNode>>;
let s3: S3Server;
let nats: NatsCluster;
let proxy: FaultProxy;
let writer: ClusterMember;
let reader: ClusterMember;

beforeAll(async () => {
  [s3, nats] = await Promise.all([useS3(), startNats(folder, 3)]);
  proxy = await startFaultProxy(s3.port);
  node = await startSimulatedNode(
    {
      chain: { seed: 7, startSlot, slotMs: 400, skipRate: 0.05, forkRate: 0.05 },
      content: { transactionsPerBlock: 5 },
    },
    { clock: systemClock },
  );
  [writer, reader] = await Promise.all([start('writer', 'write'), start('reader', 'read')]);
  await reader.untilHead(startSlot - 10);
});
afterAll(async () => {
  await Promise.all(members.map((member) => member.close()));
  await node?.close();
  await proxy?.stop();
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(
  name: string,
  role: 'both' | 'write' | 'read',
  options: { rpcUrl?: string; feed?: object; dataset?: object } = {},
): Promise<ClusterMember> {
  const member = await ClusterMember.start({
    ...{ name, role, folder, nats, rpcUrl: node.rpcUrl, ...options },
    s3: { ...s3, port: Number(new URL(proxy.url).port) },
    store: { segmentBlockCount: 32, requestMsMax: 3_000 },
  });
  members.push(member);
  return member;
}

interface ReceivedResponse {
  readonly status: number;
  readonly text: string;
}

async function ask(member: ClusterMember, body: object): Promise<ReceivedResponse> {
  const response = await fetch(`${member.url}/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

const history = {
  fromBlock: 0,
  toBlock: startSlot - 20,
  instructions: [{}],
  fields: { block: { number: true, hash: true }, instruction: { data: true } },
};

/** Returns no alarms for a process that is starting. */
const alarmsOf = async (member: ClusterMember) => {
  const status = await member.readStatus().catch(() => undefined);
  return status?.alarms?.map(({ code }) => code) ?? [];
};

const untilAlarm = (member: ClusterMember, code: string, isRaised: boolean) =>
  waitUntil(
    `${member.name} ${isRaised ? 'raises' : 'clears'} ${code}`,
    async () => (await alarmsOf(member)).includes(code) === isRaised,
  ).catch((error: Error) => {
    throw new Error(`${error.message}\n${member.output}`);
  });

async function untilGrown(member: ClusterMember): Promise<void> {
  const head = (await member.readHead()) ?? 0;
  await member.untilHead(head + 5).catch((error: Error) => {
    throw new Error(`${error.message}\n${writer.output}`);
  });
}

test('default: a process with the role write refuses queries with an error that names readers', async () => {
  const { status, text } = await ask(writer, history);
  expect([status, JSON.parse(text)]).toMatchObject([503, { error: { code: 'queries-elsewhere' } }]);
  expect((await ask(reader, history)).status).toBe(200);
  expect(await writer.readHead()).toBeGreaterThan(0);
});

test('behavior: without one of three servers the head advances', async () => {
  await nats.servers[0]?.child.stop('SIGKILL');
  await untilGrown(reader);
  nats.servers[0]?.restart();
  await untilGrown(reader);
  await untilAlarm(reader, 'feed-unreachable', false);
});

test('behavior: without a quorum the service serves queries with an alarm, reports no conflicts, and recovers', async () => {
  const before = await ask(reader, history);
  const gone = nats.servers.slice(1);
  await Promise.all(gone.map(({ child }) => child.stop('SIGKILL')));
  await Promise.all([
    untilAlarm(reader, 'feed-unreachable', true),
    untilAlarm(writer, 'feed-unreachable', true),
  ]);
  expect(await ask(reader, history)).toEqual(before);
  const head = (await reader.readHead()) ?? 0;
  const wrong = { fromBlock: head, parentBlockHash: '1'.repeat(32) };
  // Another process may have the block that this one lacks, so this one must not report a conflict.
  expect((await ask(reader, wrong)).status).toBe(204);
  expect(await reader.readHead()).toBe(head);
  for (const server of gone) server.restart();
  await untilAlarm(reader, 'feed-unreachable', false);
  await untilGrown(reader);
  await untilAlarm(writer, 'feed-unreachable', false);
  expect((await ask(reader, wrong)).status).toBe(409);
  expect(await ask(reader, history)).toEqual(before);
});

test('limit: a stream that fills while nothing can be sealed raises an alarm, and later the service continues by itself', async () => {
  const blockCount = 120;
  const large = await startSimulatedNode(
    {
      paused: true,
      chain: { seed: 8, startSlot: blockCount, slotMs: 400, skipRate: 0, forkRate: 0 },
      content: { transactionsPerBlock: 300 },
    },
    { clock: systemClock },
  );
  Object.assign(proxy, { fault: 'failing', share: 1, match: '/full/segments/' });
  const options = {
    rpcUrl: large.rpcUrl,
    feed: { bytesMax: 16 << 20 },
    dataset: { name: 'full' },
  };
  const full = await start('full', 'both', options);
  await untilAlarm(full, 'feed-full', true);
  const head = (await full.readHead()) ?? 0;
  expect(head).toBeLessThan(blockCount - 40);
  expect((await ask(full, { fromBlock: 0, toBlock: head })).status).toBe(200);
  Object.assign(proxy, { fault: 'none', match: '' });
  await full.untilHead(blockCount - 40);
  await untilAlarm(full, 'feed-full', false);
  await full.close();
  await large.close();
});

test('behavior: retention removes segments from the bucket for all processes', async () => {
  const ended = await startSimulatedNode(
    {
      paused: true,
      chain: { seed: 9, startSlot: 160, slotMs: 400, skipRate: 0, forkRate: 0 },
      content: { transactionsPerBlock: 1 },
    },
    { clock: systemClock },
  );
  // Segments have 32 blocks, and the newest blocks are not final.
  const dataset = { name: 'kept', keep: 64 };
  // The servers of this test have no space for a second stream of the default size.
  const options = { rpcUrl: ended.rpcUrl, feed: { bytesMax: 64 << 20 }, dataset };
  const both = await start('kept-writer', 'both', options);
  const other = await start('kept-reader', 'read', options);
  for (const member of [both, other]) {
    await member.untilHead(150);
    await waitUntil(`${member.name} has removed segments`, async () => {
      const response = await fetch(`${member.url}/metadata`);
      return ((await response.json()) as { start_block: number }).start_block >= 32;
    });
    const { status, text } = await ask(member, { fromBlock: 0, toBlock: 10 });
    expect([status, text]).toEqual([400, expect.stringContaining('range-unavailable')]);
  }
  await Promise.all([both.close(), other.close()]);
  await ended.close();
});
