import { isCodedError } from '@sluice/base/errors';
import type { Block } from '@sluice/ledger/block';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { buildBlockQuery } from '@sluice/source/portal/line-query';
import { readLineBlock } from '@sluice/source/portal/read-line-block';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseQueryBody } from '../../../query/parse-query.ts';
import { buildSegment } from '../../../segment/write/build-segment.ts';
import { arbitraryBlock } from '../arbitrary-block.ts';
import { answerQuery } from './answer-query.ts';

/** Returns the line that a portal sends for a block. */
function lineOf(block: Block): Uint8Array {
  const { number } = block.header;
  const body = new TextEncoder().encode(buildBlockQuery({ fromBlock: number, toBlock: number }));
  const query = parseQueryBody(body, { limits: QUERY_LIMITS, dialects: ['ledger'] });
  return new TextEncoder().encode(answerQuery(query, [block]).trimEnd());
}

test('property: a block read through a portal is equal to the original, including every digit', () => {
  fc.assert(
    fc.property(arbitraryBlock, (block) => {
      const { number, parentSlot, height } = block.header;
      // Larger numbers are rejected from nodes too.
      fc.pre(Math.max(number, parentSlot, height ?? 0) < 1e15);
      expect(readLineBlock(block.header.number, lineOf(block)).block).toEqual(block);
    }),
    { numRuns: 150 },
  );
});

test('property: F-07 a line with changed bytes is refused with a code, or is a block that can be stored', () => {
  fc.assert(
    fc.property(
      arbitraryBlock,
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0x20, max: 0x7e })), { maxLength: 3 }),
      (block, changes) => {
        const line = lineOf(block);
        for (const [at, byte] of changes) line[at % line.length] = byte;
        try {
          buildSegment([readLineBlock(block.header.number, line).block]);
        } catch (error) {
          if (!isCodedError(error)) throw error;
        }
      },
    ),
    { numRuns: 300 },
  );
});
