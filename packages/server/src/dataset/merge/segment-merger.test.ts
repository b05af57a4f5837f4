/** Merges in a real thread. */
import { expect, test } from 'vitest';
import { simulatedBlocks } from '../../../../simulator/src/testing/simulated-blocks.ts';
import { buildSegment } from '../../segment/write/build-segment.ts';
import { encodeDraft } from '../../segment/write/draft.ts';
import { toBuiltSegment } from '../testing/merge-in-process.ts';
import { SegmentMerger } from './segment-merger.ts';

const blocks = simulatedBlocks({
  content: { transactionsPerBlock: 2, votes: 0 },
  firstSlot: 100,
  blockCount: 3,
});
const [first, second, third] = blocks as [
  (typeof blocks)[0],
  (typeof blocks)[0],
  (typeof blocks)[0],
];
const expected = toBuiltSegment(buildSegment(blocks));

test('behavior: segments and drafts are merged in order, a failure ends the thread, and a later call starts another one', async () => {
  const merger = new SegmentMerger({ speed: 'full' });
  const one = buildSegment([first]);
  const draft = encodeDraft(second, undefined, (length) => new Uint8Array(length));
  const replies = await Promise.all([
    merger.append(one),
    merger.appendDraft(draft, second.header),
    merger.append(buildSegment([third]), [third.header]),
  ]);
  // The buffer of a segment moves to the thread, and that of a draft stays.
  expect([one.byteLength, draft.byteLength > 0]).toEqual([0, true]);
  for (const { byteLength, isFull } of replies) {
    expect([typeof byteLength, isFull]).toEqual(['number', false]);
  }
  expect(await merger.finish()).toEqual(expected);
  const failed = await Promise.allSettled([
    merger.append(new Uint8Array(10)),
    merger.append(buildSegment([first])),
  ]);
  for (const result of failed) {
    expect(result).toMatchObject({
      status: 'rejected',
      reason: { code: 'segment-merge-failed', cause: expect.anything() },
    });
  }
  await merger.close();
  await merger.append(buildSegment([first]));
  await merger.close();
  // A thread that was started a moment ago cannot have answered.
  const unanswered = merger.append(buildSegment([second]));
  unanswered.catch(() => undefined);
  await merger.close();
  await expect(unanswered).rejects.toMatchObject({
    code: 'segment-merge-failed',
    detail: { exitCode: expect.any(Number) },
  });
});

test('behavior: a merger that was never used is closed without a thread', async () => {
  await new SegmentMerger({ speed: 'low' }).close();
});
