import fc from 'fast-check';
import { expect, test } from 'vitest';
import { answerQuery } from './reference/answer-query.ts';
import { answerFast } from './testing/answer-fast.ts';
import { arbitraryQueryCase } from './testing/arbitrary-query.ts';

test('property: the engine answers as the reference does, whatever the segments', () => {
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
