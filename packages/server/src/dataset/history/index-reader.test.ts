import { expect, test } from 'vitest';
import type { IndexRun } from '../../chain/chain-snapshot.ts';
import { SegmentKeys } from '../../segment/history/read-index.ts';
import { writeIndex } from '../../segment/history/write-index.ts';
import { IndexReader } from './index-reader.ts';

/** An index of one key, as a file in memory. */
function makeIndex(): { run: IndexRun; bytes: Uint8Array } {
  const bytes = new Uint8Array(1 << 14);
  const source = new SegmentKeys({ first: 10, last: 19 }, Float64Array.of(1_000));
  const shape = writeIndex([source], (position, part) => bytes.set(part, position));
  return { run: { id: 'one.index', first: 10, last: 19, byteLength: 1, ...shape }, bytes };
}

test('behavior: the file of an index stays open until no state needs it', async () => {
  const { run, bytes } = makeIndex();
  const log: string[] = [];
  const reader = new IndexReader(async () => {
    log.push('open');
    return {
      read: async (position, length) => bytes.slice(position, position + length),
      close: async () => void log.push('close'),
    };
  });
  expect(await reader.find(run, 1_000)).toEqual([[10, 19]]);
  expect(await reader.find(run, 1_001)).toEqual([]);
  reader.forget(['segments/one.index.segment', 'indexes/another.index']);
  expect(log).toEqual(['open']);
  reader.forget(['indexes/one.index']);
  await new Promise((resolve) => setImmediate(resolve));
  expect(log).toEqual(['open', 'close']);
  reader.close();
});
