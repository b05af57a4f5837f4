import { SegmentMerger } from './segment-merger.ts';

/** One segment from many, in a thread of its own: a merge takes seconds, and only now and then. */
export async function mergeInThread(segments: readonly Uint8Array[]): Promise<Uint8Array> {
  const merger = new SegmentMerger();
  try {
    // The caller's bytes stay its own.
    for (const bytes of segments) await merger.append(bytes.slice());
    return await merger.finish();
  } finally {
    await merger.close();
  }
}
