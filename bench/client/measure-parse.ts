import { createClient } from '@sluice/client';
import { type Quantiles, quantilesOf } from '../benchmark.ts';
import type { Sample } from './sample-lines.ts';

export interface ParseResult {
  readonly name: string;
  readonly megabytes: number;
  readonly plain: Quantiles;
  readonly exact: Quantiles;
  /** The sum of all fees and amounts: the same however often it is computed. */
  readonly checksum: bigint;
}

const chunkBytes = 65_536;

/** The whole way through the client, from bytes to blocks, against `JSON.parse` of the same lines already decoded. */
export async function measureParse(sample: Sample, runCount: number): Promise<ParseResult> {
  const lines = renumber(sample.lines);
  const bytes = new TextEncoder().encode(lines.join(''));
  const client = createClient({
    url: 'http://127.0.0.1/datasets/bench',
    fetch: async () => new Response(streamOf(bytes)),
  });
  const query = { ...sample.query, fromBlock: 0, toBlock: lines.length - 1 };
  const plain: number[] = [];
  const exact: number[] = [];
  let checksum = 0n;
  // The first runs warm up and do not count.
  for (let run = -2; run < runCount; run++) {
    let startMs = performance.now();
    for (const line of lines) JSON.parse(line);
    if (run >= 0) plain.push(performance.now() - startMs);
    startMs = performance.now();
    const blocks: object[] = [];
    for await (const batch of client.stream(query)) {
      if (batch.kind === 'blocks') blocks.push(...batch.blocks);
    }
    if (run >= 0) exact.push(performance.now() - startMs);
    checksum = sumBigints(blocks);
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

function renumber(lines: readonly string[]): string[] {
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
