import { expect, test } from 'vitest';
import { wholeBlock } from '../../../../source/src/testing/damaged-block.ts';
import { slot, toBytes } from '../../../../source/src/testing/raw-block.ts';
import { openSegment } from '../../segment/read/open-segment.ts';
import { startPreparerPool } from './prepared-block.ts';

const normalize = { votes: 'drop', metaOptional: false, allowMissing: [] } as const;

test('default: a thread prepares whole blocks, and drafts if they are wanted', async () => {
  const whole = startPreparerPool({ workerCount: 1, normalize });
  const drafts = startPreparerPool({ workerCount: 1, normalize, form: 'draft' });
  const [block, draft] = await Promise.all([
    whole.normalize(slot, toBytes(wholeBlock()), 'node'),
    drafts.normalize(slot, toBytes(wholeBlock()), 'node'),
  ]);
  expect(openSegment(block.bytes).headers.toArray()).toEqual([block.header]);
  expect([block.bytes.buffer, draft.bytes.buffer]).toEqual([
    expect.any(ArrayBuffer),
    expect.any(SharedArrayBuffer),
  ]);
  expect(draft.header).toEqual(block.header);
  await Promise.all([whole.close(), drafts.close()]);
});
