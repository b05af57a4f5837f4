/** The worker thread of `normalize.ts`, which measures in a thread as the service does. */
import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort } from 'node:worker_threads';
import { normalizeBlock } from '@sluice/source/normalize/normalize-block';
import { type Quantiles, quantilesOf } from './benchmark.ts';
import { type BenchBlock, readBlocks } from './read-blocks.ts';

export interface NormalizeResult {
  readonly slot: number;
  readonly megabytes: number;
  readonly parse: Quantiles;
  readonly normalize: Quantiles;
  readonly recordCount: number;
  readonly checksum: string;
}

export type NormalizeMessage =
  | { readonly kind: 'origin'; readonly origin: string }
  | { readonly kind: 'block'; readonly result: NormalizeResult };

const warmUpCount = 8;
const roundCount = 41;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as (options: { type: 'minor' }) => void;

/**
 * Returns the time of one run. The young generation is collected first, so that a run does not pay for garbage of
 * another. The whole heap is not collected, because that would also discard compiled code.
 */
function time(run: () => unknown): number {
  collectGarbage({ type: 'minor' });
  const startMs = performance.now();
  run();
  return performance.now() - startMs;
}

function measure({ slot, bytes }: BenchBlock): NormalizeResult {
  const text = Buffer.from(bytes).toString();
  const options = { allowMissing: ['logs', 'rewards'] } as const;
  const parseMs: number[] = [];
  const normalizeMs: number[] = [];
  for (let round = -warmUpCount; round < roundCount; round++) {
    const parse = time(() => JSON.parse(text));
    const normalize = time(() => normalizeBlock(slot, bytes, options));
    if (round < 0) continue;
    parseMs.push(parse);
    normalizeMs.push(normalize);
  }
  const { block } = normalizeBlock(slot, bytes, options);
  const { header: _, ...kinds } = block;
  const records = JSON.stringify(block, (_key, value) =>
    typeof value === 'bigint' ? `${value}n` : value,
  );
  return {
    slot,
    megabytes: bytes.length / 1e6,
    parse: quantilesOf(parseMs),
    normalize: quantilesOf(normalizeMs),
    recordCount: Object.values(kinds).reduce((total, list) => total + list.length, 0),
    checksum: createHash('sha256').update(records).digest('hex').slice(0, 16),
  };
}

const { origin, blocks } = readBlocks();
const send = (message: NormalizeMessage) => parentPort?.postMessage(message);
send({ kind: 'origin', origin });
for (const block of blocks) send({ kind: 'block', result: measure(block) });
