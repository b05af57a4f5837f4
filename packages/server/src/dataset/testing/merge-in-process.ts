import { openSegment, type Segment } from '../../segment/read/open-segment.ts';
import { mergeSegments } from '../../segment/write/merge-segments.ts';
import { type BuiltSegment, SegmentBuffer } from '../merge/built-segment.ts';
import type { SegmentSequence } from '../merge/merge-thread.ts';

/** Merges segments without a worker thread, so that a test controls every step. */
export async function mergeInProcess(sequence: SegmentSequence): Promise<BuiltSegment> {
  const segments: Segment[] = [];
  for await (const bytes of sequence) segments.push(openSegment(bytes));
  return toBuiltSegment(mergeSegments(segments));
}

export function toBuiltSegment(bytes: Uint8Array): BuiltSegment {
  const buffer = new SegmentBuffer();
  buffer.append(bytes);
  return buffer.finish();
}
