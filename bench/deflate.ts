/** Compares our deflate encoder with zlib at level 1, alternating on the same pieces of text in one thread. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { DeflateEncoder } from '@sluice/kernels/deflate-encoder';
import { Engine } from '@sluice/server/dist/engine/engine.js';
import { buildSegment } from '@sluice/server/dist/segment/write/build-segment.js';
import { type Benchmark, type Quantiles, quantilesOf, UsageFailure, usedMs } from './benchmark.ts';
import { corpusBlocks } from './corpus-blocks.ts';
import { parseBody } from './parse-body.ts';
import { readArgs, readCount } from './read-args.ts';

const cacheBytesMax = 1 << 28;
/** The size of the pieces that the engine sends. */
const pieceBytes = 1 << 18;
const warmRunCount = 5;

interface Subject {
  readonly name: string;
  readonly pieces: readonly Uint8Array[];
}

/** One encoder and its measurements. */
class Side {
  byteCount = 0;
  readonly #encode: (piece: Uint8Array) => Uint8Array;
  readonly #samples: number[] = [];
  #runMs = 0;

  constructor(encode: (piece: Uint8Array) => Uint8Array) {
    this.#encode = encode;
  }

  begin(): void {
    this.byteCount = 0;
    this.#runMs = 0;
  }

  encode(piece: Uint8Array): void {
    const startMs = usedMs();
    this.byteCount += this.#encode(piece).length;
    this.#runMs += usedMs() - startMs;
  }

  end(): void {
    this.#samples.push(this.#runMs);
  }

  /** The times of runs over all pieces. */
  get ms(): Quantiles {
    return quantilesOf(this.#samples);
  }
}

const transaction = { transactionIndex: true, signatures: true, feePayer: true, accountKeys: true };
const instruction = { transactionIndex: true, programId: true, accounts: true, data: true };
const log = { transactionIndex: true, programId: true, kind: true, message: true };
const balance = { transactionIndex: true, account: true, pre: true, post: true };
const tokenBalance = { transactionIndex: true, account: true, postMint: true, postAmount: true };

/** The kinds of records: few repetitions in keys and signatures, many in balances. */
const bodies = {
  everything: {
    fields: { transaction, instruction, log, balance, tokenBalance },
    transactions: [{ instructions: true, logs: true, balances: true, tokenBalances: true }],
  },
  instructions: { fields: { instruction }, instructions: [{}] },
  transactions: { fields: { transaction }, transactions: [{}] },
  logs: { fields: { log }, logs: [{}] },
  balances: { fields: { balance, tokenBalance }, balances: [{}], tokenBalances: [{}] },
};

export const deflateBenchmark: Benchmark = {
  name: 'deflate',
  summary: 'answers compressed by our encoder, against zlib at level 1, by processor time',
  options: [
    '--blocks N    blocks of the simulated ledger (default 20)',
    '--seed N      its seed (default 1)',
    '--text FILES  the lines of answers, files with commas between them, instead of the simulated ledger',
    '--runs N      timed runs over each text (default 20)',
  ],
  async run(print, args) {
    const text = { type: 'string' } as const;
    const values = readArgs(args, { blocks: text, seed: text, text, runs: text });
    const runCount = readCount('runs', values.runs, { fallback: 20, min: 1 });
    if (values.text !== undefined) {
      for (const file of values.text.split(',')) print(compare(readText(file), runCount));
      return;
    }
    const seed = readCount('seed', values.seed, { fallback: 1, min: 0 });
    const blockCount = readCount('blocks', values.blocks, { fallback: 20, min: 1 });
    print(`${blockCount} blocks of the simulated ledger, seed ${seed}, ${runCount} runs`);
    for (const subject of answers(seed, blockCount)) print(compare(subject, runCount));
  },
};

function readText(file: string): Subject {
  try {
    const text = readFileSync(file);
    const count = Math.ceil(text.length / pieceBytes);
    const pieces = Array.from({ length: count }, (_, i) =>
      text.subarray(i * pieceBytes, (i + 1) * pieceBytes),
    );
    return { name: file, pieces };
  } catch (error) {
    throw new UsageFailure(`--text ${file}: ${(error as Error).message}`, { cause: error });
  }
}

function* answers(seed: number, blockCount: number): Generator<Subject> {
  const engine = new Engine({ cacheBytesMax });
  engine.open('corpus', buildSegment([...corpusBlocks({ seed, blockCount })]));
  for (const [name, body] of Object.entries(bodies)) {
    const query = parseBody({ fromBlock: 0, ...body });
    const pieces = [...engine.run('corpus', query)].map((piece) => Buffer.from(piece));
    yield { name, pieces };
  }
}

function compare({ name, pieces }: Subject, runCount: number): string {
  const encoder = new DeflateEncoder();
  const level1 = (piece: Uint8Array) =>
    deflateRawSync(piece, {
      level: constants.Z_BEST_SPEED,
      finishFlush: constants.Z_SYNC_FLUSH,
      // The size of one piece, so that zlib does not collect its output from small parts.
      chunkSize: Math.max(1 << 10, piece.length >> 1),
    });
  const ours = new Side((piece) => encoder.encode(piece));
  const zlib = new Side(level1);
  // V8 optimizes a kernel only after it was used for a while.
  measure(pieces, warmRunCount, [new Side((piece) => encoder.encode(piece))]);
  measure(pieces, runCount, [ours, zlib]);
  const plainBytes = pieces.reduce((sum, { length }) => sum + length, 0);
  const speed = ({ ms }: Side) =>
    `p50 ${(plainBytes / ms.p50 / 1e3).toFixed(0)} p95 ${(plainBytes / ms.p95 / 1e3).toFixed(0)} MB/s`;
  const ratio = ({ byteCount }: Side) => (plainBytes / byteCount).toFixed(3);
  return [
    `${name}: ${(plainBytes / 1e6).toFixed(1)} MB in ${pieces.length} pieces`,
    `ours ${speed(ours)}, ratio ${ratio(ours)}`,
    `zlib ${speed(zlib)}, ratio ${ratio(zlib)}`,
    `${(zlib.ms.p50 / ours.ms.p50).toFixed(2)} × as fast`,
    `${(((ours.byteCount - zlib.byteCount) / zlib.byteCount) * 100).toFixed(1)} % bytes`,
    `decoded ${checkDecoded(pieces, encoder)}`,
  ].join(' · ');
}

/** Alternates both sides for each piece, so that other load affects both equally. */
function measure(pieces: readonly Uint8Array[], runCount: number, sides: readonly Side[]): void {
  for (let run = 0; run < runCount; run++) {
    for (const side of sides) side.begin();
    for (const piece of pieces) {
      for (const side of sides) side.encode(piece);
    }
    for (const side of sides) side.end();
  }
}

/** A checksum of the decoded bytes, which must be that of the text. */
function checkDecoded(pieces: readonly Uint8Array[], encoder: DeflateEncoder): string {
  const [expected, found] = [createHash('sha256'), createHash('sha256')];
  for (const piece of pieces) {
    expected.update(piece);
    const options = { finishFlush: constants.Z_SYNC_FLUSH };
    found.update(inflateRawSync(encoder.encode(piece), options));
  }
  const checksum = found.digest('hex').slice(0, 16);
  return checksum === expected.digest('hex').slice(0, 16) ? checksum : `WRONGLY: ${checksum}`;
}
