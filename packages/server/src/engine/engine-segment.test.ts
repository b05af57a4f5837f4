import { expect, test, vi } from 'vitest';
import { SegmentIndex } from '../segment/indexes/segment-index.ts';
import { sampleBlock } from '../segment/testing/sample-block.ts';
import { buildSegment } from '../segment/write/build-segment.ts';
import { Engine } from './engine.ts';
import { parseTestQuery } from './testing/arbitrary-query.ts';

test('behavior: long pages of postings are freed when the last run that reads a segment ends', () => {
  const engine = new Engine({ cacheBytesMax: 1 << 24 });
  engine.open('segment', buildSegment([sampleBlock(1)]));
  const query = parseTestQuery({ fromBlock: 0, transactions: [{}] });
  const release = vi.spyOn(SegmentIndex.prototype, 'releaseLongPages');
  const [first, last] = [engine.begin('segment', query), engine.begin('segment', query)];
  first.release();
  expect(release).not.toHaveBeenCalled();
  last.release();
  expect(release).toHaveBeenCalledOnce();
});
