import { newCounts } from '@sluice/source/normalize/normalize-counts';
import { expect, test } from 'vitest';
import { IngestCounters } from './ingest-counters.ts';

test('default: blocks, their counts and refused blocks are summed by name', () => {
  const counters = new IngestCounters();
  expect(counters.toJSON()).toEqual({});
  counters.countBlock({ ...newCounts(), votesDropped: 2, skippedLines: 1 });
  counters.countBlock({ ...newCounts(), votesDropped: 3, degraded: { 'lines-left': 4 } });
  counters.countRefused('block-not-json');
  counters.countRefused('block-not-json');
  expect(counters.toJSON()).toMatchObject({
    blocks: 2,
    votesDropped: 5,
    skippedLines: 1,
    'degraded.lines-left': 4,
    'refused.block-not-json': 2,
  });
});
