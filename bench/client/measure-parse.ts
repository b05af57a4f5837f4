import { type Batch, createClient } from '@sluice/client';
import { type Quantiles, quantilesOf } from '../benchmark.ts';
import type { Sample } from './sample-lines.ts';

export interface ParseResult {
  readonly name: string;
  readonly megabytes: number;
  readonly plain: Quantiles;
  readonly exact: Quantiles;
  /** The sum of all fees and amounts, the same for every run. */
  readonly checksum: bigint;
}

const chunkBytes = 65_536;

/**
 * Compares the client, from the bytes of a response to blocks, with the simplest reader of the same response, which loses digits: it reads
 * the whole text, splits it and calls `JSON.parse`. Measures the processor time of all threads, to include garbage collection.
 */
export async function measureParse(sample: Sample, runCount: number): Promise<ParseResult> {
  const lines = renumber(sample.lines);
  const bytes = new TextEncoder().encode(lines.join(''));
  // History: every block is finalized.
  const headers = {
    'x-ledger-finalized-head-number': `${lines.length}`,
    'x-ledger-finalized-head-hash': 'h',
  };
  const client = createClient({
    url: 'http://127.0.0.1/datasets/bench',
    fetch: async () => new Response(streamOf(bytes), { headers }),
  });
  const query = { ...sample.query, fromBlock: 0, toBlock: lines.length - 1 };
  const plain: number[] = [];
  const exact: number[] = [];
  let checksum = 0n;
  // The first runs are a warm-up and are not counted.
  for (let run = -2; run < runCount; run++) {
    const plainMs = await cpuMs(() => readPlainly(streamOf(bytes)));
    let blocks: readonly object[] = [];
    const exactMs = await cpuMs(async () => {
      blocks = await readBlocks(client.stream(query));
    });
    checksum = sumBigints(blocks);
    if (run < 0) continue;
    plain.push(plainMs);
    exact.push(exactMs);
  }
  const megabytes = bytes.length / 1e6;
  return {
    name: sample.name,
    megabytes,
    plain: quantilesOf(plain),
    exact: quantilesOf(exact),
    checksum,
  };
}

async function cpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function readBlocks(stream: AsyncIterable<Batch>): Promise<object[]> {
  const blocks: object[] = [];
  for await (const batch of stream) if (batch.kind === 'blocks') blocks.push(...batch.blocks);
  return blocks;
}

async function readPlainly(body: ReadableStream<Uint8Array>): Promise<unknown[]> {
  const text = await new Response(body).text();
  return text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);
}

/** The length of a response, for which the time to start a stream is negligible. */
const streamBytes = 20_000_000;

function renumber(sample: readonly string[]): string[] {
  const bytes = sample.reduce((sum, line) => sum + line.length, 0);
  const lines = Array.from({ length: Math.ceil(streamBytes / bytes) }, () => sample).flat();
  return lines.map((line, slot) => line.replace(/"number":\d+/, `"number":${slot}`));
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull: (controller) => {
      if (at >= bytes.length) return controller.close();
      // A copy, as from a socket.
      controller.enqueue(bytes.slice(at, at + chunkBytes));
      at += chunkBytes;
    },
  });
}

function sumBigints(value: unknown): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value !== 'object' || value === null) return 0n;
  let sum = 0n;
  for (const part of Object.values(value)) sum += sumBigints(part);
  return sum;
}
