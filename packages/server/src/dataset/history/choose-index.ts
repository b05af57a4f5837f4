/**
 * Chooses what is indexed next. An index over segments covers consecutive segments. Several new ones get an index together, and neighbouring
 * indexes are merged, so that there are few of them for any number of segments. An index stays valid when its segments are merged, because
 * it says which slots a key can be in.
 */
import { elementAt } from '@sluice/base/element-at';
import type { ChainSnapshot, IndexRun, SealedSegment } from '../../chain/chain-snapshot.ts';
import { type ReadList, takeSegments } from '../../chain/segment-lists.ts';
import type { IndexInputs } from './index-thread.ts';

/** The segments, or the indexes, from which one index is built; the other list is empty. */
export type IndexJob = Omit<IndexInputs, 'id'>;

export interface IndexLimits {
  /** The free space for a merged index, beside the indexes that it replaces. Blocks need space there too. */
  readonly spareBytes: number;
  /** The indexes that are being merged, while others are made. */
  readonly busy: readonly IndexRun[];
}

/** At the ends of the history, this many segments without an index are indexed together. */
const segmentCountMin = 2;
/** The segments that get an index at once. Their keys are in memory, some ten megabytes for each large segment. */
const segmentCountMax = 4_096;
const segmentBytesMax = 1 << 30;
/**
 * A lookup reads one page of each index, which is a request to a bucket. With this number, a key is written 21 times until the history has
 * 550,000 segments.
 */
export const indexCountMax = 6;
/** The same while some of them are being merged beside other work. With a new index and a segment that has none yet, a lookup reads ten. */
export const indexCountMaxMerging = 8;

/** A merged index uses at most this share of the free space. */
const spaceShare = 1 / 2;

export async function chooseIndex(
  snapshot: ChainSnapshot,
  limits: IndexLimits,
  readList: ReadList,
): Promise<IndexJob | undefined> {
  for (const gap of gapsOf(snapshot)) {
    const segments = await takeSegments(
      snapshot,
      gap.first,
      { countMax: segmentCountMax },
      readList,
    );
    const missing = segments.filter(({ first }) => first.number <= gap.last);
    let bytes = 0;
    const chosen = missing.filter(({ byteLength }) => {
      bytes += byteLength;
      return bytes <= segmentBytesMax || bytes === byteLength;
    });
    const isFull = chosen.length < missing.length;
    if (chosen.length >= (gap.isAtEnd && !isFull ? segmentCountMin : 1))
      return { segments: chosen.map((segment) => partOf(segment, gap)), runs: [] };
  }
  const runs = chooseRuns(snapshot.indexes, limits);
  return runs === undefined ? undefined : { segments: [], runs };
}

/** Returns the slots of a segment that have no index yet. A merge may have joined it with some that have one. */
function partOf(segment: SealedSegment, gap: Gap): IndexInputs['segments'][number] {
  const { first, last, parentSlot } = segment;
  const firstSlot = first.number === 0 ? 0 : parentSlot + 1;
  return {
    segment,
    first: Math.max(firstSlot, gap.first),
    last: Math.min(last.number, gap.last),
  };
}

interface Gap {
  readonly first: number;
  readonly last: number;
  /** Whether more segments may be added next to it. */
  readonly isAtEnd: boolean;
}

/** Returns the ranges of slots without an index, the newest first. */
function gapsOf({ start, indexes, lists, segments }: ChainSnapshot): Gap[] {
  const gaps: Gap[] = [];
  let first: number = start ?? 0;
  indexes.forEach((run, i) => {
    if (run.first > first) gaps.push({ first, last: run.first - 1, isAtEnd: i === 0 });
    first = run.last + 1;
  });
  const last = (segments.at(-1) ?? lists.at(-1))?.last.number ?? -1;
  if (first <= last) gaps.push({ first, last, isAtEnd: true });
  return gaps.reverse();
}

/**
 * Returns adjacent indexes that are merged, if there are too many and the disk has space for the merged one. Of all choices it is the one
 * whose largest index is smallest in comparison with the others together, so that a large index is written again only when there is much to
 * add to it.
 */
function chooseRuns(
  indexes: readonly IndexRun[],
  { spareBytes, busy }: IndexLimits,
): readonly IndexRun[] | undefined {
  const idle = indexes.filter(({ id }) => !busy.some((run) => run.id === id));
  const countMax = busy.length > 0 ? indexCountMaxMerging : indexCountMax;
  if (indexes.length <= countMax) return undefined;
  const bytesMax = spareBytes * spaceShare;
  let chosen: readonly IndexRun[] | undefined;
  let leastShare = Number.POSITIVE_INFINITY;
  for (let first = 0; first < idle.length; first++) {
    let [sum, largest] = [0, 0];
    for (let end = first; end < idle.length; end++) {
      const { byteLength } = elementAt(idle, end);
      if (end > first && !isAdjacent(elementAt(idle, end - 1), elementAt(idle, end))) break;
      sum += byteLength;
      if (sum > bytesMax) break;
      largest = Math.max(largest, byteLength);
      if (end === first || largest / sum >= leastShare) continue;
      leastShare = largest / sum;
      chosen = idle.slice(first, end + 1);
    }
  }
  return chosen;
}

function isAdjacent(a: IndexRun, b: IndexRun): boolean {
  return a.last + 1 === b.first;
}
