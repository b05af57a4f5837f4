import { type Slot, toSlot } from '@sluice/ledger/primitives';
import type { ChainSnapshot, SealedSegment } from '../chain/chain-snapshot.ts';
import { oldestSegments, totalSealed } from '../chain/segment-lists.ts';

/** How much history a dataset keeps. Only whole segments are removed, so slightly more is kept. */
export type Retention =
  | { readonly kind: 'all' }
  | { readonly kind: 'blocks'; readonly count: number }
  /** Measured by the ledger's timestamps, so that a jump of the system clock removes nothing. */
  | { readonly kind: 'seconds'; readonly seconds: number }
  | { readonly kind: 'bytes'; readonly bytes: number };

/**
 * Returns the slot below which the policy allows everything to be removed, or `undefined` if nothing is to be removed. Segments in lists are
 * not considered.
 */
export function chooseTrim(snapshot: ChainSnapshot, retention: Retention): Slot | undefined {
  const removable = oldestSegments(snapshot).slice(0, countRemovable(snapshot, retention));
  const last = removable.at(-1);
  return last === undefined ? undefined : toSlot(last.last.number + 1);
}

function countRemovable(snapshot: ChainSnapshot, retention: Retention): number {
  // The finalized head, its segment and all hot blocks stay.
  const finalized = snapshot.finalized?.number ?? -1;
  let left = totalSize(snapshot, retention);
  let count = 0;
  for (const segment of oldestSegments(snapshot)) {
    left -= sizeOf(segment, retention);
    if (!isRemovable(segment, left, snapshot, retention) || segment.last.number >= finalized) break;
    count++;
  }
  return count;
}

/** Returns the number of blocks of the chain, or the bytes of its segments. */
function totalSize(snapshot: ChainSnapshot, retention: Retention): number {
  const { blockCount, byteLength } = totalSealed(snapshot);
  return retention.kind === 'blocks' ? blockCount + snapshot.hot.length : byteLength;
}

function sizeOf(segment: SealedSegment, { kind }: Retention): number {
  return kind === 'blocks' ? segment.blockCount : segment.byteLength;
}

/**
 * Returns whether the policy allows a segment to be removed. `left` is the size that remains without it and all lower
 * segments.
 */
function isRemovable(
  segment: SealedSegment,
  left: number,
  snapshot: ChainSnapshot,
  retention: Retention,
): boolean {
  switch (retention.kind) {
    case 'all':
      return false;
    case 'blocks':
      return left >= retention.count;
    case 'bytes':
      return left + segment.byteLength > retention.bytes;
    case 'seconds': {
      const newest = newestTime(snapshot);
      const { timestampMax } = segment;
      if (newest === null || timestampMax === null) return false;
      return newest - timestampMax > BigInt(retention.seconds);
    }
  }
}

function newestTime({ hot, segments }: ChainSnapshot): bigint | null {
  return hot.at(-1)?.header.timestamp ?? segments.at(-1)?.timestampMax ?? null;
}
