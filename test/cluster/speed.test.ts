/** Compares queries on a data folder and on a bucket: with a warm cache, and with a cold one and the number of fetched bytes. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { DIALECTS } from '@sluice/protocol/dialect';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { main } from '../../packages/server/src/cli/main.ts';
import { Engine } from '../../packages/server/src/engine/engine.ts';
import type { ByteRange } from '../../packages/server/src/object-store/object-store.ts';
import { parseQueryBody } from '../../packages/server/src/query/parse-query.ts';
import { openRangeFile } from '../../packages/server/src/storage/range-file.ts';
import { ServiceProcess } from '../service/service-process.ts';
import { cpuMsOf } from './services/child.ts';
import { type FaultProxy, startFaultProxy } from './services/fault-proxy.ts';
import { type S3Server, useS3 } from './services/start-s3.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-speed-'));
const data = join(folder, 'data');
const startSlot = 300;
/** More than the newest 256 slots, which are evaluated block by block for all followers together. */
const blockCount = Number(process.env['SPEED_BLOCKS'] ?? 300);
const transactions = Number(process.env['SPEED_TRANSACTIONS'] ?? 80);
/** The rounds of a warm query: at least the first number, then until the second or the time is reached. The fastest are compared. */
const roundCountMin = 4;
const roundCountMax = Number(process.env['SPEED_ROUNDS'] ?? 30);
const roundsMsMax = Number(process.env['SPEED_MS'] ?? 3_000);
/**
 * How much longer a query on a warm bucket may take than on a folder. The goal is a tenth (docs/measurements); the rest is reserve for a
 * machine that does other things meanwhile. Over the limit, the rounds continue for longer.
 */
const warmShareMax = 1.25;
const moreRoundsMsMax = 30_000;
/** A part of a segment, because the answer of a whole one would be cached; a short one, so that there are many rounds. */
const warmRange = { fromBlock: startSlot + 10, toBlock: startSlot + 70 };
/** The delay of every answer of the store in cold queries. */
const delayMs = 50;
let s3: S3Server;
let proxy: FaultProxy;
let local: ServiceProcess;
let remote: ServiceProcess;

const token = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const QUERIES = {
  'one program, its data': {
    instructions: [{ programId: [token] }],
    fields: {
      block: { number: true },
      instruction: { programId: true, data: true, accounts: true },
    },
  },
  'fee payers of all transactions': {
    transactions: [{}],
    fields: { block: { number: true }, transaction: { feePayer: true, fee: true } },
  },
  'everything of all transactions': {
    transactions: [{ instructions: true, logs: true, balances: true, tokenBalances: true }],
  },
} as const;

beforeAll(async () => {
  s3 = await useS3();
  proxy = await startFaultProxy(s3.port);
  const blocks = join(folder, 'blocks.jsonl');
  const size = ['--blocks', String(blockCount), '--transactions', String(transactions)];
  await run('simulate', '--seed', '3', '--start-slot', String(startSlot), ...size, '--out', blocks);
  await run('import', '--data', data, '--dataset', 'ledger', blocks);
  const { bucket, accessKeyId, secretAccessKey } = s3;
  const store = { kind: 's3', bucket, endpoint: proxy.url, accessKeyId, secretAccessKey };
  const config = join(folder, 'push.yaml');
  writeFileSync(config, stringify({ data, store }));
  await run('dataset', 'push', 'ledger', '--config', config);
  // The second machine has an empty folder and takes over the dataset.
  const other = join(folder, 'other');
  mkdirSync(other);
  const served = join(folder, 'serve.yaml');
  writeFileSync(served, stringify({ data: other, store, datasets: [{ name: 'ledger' }] }));
  local = await ServiceProcess.startServe(['--data', data]);
  remote = await ServiceProcess.startServe(['--config', served]);
});
afterAll(async () => {
  await Promise.all([local?.end('SIGKILL'), remote?.end('SIGKILL')]);
  await proxy?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function run(...args: string[]): Promise<void> {
  const err = new PassThrough({ highWaterMark: 1e9 });
  const code = await main(args, { out: new PassThrough({ highWaterMark: 1e9 }), err });
  if (code !== 0) throw new Error(`${args.join(' ')}: ${String(err.read())}`);
}

async function ask(service: ServiceProcess, query: object): Promise<{ text: string; ms: number }> {
  const startMs = performance.now();
  const response = await fetch(`${service.url}/datasets/ledger/stream`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ fromBlock: startSlot, toBlock: 1_000_000, ...query }),
  });
  return { text: await response.text(), ms: performance.now() - startMs };
}

/** Starts the service over the bucket with an empty cache. */
async function startCold(): Promise<void> {
  await remote.end('SIGKILL');
  rmSync(join(folder, 'other/ledger/cache'), { recursive: true, force: true });
  remote = await ServiceProcess.startServe(['--config', join(folder, 'serve.yaml')]);
}

interface WarmTimes {
  readonly localMs: number;
  readonly remoteMs: number;
  readonly roundCount: number;
  /** The processor time of the service over the bucket, as a share of that of the other one. */
  readonly cpuShare: number;
}

/**
 * Returns the times of the fastest rounds, and the processor time of all. Each round asks both services, first the one that was second in
 * the last round.
 */
async function measureWarm(query: object): Promise<WarmTimes> {
  const fastest = new Map([local, remote].map((service) => [service, Number.POSITIVE_INFINITY]));
  const cpuMs = () => [cpuMsOf(local.pid), cpuMsOf(remote.pid)] as const;
  const [localCpuMs, remoteCpuMs] = cpuMs();
  const startMs = performance.now();
  for (let round = 0; ; round++) {
    const [localMs = 0, remoteMs = 0] = fastest.values();
    const elapsedMs = performance.now() - startMs;
    const isOver = round >= roundCountMax || elapsedMs > roundsMsMax;
    const isSettled = remoteMs < localMs * warmShareMax || elapsedMs > moreRoundsMsMax;
    if (round >= roundCountMin && isOver && isSettled) {
      const [localEndMs, remoteEndMs] = cpuMs();
      const cpuShare = (remoteEndMs - remoteCpuMs) / (localEndMs - localCpuMs);
      return { localMs, remoteMs, roundCount: round, cpuShare };
    }
    for (const service of round % 2 === 0 ? [local, remote] : [remote, local]) {
      const { ms } = await ask(service, { ...query, ...warmRange });
      fastest.set(service, Math.min(fastest.get(service) ?? ms, ms));
    }
  }
}

/** Returns the bytes that a query needs: the columns of its row groups, and the parts of the indexes that it reads. */
function countNeeded(query: object): number {
  const body = new TextEncoder().encode(JSON.stringify({ fromBlock: 0, ...query }));
  const selection = parseQueryBody(body, { limits: QUERY_LIMITS, dialects: DIALECTS });
  const segments = join(data, 'ledger/segments');
  let total = 0;
  for (const name of readdirSync(segments)) {
    const file = openRangeFile(join(segments, name));
    const ranges: ByteRange[] = [];
    const engine = new Engine({ cacheBytesMax: 1 << 28 });
    engine.open(name, {
      length: file.length,
      read: (start, length) => {
        ranges.push({ start, end: start + length });
        return file.read(start, length);
      },
      readInto: (start, target) => {
        ranges.push({ start, end: start + target.length });
        return file.readInto(start, target);
      },
      expect: (announced) => ranges.push(...announced),
    });
    for (const _ of engine.run(name, selection));
    file.close();
    total += unionBytes(ranges);
  }
  return total;
}

function unionBytes(ranges: readonly ByteRange[]): number {
  let [total, end] = [0, 0];
  for (const range of [...ranges].sort((a, b) => a.start - b.start)) {
    total += Math.max(0, range.end - Math.max(end, range.start));
    end = Math.max(end, range.end);
  }
  return total;
}

test('default: the same answers; a cold query fetches at most 1.3 times the columns it needs', async () => {
  const segmentCount = readdirSync(join(data, 'ledger/segments')).length;
  process.stdout.write(
    `${segmentCount} segments, ${blockCount} blocks, ${transactions} transactions each, ${delayMs} ms a request\n`,
  );
  for (const [name, query] of Object.entries(QUERIES)) {
    await startCold();
    const expected = await ask(local, query);
    proxy.restartCount();
    proxy.delayMs = delayMs;
    const cold = await ask(remote, query);
    proxy.delayMs = 0;
    const { requests, bodyBytes, concurrency } = proxy;
    expect(cold.text === expected.text && cold.text.length > 1_000).toBe(true);
    const needed = countNeeded(query);
    const { localMs, remoteMs, roundCount, cpuShare } = await measureWarm(query);
    const perGigabyte = Math.round(requests / (bodyBytes / 1e9));
    process.stdout.write(
      `${name}: answer ${cold.text.length} B; warm ${localMs.toFixed(1)} ms local, ${remoteMs.toFixed(1)} ms bucket (${(remoteMs / localMs).toFixed(2)} x, fastest of ${roundCount} rounds; processor time ${cpuShare.toFixed(2)} x); cold ${cold.ms.toFixed(0)} ms, ${bodyBytes} B in ${requests} requests (${perGigabyte} a GB), ${concurrency.toFixed(1)} at a time, needed ${needed} B: ${(bodyBytes / needed).toFixed(2)} x\n`,
    );
    expect(bodyBytes).toBeLessThan(needed * 1.3 + 64 * 1_024);
    // Two threads that fetched one range after another would have two requests in progress at most.
    expect(concurrency).toBeGreaterThan(2);
    expect(remoteMs).toBeLessThan(localMs * warmShareMax);
  }
});
