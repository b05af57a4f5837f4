/**
 * Measures whether readers cost the writer of a cluster anything. The phases alternate within one run: without readers, with three,
 * and without readers while two unrelated processes use the cores and caches. The readers run all the time; SIGSTOP suspends them in
 * the phases without readers. A phase starts when the writer has reached the head of the source: while it catches up, many blocks share
 * a message, and each of them costs less.
 *
 * The counts of messages, requests and bytes do not depend on the load of the machine, so they are compared. Processor time does:
 * processes on all cores share caches. It is printed; the third phase shows how much of the difference any load causes.
 *
 * WRITER_ROUNDS is the number of rounds of all phases, WRITER_BLOCKS the number of blocks of a phase.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@sluice/base/clock';
import { startSimulatedNode } from '@sluice/simulator/start-simulated-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Child, cpuMsOf, startChild } from './services/child.ts';
import { type FaultProxy, startFaultProxy } from './services/fault-proxy.ts';
import { ClusterMember } from './services/member.ts';
import { type NatsCluster, readTraffic, startNats } from './services/start-nats.ts';
import { useS3 } from './services/start-s3.ts';

const phases = ['no readers', 'three readers', 'no readers, other load'] as const;
type Phase = (typeof phases)[number];
const roundCount = Number(process.env['WRITER_ROUNDS'] ?? 2);
const blockCount = Number(process.env['WRITER_BLOCKS'] ?? 40);
/**
 * The limit of a count with three readers, relative to the count without readers. If each reader caused as many messages as the writer itself,
 * it would be 4. Counts also vary without readers, because several commits may share a message: 100 to 156 bytes from NATS a block.
 */
const shareMax = 2;
const startSlot = 100;
/** The slots that the writer may be behind the source at the start of a phase. */
const behindMax = 3;
/** Keeps a core busy and its caches full. */
const loadCode =
  'const a = new Uint8Array(1 << 25); for (;;) for (let i = 0; i < a.length; i += 64) a[i]++;';

/** Bytes that a process has read and written, from and to files and connections, and the system calls for it. */
function ioOf(pid: number): { readBytes: number; writtenBytes: number; calls: number } {
  const text = readFileSync(`/proc/${pid}/io`, 'utf8');
  const value = (name: string) => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(text)?.[1]);
  return {
    readBytes: value('rchar'),
    writtenBytes: value('wchar'),
    calls: value('syscr') + value('syscw'),
  };
}

/** What the writer has done since its start. */
interface Counts {
  readonly blocks: number;
  readonly cpuMs: number;
  readonly [name: string]: number;
}

/**
 * What is compared. Blocks become final in steps, so the number of segments in a phase varies: requests to S3 are counted for the bytes
 * of segments. A segment is written to S3 and to the local cache, and the other bytes are counted for the blocks.
 */
const compared: Readonly<Record<string, (counts: Counts) => number>> = {
  'messages to NATS a block': (counts) => perBlock(counts, 'messages to NATS'),
  'bytes to NATS a block': (counts) => perBlock(counts, 'bytes to NATS'),
  'messages from NATS a block': (counts) => perBlock(counts, 'messages from NATS'),
  'bytes from NATS a block': (counts) => perBlock(counts, 'bytes from NATS'),
  'requests to S3 a MB': (counts) =>
    (1e6 * (counts['requests to S3'] ?? 0)) / (counts['bytes to S3'] ?? 0),
  'other bytes written a block': (counts) =>
    perBlock(counts, 'bytes written') - 2 * perBlock(counts, 'bytes to S3'),
};
const printed = ['bytes to S3', 'bytes read', 'calls'];

function perBlock(counts: Counts, name: string): number {
  return (counts[name] ?? 0) / counts.blocks;
}

function subtract(after: Counts, before: Counts): Counts {
  const entries = Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]);
  return Object.fromEntries(entries) as Counts;
}

function sum(all: readonly Counts[]): Counts {
  const zero = all.map((one) => Object.fromEntries(Object.keys(one).map((name) => [name, 0])))[0];
  return all.reduce((total, one) => {
    const entries = Object.entries(one).map(([name, value]) => [name, value + (total[name] ?? 0)]);
    return Object.fromEntries(entries) as Counts;
  }, zero as Counts);
}

function printTable(measured: ReadonlyMap<Phase, readonly Counts[]>): void {
  for (const phase of phases) {
    const rounds = measured.get(phase) ?? [];
    const total = sum(rounds);
    const cpu = rounds.map(({ cpuMs, blocks }) => (cpuMs / blocks).toFixed(1)).join(', ');
    const ratios = Object.entries(compared).map(([name, of]) => `${of(total).toFixed(1)} ${name}`);
    const counts = printed.map((name) => `${perBlock(total, name).toFixed(1)} ${name} a block`);
    process.stdout.write(
      `the writer with ${phase}, ${total.blocks} blocks: ${[...ratios, ...counts].join(', ')}, ${cpu} ms of processor time a block\n`,
    );
  }
}

const folder = mkdtempSync(join(tmpdir(), 'sluice-writer-'));
const closers: (() => Promise<unknown>)[] = [];
let nats: NatsCluster;
let proxy: FaultProxy;
let loads: Child[] = [];
let node: Awaited<ReturnType<typeof startSimulatedNode>>;
let writer: ClusterMember;
let readers: ClusterMember[] = [];

beforeAll(async () => {
  const [s3, cluster] = await Promise.all([useS3(), startNats(folder, 3)]);
  nats = cluster;
  closers.push(() => cluster.stop());
  proxy = await startFaultProxy(s3.port);
  closers.push(() => proxy.stop());
  node = await startSimulatedNode(
    {
      chain: { seed: 4, startSlot, slotMs: 150, skipRate: 0, forkRate: 0 },
      content: { transactionsPerBlock: 20 },
    },
    { clock: systemClock },
  );
  closers.push(() => node.close());
  loads = [0, 1].map(() => startChild(process.execPath, ['-e', loadCode]));
  for (const load of loads) {
    load.process.kill('SIGSTOP');
    closers.push(() => load.stop('SIGKILL'));
  }
  const start = async (name: string, role: 'write' | 'read', port: number) => {
    const shared = { folder, rpcUrl: node.rpcUrl, nats, store: { segmentBlockCount: 8 } };
    const member = await ClusterMember.start({ name, role, s3: { ...s3, port }, ...shared });
    closers.push(() => member.close());
    return member;
  };
  writer = await start('writer', 'write', Number(new URL(proxy.url).port));
  const names = ['one', 'two', 'three'];
  readers = await Promise.all(names.map((name) => start(name, 'read', s3.port)));
  for (const member of [writer, ...readers]) await member.untilHead(startSlot - 20);
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
  rmSync(folder, { recursive: true, force: true });
});

async function count(): Promise<Counts> {
  const ports = writer.natsRelays.flatMap((relay) => relay.clientPorts);
  const traffic = await readTraffic(nats, ports);
  const { readBytes, writtenBytes, calls } = ioOf(writer.pid);
  return {
    blocks: (await writer.readHead()) ?? 0,
    cpuMs: cpuMsOf(writer.pid),
    'messages to NATS': traffic.sentMessages,
    'bytes to NATS': traffic.sentBytes,
    'messages from NATS': traffic.receivedMessages,
    'bytes from NATS': traffic.receivedBytes,
    'requests to S3': proxy.requests,
    'bytes to S3': proxy.sentBytes,
    'bytes written': writtenBytes,
    'bytes read': readBytes,
    calls,
  };
}

async function measure(phase: Phase): Promise<Counts> {
  const hasReaders = phase === 'three readers';
  for (const reader of readers) reader.signal(hasReaders ? 'SIGCONT' : 'SIGSTOP');
  const isLoaded = phase === 'no readers, other load';
  for (const load of loads) load.process.kill(isLoaded ? 'SIGCONT' : 'SIGSTOP');
  for (const member of hasReaders ? [writer, ...readers] : [writer])
    await member.untilHead(node.state().confirmedSlot - behindMax);
  const before = await count();
  await writer.untilHead(before.blocks + blockCount);
  return subtract(await count(), before);
}

test('behavior: the messages, requests and bytes of the writer for a block do not depend on readers', async () => {
  const measured = new Map<Phase, Counts[]>(phases.map((phase) => [phase, []]));
  for (let round = 0; round < roundCount; round++) {
    // Each round starts with another phase.
    for (const i of phases.keys()) {
      const phase = phases[(round + i) % phases.length] as Phase;
      measured.get(phase)?.push(await measure(phase));
    }
  }
  printTable(measured);
  const [none, three] = phases.map((phase) => sum(measured.get(phase) ?? [])) as [Counts, Counts];
  for (const [name, of] of Object.entries(compared)) {
    expect(of(none), name).toBeGreaterThan(0);
    expect(of(three), name).toBeLessThan(of(none) * shareMax);
  }
});
