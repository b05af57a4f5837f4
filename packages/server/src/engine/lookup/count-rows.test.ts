import type { Block } from '@sluice/ledger/block';
import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Query } from '../../query/query.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import { Engine } from '../engine.ts';
import { arbitraryQueryCase, parseTestQuery } from '../testing/arbitrary-query.ts';
import { selectRecords } from '../testing/reference/select-records.ts';
import { ROW_NUMBER_NAMES, type SegmentEstimate } from './estimate-segment.ts';
import { emptyCount, type RowCount } from './row-counter.ts';

const engine = new Engine({ cacheBytesMax: 1 << 24 });
let segmentCount = 0;

const countFast = (query: Query, blocks: readonly Block[]) => lookUp('count', query, blocks);

function lookUp(kind: 'count' | 'estimate', query: Query, blocks: readonly Block[]): unknown {
  const key = `counted ${segmentCount++}`;
  engine.open(key, buildSegment(blocks));
  try {
    const range = { first: query.fromBlock, last: query.toBlock ?? Infinity };
    const steps = engine.lookUp(key, { kind, selection: query, range });
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    return step.value;
  } finally {
    engine.close(key);
  }
}

/** Counts what the reference selects. */
function countPlain(query: Query, blocks: readonly Block[]): RowCount {
  const sum = emptyCount();
  for (const block of blocks) {
    const { number } = block.header;
    if (number < query.fromBlock || number > (query.toBlock ?? Infinity)) continue;
    const selected = selectRecords(query, block);
    const counts = RECORD_ARRAY_NAMES.map((array) => [array, selected[array].size] as const);
    for (const [array, count] of counts) sum[array] += count;
    if (counts.every(([, count]) => count === 0) && !query.includeAllBlocks) continue;
    sum.blocks++;
    sum.firstBlock ??= number;
    sum.lastBlock = number;
  }
  return sum;
}

test('property: the counts are those of the records that the reference selects', () => {
  let withRecords = 0;
  fc.assert(
    fc.property(arbitraryQueryCase({ maxLength: 6 }), ({ blocks, query }) => {
      const expected = countPlain(query, blocks);
      expect(countFast(query, blocks)).toEqual(expected);
      if (expected.instructions + expected.logs > 0) withRecords++;
    }),
    { numRuns: 200, endOnFailure: true },
  );
  expect(withRecords).toBeGreaterThan(20);
});

test('property: all records of some kinds are counted without a filter', () => {
  const arrays = fc.subarray([...RECORD_ARRAY_NAMES], { minLength: 1 });
  const cases = fc.record({ one: arbitraryQueryCase({ maxLength: 6 }), arrays });
  fc.assert(
    fc.property(cases, ({ one: { blocks }, arrays: wanted }) => {
      const items = Object.fromEntries(wanted.map((array) => [array, [{}]]));
      const fromBlock = blocks[1]?.header.number ?? 0;
      const query = parseTestQuery({ fromBlock, ...items });
      expect(countFast(query, blocks)).toEqual(countPlain(query, blocks));
    }),
    { numRuns: 60, endOnFailure: true },
  );
});

test('property: an estimate never has fewer records or blocks as its upper bound than the reference selects, nor more as its lower bound', () => {
  let narrow = 0;
  fc.assert(
    fc.property(
      arbitraryQueryCase({ maxLength: 6 }),
      fc.boolean(),
      ({ blocks, query }, isWhole) => {
        const whole = { transactions: [{}], logs: [{}] };
        const asked = isWhole ? parseTestQuery({ fromBlock: query.fromBlock, ...whole }) : query;
        const expected = countPlain(asked, blocks);
        const { min, max } = lookUp('estimate', asked, blocks) as SegmentEstimate;
        for (const name of ROW_NUMBER_NAMES) {
          expect(min[name], name).toBeLessThanOrEqual(expected[name]);
          expect(max[name], name).toBeGreaterThanOrEqual(expected[name]);
        }
        if (isWhole) expect(min).toEqual(max);
        else if (blocks.some(({ logs }) => logs.length > 0) && max.logs === 0) narrow++;
      },
    ),
    { numRuns: 300, endOnFailure: true },
  );
  expect(narrow).toBeGreaterThan(5);
});
