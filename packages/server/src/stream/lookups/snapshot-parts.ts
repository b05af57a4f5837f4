/** The segments and hot blocks of a snapshot that lookups search. */
import type { ChainSnapshot, HotBlock, SealedSegment } from '../../chain/chain-snapshot.ts';
import { firstHotAtOrAfter, firstSegmentEndingAtOrAfter } from '../../chain/find-blocks.ts';
import type { BlockRange } from '../../engine/segment-run.ts';

export type SnapshotPart =
  | { readonly kind: 'sealed'; readonly segment: SealedSegment }
  | { readonly kind: 'hot'; readonly block: HotBlock };

/** Returns the segments and hot blocks with slots of the range, ascending. */
export function listParts(snapshot: ChainSnapshot, { first, last }: BlockRange): SnapshotPart[] {
  const { segments, hot } = snapshot;
  const sealed = segments
    .slice(firstSegmentEndingAtOrAfter(snapshot, first))
    .filter((segment) => segment.first.number <= last)
    .map((segment): SnapshotPart => ({ kind: 'sealed', segment }));
  const blocks = hot
    .slice(firstHotAtOrAfter(snapshot, first), firstHotAtOrAfter(snapshot, last + 1))
    .map((block): SnapshotPart => ({ kind: 'hot', block }));
  return [...sealed, ...blocks];
}

export function firstSlotOf(part: SnapshotPart): number {
  return part.kind === 'sealed' ? part.segment.first.number : part.block.header.number;
}

export function lastSlotOf(part: SnapshotPart): number {
  return part.kind === 'sealed' ? part.segment.last.number : part.block.header.number;
}

export function blockCountOf(part: SnapshotPart): number {
  return part.kind === 'sealed' ? part.segment.blockCount : 1;
}

/** Returns the newest segments and hot blocks within the limits of one request, ascending. */
export function newestParts(
  parts: readonly SnapshotPart[],
  limits: { readonly segmentCountMax: number; readonly hotBlockCountMax: number },
): readonly SnapshotPart[] {
  let [segmentCount, hotCount] = [0, 0];
  const start = parts.findLastIndex((part) =>
    part.kind === 'sealed'
      ? ++segmentCount > limits.segmentCountMax
      : ++hotCount > limits.hotBlockCountMax,
  );
  return parts.slice(start + 1);
}
