/** Compares LZ4 buffers of Arrow tables, as the format has them, with gzip of the whole stream: bytes, and processor time. */
import type { ColumnData } from '@sluice/arrow/arrow-type';
import { encodeSchema } from '@sluice/arrow/ipc-messages';
import { ArrowStreamReader } from '@sluice/arrow/ipc-reader';
import type { Kernel } from '@sluice/base/wasm-kernel';
import { deflateEncoder } from '@sluice/kernels/deflate-encoder';
import { loadKernel } from '@sluice/kernels/load-kernel';
import { ARROW_TABLE_NAMES, type ArrowTable } from '@sluice/protocol/arrow-table';
import { arrowFields } from '@sluice/server/dist/engine/arrow/arrow-columns.js';
import { Engine } from '@sluice/server/dist/engine/engine.js';
import type { Query } from '@sluice/server/dist/query/query.js';
import { selectTable } from '@sluice/server/dist/query/select-table.js';
import { buildSegment } from '@sluice/server/dist/segment/write/build-segment.js';
import { type Benchmark, quantilesOf, usedMs } from './benchmark.ts';
import { corpusBlocks } from './corpus-blocks.ts';
import { makeQueries } from './first-scan/make-queries.ts';
import { parseBody } from './parse-body.ts';
import { readArgs, readCount } from './read-args.ts';
import { alignTable } from './report-text.ts';

const cacheBytesMax = 1 << 28;
const sampleBlockCount = 12;
const runCount = 7;
/** The longest block of an LZ4 frame. */
const blockBytesMax = 1 << 22;
/** What a buffer has besides its blocks: its length, and the header and the end of the frame. */
const frameBytes = 8 + 7 + 4;
const blockHeaderBytes = 4;
const [tableAt, inputAt, outputAt] = [1 << 20, 1 << 21, 1 << 23];

type LzExports = {
  lzCompress(input: number, length: number, out: number, table: number): number;
};

export const arrowLz4Benchmark: Benchmark = {
  name: 'arrow-lz4',
  summary: 'LZ4 buffers of Arrow tables against gzip of the stream, by bytes and processor time',
  options: ['--blocks N    blocks of the simulated ledger (default 30)'],
  async run(print, args) {
    const values = readArgs(args, { blocks: { type: 'string' } as const });
    const blockCount = readCount('blocks', values.blocks, { fallback: 30, min: 1 });
    const blocks = [...corpusBlocks({ seed: 1, blockCount })];
    const engine = new Engine({ cacheBytesMax });
    engine.open('corpus', buildSegment(blocks));
    const sample = blocks.slice(0, sampleBlockCount);
    const kernel = loadKernel<LzExports>('codec', 1 << 26);
    const names = ['bytes', 'gzip bytes', 'gzip ms', 'LZ4 bytes', 'LZ4 ms', 'bytes', 'time'];
    const rows = [['query', 'table', ...names]];
    for (const { name, body } of makeQueries({ sample, hasRareAccount: false })) {
      const query = parseBody({ fromBlock: 0, ...body });
      for (const table of ARROW_TABLE_NAMES) {
        const cells = compare(engine, query, table, kernel);
        if (cells !== undefined) rows.push([name, table, ...cells]);
      }
    }
    for (const line of alignTable(rows)) print(line);
  },
};

/** Returns undefined for a short table. */
function compare(
  engine: Engine,
  query: Query,
  table: ArrowTable,
  kernel: Kernel<LzExports>,
): string[] | undefined {
  const arrow = { table, addresses: 'text' } as const;
  const selected = selectTable(query, arrow);
  const pieces = [...engine.run('corpus', selected)];
  const plainBytes = pieces.reduce((sum, { length }) => sum + length, 0);
  if (plainBytes < 1 << 18) return undefined;
  const reader = new ArrowStreamReader();
  reader.push(encodeSchema(arrowFields(selected, arrow)));
  const batches = pieces.flatMap((piece) => reader.push(piece));
  const buffers = batches.flatMap(({ columns, dictionary }) =>
    [...columns, ...(dictionary.column === undefined ? [] : [dictionary.column])].flatMap(
      buffersOf,
    ),
  );
  const encoder = deflateEncoder();
  const gzip = measure(() => pieces.reduce((sum, piece) => sum + encoder.encode(piece).length, 0));
  const lz4 = measure(() => buffers.reduce((sum, buffer) => sum + lz4Bytes(buffer, kernel), 0));
  return [
    ...[String(plainBytes), String(gzip.bytes), gzip.ms.toFixed(1)],
    ...[String(lz4.bytes), lz4.ms.toFixed(1)],
    ...[`${(lz4.bytes / gzip.bytes).toFixed(2)} ×`, `${(lz4.ms / gzip.ms).toFixed(2)} ×`],
  ];
}

function buffersOf({ buffers, children }: ColumnData): Uint8Array[] {
  return [...buffers.filter(({ length }) => length > 0), ...children.flatMap(buffersOf)];
}

/** Returns the length of a buffer as a frame of LZ4. A block that compression makes longer is stored as it is. */
function lz4Bytes(buffer: Uint8Array, { exports, memory }: Kernel<LzExports>): number {
  let bytes = frameBytes;
  for (let start = 0; start < buffer.length; start += blockBytesMax) {
    const block = buffer.subarray(start, start + blockBytesMax);
    new Uint8Array(memory.buffer, inputAt).set(block);
    const length = exports.lzCompress(inputAt, block.length, outputAt, tableAt);
    bytes += blockHeaderBytes + Math.min(length, block.length);
  }
  return bytes;
}

function measure(run: () => number): { bytes: number; ms: number } {
  const samples: number[] = [];
  let bytes = 0;
  for (let i = -1; i < runCount; i++) {
    const startMs = usedMs();
    bytes = run();
    if (i >= 0) samples.push(usedMs() - startMs);
  }
  return { bytes, ms: quantilesOf(samples).p50 };
}
