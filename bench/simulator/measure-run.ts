/** Measures how long blocks take to generate and print, compared with `JSON.parse` of their text in the same second. */
import { createHash } from 'node:crypto';
import { type Quantiles, quantilesOf, usedMs } from '../benchmark.ts';

/** Generating and parsing alternate whenever this much text has been generated. */
const pieceBytes = 2_000_000;

export interface Run {
  readonly firstSlot: number;
  readonly blockCount: number;
  readonly roundCount: number;
  /** Creates a new generator. Returns a function that generates and prints a block of the final chain. */
  readonly createRender: () => (slot: number) => Uint8Array;
}

/** The processor time of generating, divided by that of parsing, per round. */
export interface RunResult {
  readonly first: Quantiles;
  readonly second: Quantiles;
  readonly whole: Quantiles;
  readonly megabytes: number;
  /** Of all blocks. */
  readonly checksum: string;
}

interface Half {
  generatedMs: number;
  parsedMs: number;
}

/** Runs all rounds, each with a new generator, after one round in which the engine compiles the code. */
export function measureRun(run: Run): RunResult {
  const { checksum, byteCount } = describeBlocks(run);
  const rounds = Array.from({ length: run.roundCount }, () => measureRound(run));
  const ratios = (of: (halves: readonly [Half, Half]) => Half) =>
    quantilesOf(rounds.map(of).map((half) => half.generatedMs / half.parsedMs));
  return {
    first: ratios(([half]) => half),
    second: ratios(([, half]) => half),
    whole: ratios(([first, second]) => ({
      generatedMs: first.generatedMs + second.generatedMs,
      parsedMs: first.parsedMs + second.parsedMs,
    })),
    megabytes: byteCount / 1e6,
    checksum,
  };
}

function describeBlocks(run: Run): { checksum: string; byteCount: number } {
  const render = run.createRender();
  const hash = createHash('sha256');
  let byteCount = 0;
  for (let i = 0; i < run.blockCount; i++) {
    const json = render(run.firstSlot + i);
    hash.update(json);
    JSON.parse(Buffer.from(json).toString());
    byteCount += json.length;
  }
  return { checksum: hash.digest('hex').slice(0, 16), byteCount };
}

function measureRound({ firstSlot, blockCount, createRender }: Run): readonly [Half, Half] {
  const middle = firstSlot + (blockCount >> 1);
  const start = usedMs();
  const render = createRender();
  const createdMs = usedMs() - start;
  const first = measureHalf(render, firstSlot, middle);
  const second = measureHalf(render, middle, firstSlot + blockCount);
  return [{ ...first, generatedMs: first.generatedMs + createdMs }, second];
}

function measureHalf(render: (slot: number) => Uint8Array, start: number, end: number): Half {
  const half = { generatedMs: 0, parsedMs: 0 };
  for (let slot = start; slot < end; ) {
    const pieces: Uint8Array[] = [];
    const startMs = usedMs();
    for (let left = pieceBytes; left > 0 && slot < end; slot++) {
      const json = render(slot);
      pieces.push(json);
      left -= json.length;
    }
    half.generatedMs += usedMs() - startMs;
    const texts = pieces.map((piece) => Buffer.from(piece).toString());
    const parseStartMs = usedMs();
    for (const text of texts) JSON.parse(text);
    half.parsedMs += usedMs() - parseStartMs;
  }
  return half;
}
