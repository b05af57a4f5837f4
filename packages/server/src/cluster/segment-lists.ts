/**
 * Lists of segments that many manifests share. A manifest that named every segment would grow with the history and be
 * written whole with each new segment. So old segments are in immutable lists, and a manifest names the lists:
 *
 *   segments of a manifest = front ++ (lists without their first `skipped` segments) ++ back
 *
 * New segments go to the back, or to the front by a backfill. A part that is long enough becomes a list. Retention skips
 * segments of the first list until the whole list is skipped.
 */
import type { SealedSegment } from '../chain/chain-snapshot.ts';

/** The number of segments in a list. */
export const listLength = 256;

/** A list as a manifest refers to it, with the ids of its segments. */
export interface NamedList {
  readonly name: string;
  readonly ids: readonly string[];
}

/** Segments that become a list. It gets its name when it is written. */
type NewList = readonly SealedSegment[];

export interface SegmentPlan {
  readonly front: readonly SealedSegment[];
  /** The lists in order. Those with a name are in the store. */
  readonly lists: readonly (NamedList | NewList)[];
  readonly skipped: number;
  readonly back: readonly SealedSegment[];
}

/** Divides segments into lists and the remaining segments. Reuses the lists of the last manifest as far as they still fit. */
export function planLists(
  segments: readonly SealedSegment[],
  known: readonly NamedList[],
): SegmentPlan {
  const { lists, skipped, start } = fitLists(segments, known);
  const listedCount = lists.reduce((sum, { ids }) => sum + ids.length, 0) - skipped;
  let front = segments.slice(0, start);
  let back = segments.slice(start + listedCount);
  const planned: (NamedList | NewList)[] = [...lists];
  // Lists are contiguous, so no list can be inserted before one that is partly skipped.
  while (skipped === 0 && lists.length > 0 && front.length >= 2 * listLength) {
    planned.unshift(front.slice(-listLength));
    front = front.slice(0, -listLength);
  }
  while (back.length >= 2 * listLength) {
    planned.push(back.slice(0, listLength));
    back = back.slice(listLength);
  }
  return { front, lists: planned, skipped, back };
}

/** Finds the lists among the segments. Returns no lists if they do not fit; then they are written again. */
function fitLists(
  segments: readonly SealedSegment[],
  known: readonly NamedList[],
): { lists: readonly NamedList[]; skipped: number; start: number } {
  const none = { lists: [], skipped: 0, start: 0 };
  const indexes = new Map(segments.map(({ id }, index) => [id, index]));
  const first = known.findIndex(({ ids }) => indexes.has(ids.at(-1) ?? ''));
  if (first < 0) return none;
  const lists = known.slice(first);
  const ids = lists.flatMap((list) => list.ids);
  const skipped = ids.findIndex((id) => indexes.has(id));
  const start = indexes.get(ids[skipped] as string) as number;
  const isSame = ids.slice(skipped).every((id, i) => segments[start + i]?.id === id);
  return isSame && (skipped === 0 || start === 0) ? { lists, skipped, start } : none;
}
