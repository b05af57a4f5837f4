import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildSegment } from '../segment/write/build-segment.ts';
import { Engine } from './engine.ts';
import { answerFast } from './testing/answer-fast.ts';
import { answerSegments } from './testing/answer-segments.ts';
import { arbitraryBlocks } from './testing/arbitrary-block.ts';
import { arbitraryQuery, arbitraryQueryCase } from './testing/arbitrary-query.ts';
import { describeLaws } from './testing/describe-laws.ts';
import { answerQuery } from './testing/reference/answer-query.ts';

test('property: the engine returns the same answer as the reference for any segments (I-32)', () => {
  fc.assert(
    fc.property(
      arbitraryQueryCase({ maxLength: 6 }),
      fc.constantFrom(1, 2, Infinity),
      ({ blocks, query }, blocksPerSegment) => {
        expect(answerFast(query, blocks, blocksPerSegment)).toBe(answerQuery(query, blocks));
      },
    ),
    { numRuns: 150, endOnFailure: true },
  );
});

const engine = new Engine({ cacheBytesMax: 1 << 24 });

test('property: consecutive queries that reuse cached lists return the same answer as the reference (I-32)', () => {
  const queryCases = arbitraryBlocks({ maxLength: 4 }).chain((blocks) =>
    fc.record({
      blocks: fc.constant(blocks),
      queries: fc.array(arbitraryQuery(blocks), { minLength: 2, maxLength: 6 }),
    }),
  );
  let key = 0;
  let drivenCount = 0;
  fc.assert(
    fc.property(queryCases, ({ blocks, queries }) => {
      const name = String(key++);
      engine.open(name, buildSegment(blocks));
      try {
        for (const query of [...queries, ...queries]) {
          const pieces = answerSegments(engine, [name], query);
          expect(Buffer.concat([...pieces]).toString()).toBe(answerQuery(query, blocks));
          const run = engine.begin(name, query);
          drivenCount += run.report.items.filter(({ driving }) => driving !== undefined).length;
          run.release();
        }
      } finally {
        engine.close(name);
      }
    }),
    { numRuns: 60, endOnFailure: true },
  );
  expect(drivenCount).toBeGreaterThan(100);
});

describeLaws('laws of an answer from segments', (query, blocks) => answerFast(query, blocks, 2), {
  numRuns: 40,
});
