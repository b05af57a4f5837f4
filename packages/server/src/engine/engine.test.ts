import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answerQuery } from './reference/answer-query.ts';
import { answerFast } from './testing/answer-fast.ts';
import { arbitraryQueryCase } from './testing/arbitrary-query.ts';
import { describeLaws } from './testing/describe-laws.ts';

test('property: the engine answers as the reference does, whatever the segments (I-32)', () => {
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

describeLaws('laws of an answer from segments', (query, blocks) => answerFast(query, blocks, 2), {
  numRuns: 40,
});
