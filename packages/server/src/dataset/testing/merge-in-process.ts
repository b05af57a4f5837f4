import { mergeSegments } from '../../segment/merge-segments.ts';
import { openSegment, type Segment } from '../../segment/open-segment.ts';
import { type MadeSegment, SegmentParts } from '../made-segment.ts';
import type { SegmentRow } from '../merge-thread.ts';

/** The merge of a dataset without a thread, so that a test owns every step. */
export async function mergeHere(row: SegmentRow): Promise<MadeSegment> {
  const segments: Segment[] = [];
  for await (const bytes of row) segments.push(openSegment(bytes));
  return madeOf(mergeSegments(segments));
}

export function madeOf(bytes: Uint8Array): MadeSegment {
  const parts = new SegmentParts();
  parts.append(bytes);
  return parts.finish();
}
