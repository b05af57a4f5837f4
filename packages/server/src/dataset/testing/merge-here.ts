import { mergeSegments } from '../../segment/merge-segments.ts';
import { openSegment, type Segment } from '../../segment/open-segment.ts';
import type { SegmentRow } from '../merge-thread.ts';

/** The merge of a dataset without a thread, so that a test owns every step. */
export async function mergeHere(row: SegmentRow): Promise<Uint8Array> {
  const segments: Segment[] = [];
  for await (const bytes of row) segments.push(openSegment(bytes));
  return mergeSegments(segments);
}
