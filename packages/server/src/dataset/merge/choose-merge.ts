/**
 * Chooses which segments are merged. Sealing makes small segments, so that blocks leave the journal soon. Several of them are merged once
 * into a large one, so that every block is written to segments twice, and a long history has few segments.
 */
import type { ChainSnapshot, SealedSegment } from '../../chain/chain-snapshot.ts';
import { SEGMENT_LIMITS } from '../../segment/layout/limits.ts';

export interface MergeLimits {
  /** The size of a merged segment. The merge holds it in memory. */
  readonly mergeBytes: number;
  /** At least this many segments are merged. */
  readonly mergeCount: number;
}

/** Returns whether a segment is large enough to stay as it is. */
export function isMerged(
  { byteLength, blockCount }: Pick<SealedSegment, 'byteLength' | 'blockCount'>,
  { mergeBytes }: MergeLimits,
): boolean {
  return byteLength * 2 >= mergeBytes || blockCount * 2 >= SEGMENT_LIMITS.blockCountMax;
}

/**
 * Returns the oldest consecutive small segments outside lists that fill a large one, or none. The newest segments of a chain that is still
 * growing are merged when there are enough of them.
 */
export function chooseMerge(
  { front, segments }: Pick<ChainSnapshot, 'front' | 'segments'>,
  limits: MergeLimits,
): readonly SealedSegment[] {
  return chooseFrom(front, limits) ?? chooseFrom(segments, limits) ?? [];
}

/** If more merges than this are due, merging does not keep up. */
const dueCountMax = 4;

/** Returns whether so many segments wait for a merge that it must not be slow. */
export function isMergeUrgent(
  { front, segments }: Pick<ChainSnapshot, 'front' | 'segments'>,
  limits: MergeLimits,
): boolean {
  let dueCount = 0;
  for (const segment of [...front, ...segments]) {
    const { byteLength, blockCount } = segment;
    if (isMerged(segment, limits)) continue;
    dueCount += Math.max(byteLength / limits.mergeBytes, blockCount / SEGMENT_LIMITS.blockCountMax);
  }
  return dueCount > dueCountMax;
}

function chooseFrom(
  segments: readonly SealedSegment[],
  limits: MergeLimits,
): readonly SealedSegment[] | undefined {
  let run: SealedSegment[] = [];
  let [bytes, blocks] = [0, 0];
  for (const segment of segments) {
    const isTooLarge =
      bytes + segment.byteLength > limits.mergeBytes * 1.5 ||
      blocks + segment.blockCount > SEGMENT_LIMITS.blockCountMax;
    if (isMerged(segment, limits) || isTooLarge) {
      if (run.length >= limits.mergeCount) return run;
      run = [];
      [bytes, blocks] = [0, 0];
      if (isMerged(segment, limits)) continue;
    }
    run.push(segment);
    bytes += segment.byteLength;
    blocks += segment.blockCount;
    const isFull = bytes >= limits.mergeBytes || blocks * 8 >= SEGMENT_LIMITS.blockCountMax * 7;
    if (run.length >= limits.mergeCount && isFull) return run;
  }
  return undefined;
}
