import type { Query } from '../../query/query.ts';
import type { Engine } from '../engine.ts';

/** Returns the answer from segments in slot order, as pieces of text. The last block of the range always gets a line. */
export function* answerSegments(
  engine: Engine,
  keys: readonly string[],
  query: Query,
): Generator<Uint8Array> {
  const range = { first: query.fromBlock, last: query.toBlock ?? Infinity };
  const covering = keys.filter((key) => engine.covers(key, range));
  for (const key of covering) {
    yield* engine.run(key, query, { range, endsCoverage: key === covering.at(-1) });
  }
}
