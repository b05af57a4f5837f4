/**
 * Chooses what is indexed next. An index over segments covers consecutive segments. New ones get an index when they are no longer merged,
 * and neighbouring indexes are merged, so that there are few of them for any number of segments.
 */
import { elementAt } from '@sluice/base/element-at';
import type { ChainSnapshot, IndexRun, SealedSegment } from '../../chain/chain-snapshot.ts';
import { type ReadList, takeSegments } from '../../chain/segment-lists.ts';
import { isMerged, type MergeLimits } from '../merge/choose-merge.ts';

/** The segments and indexes of which one index is made. One of the lists is empty. */
export interface IndexJob {
  readonly segments: readonly SealedSegment[];
  readonly runs: readonly IndexRun[];
}

/** The segments that get an index at once. Their keys are in memory, some ten megabytes for each large segment. */
const segmentCountMax = 4_096;
const segmentBytesMax = 1 << 30;
/**
 * A lookup reads one page of each index, which is a request to a bucket. With this number, a key is written 13 times until the history has
 * 550,000 segments.
 */
export const indexCountMax = 8;

export async function chooseIndex(
  snapshot: ChainSnapshot,
  limits: MergeLimits,
  readList: ReadList,
): Promise<IndexJob | undefined> {
  for (const gap of gapsOf(snapshot, lastSettledSlot(snapshot, limits))) {
    const segments = await takeSegments(
      snapshot,
      gap.first,
      { countMax: segmentCountMax },
      readList,
    );
    let bytes = 0;
    const chosen = segments.filter(({ byteLength, last }) => {
      bytes += byteLength;
      return last.number <= gap.last && (bytes <= segmentBytesMax || bytes === byteLength);
    });
    if (chosen.length > 0) return { segments: chosen, runs: [] };
  }
  const runs = chooseRuns(snapshot.indexes);
  return runs === undefined ? undefined : { segments: [], runs };
}

/** Returns the last slot below the newest segments that will still be merged. */
function lastSettledSlot({ lists, segments }: ChainSnapshot, limits: MergeLimits): number {
  const settled = segments.findLast((segment) => isMerged(segment, limits));
  return settled?.last.number ?? lists.at(-1)?.last.number ?? -1;
}

interface Gap {
  readonly first: number;
  readonly last: number;
}

/** Returns the ranges of slots without an index, the newest first. */
function gapsOf({ start, indexes }: ChainSnapshot, last: number): Gap[] {
  const gaps: Gap[] = [];
  let first: number = start ?? 0;
  for (const run of indexes) {
    if (run.first > first) gaps.push({ first, last: run.first - 1 });
    first = run.last + 1;
  }
  if (first <= last) gaps.push({ first, last });
  return gaps.reverse();
}

/**
 * Returns adjacent indexes that are merged, if there are too many. Of all choices it is the one whose largest index is smallest in comparison
 * with the others together, so that a large index is written again only when there is much to add to it.
 */
function chooseRuns(indexes: readonly IndexRun[]): readonly IndexRun[] | undefined {
  if (indexes.length <= indexCountMax) return undefined;
  let chosen: readonly IndexRun[] | undefined;
  let leastShare = Number.POSITIVE_INFINITY;
  for (let first = 0; first < indexes.length; first++) {
    let [sum, largest] = [0, 0];
    for (let end = first; end < indexes.length; end++) {
      const { byteLength } = elementAt(indexes, end);
      if (end > first && !isAdjacent(elementAt(indexes, end - 1), elementAt(indexes, end))) break;
      sum += byteLength;
      largest = Math.max(largest, byteLength);
      if (end === first || largest / sum >= leastShare) continue;
      leastShare = largest / sum;
      chosen = indexes.slice(first, end + 1);
    }
  }
  return chosen;
}

function isAdjacent(a: IndexRun, b: IndexRun): boolean {
  return a.last + 1 === b.first;
}
