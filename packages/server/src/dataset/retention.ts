import type { ChainSnapshot, SealedSegment } from '../chain/chain-snapshot.ts';
import type { Slot } from '../ledger/primitives.ts';

/** How much of the past a dataset keeps. Whole segments go, so a little more is kept than is asked for. */
export type Retention =
  | { readonly kind: 'all' }
  | { readonly kind: 'blocks'; readonly count: number }
  /** By the ledger's own time, so that a clock that jumps deletes nothing. */
  | { readonly kind: 'seconds'; readonly seconds: number }
  | { readonly kind: 'bytes'; readonly bytes: number };

/** The slot below which the policy lets everything go; `undefined` if nothing goes. */
export function chooseTrim(snapshot: ChainSnapshot, retention: Retention): Slot | undefined {
  const droppable = snapshot.segments.slice(0, countDroppable(snapshot, retention));
  const last = droppable.at(-1);
  return last === undefined ? undefined : ((last.last.number + 1) as Slot);
}

function countDroppable(snapshot: ChainSnapshot, retention: Retention): number {
  const { segments, hot } = snapshot;
  // The finalized head stays, so does the segment it is in, and so do hot blocks.
  const countMax = hot.length > 0 ? segments.length : segments.length - 1;
  const finalized = snapshot.finalized?.number ?? -1;
  let left = measure(snapshot, retention);
  let count = 0;
  for (const segment of segments.slice(0, Math.max(0, countMax))) {
    left -= weigh(segment, retention);
    if (!mayGo(segment, left, snapshot, retention) || segment.last.number >= finalized) break;
    count++;
  }
  return count;
}

/** All there is, in the unit of the policy. */
function measure({ segments, hot }: ChainSnapshot, retention: Retention): number {
  const sealed = segments.reduce((sum, segment) => sum + weigh(segment, retention), 0);
  return retention.kind === 'blocks' ? sealed + hot.length : sealed;
}

function weigh(segment: SealedSegment, { kind }: Retention): number {
  if (kind === 'blocks') return segment.blockCount;
  return kind === 'bytes' ? segment.byteLength : 0;
}

/** `left` is what remains without the segment and those below it. */
function mayGo(
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
