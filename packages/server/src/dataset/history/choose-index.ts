/**
 * Chooses what is indexed next. An index over segments covers consecutive segments. New ones get an index when they are no longer merged,
 * and neighbouring indexes of about the same size are merged, four at a time, so that there are few of them for any number of segments.
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
/** The number of indexes of about the same size that are merged. */
const mergedCount = 4;

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
 * Returns adjacent indexes that should be merged: several of about the same size, the newest first, or, if there are too many indexes of
 * different sizes, the two that take the least work.
 */
function chooseRuns(indexes: readonly IndexRun[]): readonly IndexRun[] | undefined {
  for (let end = indexes.length; end >= mergedCount; end--) {
    const runs = indexes.slice(end - mergedCount, end);
    const isSameSize = runs.every((run) => levelOf(run) === levelOf(elementAt(runs, 0)));
    if (isSameSize && isContiguous(runs)) return runs;
  }
  const levels = indexes.map(levelOf);
  if (indexes.length < mergedCount * (Math.max(0, ...levels) + 1)) return undefined;
  const pairs = indexes.slice(1).map((run, i) => [elementAt(indexes, i), run] as const);
  const sizeOf = ([a, b]: readonly [IndexRun, IndexRun]) => a.partCount + b.partCount;
  return pairs.filter(isContiguous).sort((a, b) => sizeOf(a) - sizeOf(b))[0];
}

function levelOf({ partCount }: IndexRun): number {
  return Math.floor(Math.log(partCount) / Math.log(mergedCount) + 1e-9);
}

function isContiguous(runs: readonly IndexRun[]): boolean {
  return runs.every((run, i) => i === 0 || elementAt(runs, i - 1).last + 1 === run.first);
}
