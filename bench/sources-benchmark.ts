/** Measures a head that is pushed over gRPC beside one that is polled over RPC, and how fast the gRPC client receives. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { GrpcChannel } from '@sluice/grpc/grpc-channel';
import { type Benchmark, quantilesOf, UsageFailure } from './benchmark.ts';
import type { Sending } from './grpc-sender.ts';
import { readArgs, readCount } from './read-args.ts';
import { Histogram } from './service/histogram.ts';
import type { LedgerClock } from './service/ledger-clock.ts';
import { askStream, ServiceProcess, SimulatorProcess } from './service/processes.ts';

const text = { type: 'string' } as const;
const seed = 1;
const warmSeconds = 5;
/** The last blocks of a measurement may arrive later. */
const graceMs = 10_000;
const throughputGoal = 50;
const sendings: readonly Sending[] = [
  { messageBytes: 1_200_000, totalBytes: 300e6 },
  { messageBytes: 800, totalBytes: 60e6 },
];
/** Simulated blocks of mainnet size take the simulated node longer than a slot of 400 ms on a small machine. */
const shapes = [
  { profile: 'demo', slotMs: 400 },
  { profile: '2025', slotMs: 4_000 },
] as const;

export const sourcesBenchmark: Benchmark = {
  name: 'sources',
  summary: 'a head over gRPC beside one over RPC in the same seconds, and the speed of the client',
  options: [
    '--seconds N      duration of each measurement at the head (default 20; 0 for none)',
    '--profiles A,B   sizes of blocks: demo, 2025 (default both)',
  ],
  async run(print, args) {
    const given = readArgs(args, { seconds: text, profiles: text });
    const seconds = readCount('seconds', given.seconds, { fallback: 20, min: 0 });
    const names = (given.profiles ?? 'demo,2025').split(',');
    const unknown = names.find((name) => !shapes.some(({ profile }) => profile === name));
    if (unknown !== undefined) throw new UsageFailure(`--profiles accepts demo and 2025`);
    for (const sending of sendings) print(await measureThroughput(sending));
    if (seconds === 0) return;
    for (const shape of shapes) {
      if (!names.includes(shape.profile)) continue;
      print(`head, profile ${shape.profile}, a slot every ${shape.slotMs} ms:`);
      for (const line of await measureHeads(shape, seconds)) print(`  ${line}`);
    }
  },
};

async function measureThroughput(sending: Sending): Promise<string> {
  const worker = new Worker(new URL('./grpc-sender.js', import.meta.url), { workerData: sending });
  const [port] = (await once(worker, 'message')) as [number];
  const channel = new GrpcChannel(`http://127.0.0.1:${port}`);
  let received = 0;
  const startMs = performance.now();
  const call = channel.open({
    path: '/geyser.Geyser/Subscribe',
    metadata: {},
    messageBytesMax: sending.messageBytes,
    onMessage: (message) => {
      received += message.length;
    },
  });
  call.send(new Uint8Array());
  const { code } = await call.ended;
  const rate = received / 1e3 / (performance.now() - startMs);
  channel.close();
  await worker.terminate();
  const verdict = rate >= throughputGoal ? 'met' : 'missed';
  return `messages of ${sending.messageBytes} bytes on loopback: ${rate.toFixed(0)} MB/s · goal ${throughputGoal}, ${verdict} · status ${code}, ${received} bytes`;
}

interface Head {
  readonly name: string;
  readonly service: ServiceProcess;
  readonly latencyMs: Histogram;
  /** The lines by slot. */
  readonly lines: Map<number, ReceivedLine>;
}

interface ReceivedLine {
  readonly text: string;
  /** From the confirmation of its block until its arrival. */
  readonly latencyMs: number;
}

/** One node, two services and one client each, in the same seconds. */
async function measureHeads(
  { profile, slotMs }: (typeof shapes)[number],
  seconds: number,
): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-sources-'));
  const simulator = await SimulatorProcess.start({ seed, profile, slotMs });
  const heads: Head[] = [];
  const stop = new AbortController();
  try {
    for (const [name, grpcUrl] of [
      ['RPC', undefined],
      ['gRPC', simulator.grpcUrl],
    ] as const) {
      const service = await ServiceProcess.follow(join(folder, name), simulator.rpcUrl, {
        grpcUrl,
      });
      heads.push({ name, service, latencyMs: new Histogram(), lines: new Map() });
      await service.untilAt(await simulator.confirmedSlot());
    }
    const clock = await simulator.resume();
    const first = clock.newestBlock(performance.now()) + 1;
    const range = { fromMs: 0, toMs: 0 };
    const following = heads.map((head) => follow(head, { first, clock, range }, stop.signal));
    await sleep(warmSeconds * 1000);
    range.fromMs = performance.now();
    range.toMs = range.fromMs + seconds * 1000;
    const before = await Promise.all(heads.map(costOf));
    await sleep(seconds * 1000);
    const after = await Promise.all(heads.map(costOf));
    await sleep(graceMs);
    stop.abort();
    await Promise.all(following);
    return heads
      .map((head, i) => describe(head, before[i] ?? noCost, after[i] ?? noCost))
      .concat(compare(heads));
  } finally {
    stop.abort();
    for (const { service } of heads) await service.process.stop();
    await simulator.process.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Following {
  readonly first: number;
  readonly clock: LedgerClock;
  /** Blocks that were confirmed in this time count. */
  readonly range: { fromMs: number; toMs: number };
}

/** Follows the head and records when each line arrived. A response without a block ends after a while and is requested again. */
async function follow(
  { service, latencyMs, lines }: Head,
  { first, clock, range }: Following,
  signal: AbortSignal,
): Promise<void> {
  for (let next = first; !signal.aborted; ) {
    await readLines(service.port, next, signal, (line, nowMs) => {
      const slot = Number(/"number":(\d+)/.exec(line)?.[1]);
      next = slot + 1;
      const confirmedMs = clock.confirmedMs(slot);
      if (confirmedMs < range.fromMs || confirmedMs >= range.toMs) return;
      lines.set(slot, { text: line, latencyMs: nowMs - confirmedMs });
      latencyMs.add(nowMs - confirmedMs);
    });
  }
}

async function readLines(
  port: number,
  fromBlock: number,
  signal: AbortSignal,
  onLine: (line: string, nowMs: number) => void,
): Promise<void> {
  const response = await askStream(port, { fromBlock, includeAllBlocks: true });
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  const cancel = () => void reader?.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  let rest = '';
  for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) {
    const nowMs = performance.now();
    const parts = (rest + decoder.decode(part.value, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) onLine(line, nowMs);
  }
  signal.removeEventListener('abort', cancel);
}

interface Cost {
  readonly cpuSeconds: number;
  readonly readBytes: number;
  readonly calls: number;
}

const noCost: Cost = { cpuSeconds: 0, readBytes: 0, calls: 0 };

/** The processor time of a service, the bytes that it has read from files and sockets, and its requests to nodes. */
async function costOf({ service }: Head): Promise<Cost> {
  const io = readFileSync(`/proc/${service.process.pid}/io`, 'latin1');
  const metrics = await (await fetch(`${service.adminUrl}/metrics`)).text();
  const calls = [...metrics.matchAll(/^sluice_source_call_seconds_count\{.*\} (\d+)$/gm)];
  return {
    cpuSeconds: service.process.cpuSeconds(),
    readBytes: Number(/^rchar: (\d+)/m.exec(io)?.[1]),
    calls: calls.reduce((sum, [, count]) => sum + Number(count), 0),
  };
}

function describe({ name, latencyMs, lines }: Head, before: Cost, after: Cost): string {
  const count = Math.max(1, lines.size);
  const at = (share: number) => latencyMs.quantile(share).toFixed(0);
  const each = (of: keyof Cost, unit: number) => ((after[of] - before[of]) * unit) / count;
  return [
    `${name.padEnd(4)} ${lines.size} blocks`,
    `first byte after confirmation p50 ${at(0.5)} p95 ${at(0.95)} max ${latencyMs.max.toFixed(0)} ms`,
    `a block: ${each('readBytes', 1e-3).toFixed(0)} kB read, ${each('calls', 1).toFixed(1)} requests, ${each('cpuSeconds', 1e3).toFixed(0)} ms of processor time`,
  ].join(' · ');
}

/** Compares the lines that both have received. */
function compare([polled, pushed]: readonly Head[]): string {
  const pairs = [...(polled?.lines ?? [])].flatMap(([slot, line]) => {
    const other = pushed?.lines.get(slot);
    return other === undefined ? [] : [{ polled: line, pushed: other }];
  });
  const areEqual = pairs.every((pair) => pair.polled.text === pair.pushed.text);
  const digest = createHash('sha256').update(pairs.map((pair) => pair.polled.text).join('\n'));
  const leadsMs = pairs.map((pair) => pair.polled.latencyMs - pair.pushed.latencyMs);
  const firstCount = leadsMs.filter((leadMs) => leadMs > 0).length;
  const p50 = (head: Head | undefined) => head?.latencyMs.quantile(0.5) ?? Number.NaN;
  return [
    `gRPC ${(p50(pushed) / p50(polled)).toFixed(2)} × the p50 of RPC`,
    `first for ${firstCount} of ${pairs.length} blocks, ${quantilesOf(leadsMs).p50.toFixed(0)} ms earlier (p50 of the pairs)`,
    `lines ${areEqual ? 'equal' : 'DIFFERENT'}`,
    digest.digest('hex').slice(0, 16),
  ].join(' · ');
}
