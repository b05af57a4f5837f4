import type { Block } from '@sluice/ledger/block';
import type { Query } from '../../query/query.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import { Engine } from '../engine.ts';
import { answerSegments } from './answer-segments.ts';

/** One engine for all tests: creating a kernel's memory is slow, and a shared cache shows whether it keeps segments separate. */
const engine = new Engine({ cacheBytesMax: 1 << 24 });
let segmentCount = 0;

/** Returns the engine's answer over the blocks, divided into segments of this many blocks. */
export function answerFast(
  query: Query,
  blocks: readonly Block[],
  blocksPerSegment = Infinity,
): string {
  return answerFastBytes(query, blocks, blocksPerSegment).toString();
}

/** As `answerFast`, for any output form. */
export function answerFastBytes(
  query: Query,
  blocks: readonly Block[],
  blocksPerSegment = Infinity,
): Buffer {
  const keys: string[] = [];
  for (let at = 0; at < blocks.length; at += blocksPerSegment) {
    const key = `test ${segmentCount++}`;
    engine.open(key, buildSegment(blocks.slice(at, at + blocksPerSegment)));
    keys.push(key);
  }
  const answer = Buffer.concat([...answerSegments(engine, keys, query)]);
  for (const key of keys) engine.close(key);
  return answer;
}
