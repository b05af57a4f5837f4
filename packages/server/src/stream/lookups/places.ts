/** The segments and hot blocks of a snapshot that lookups search. */
import type { ChainSnapshot, HotBlock, SealedSegment } from '../../chain/chain-snapshot.ts';
import { firstHotAtOrAfter, firstSegmentEndingAtOrAfter } from '../../chain/find-blocks.ts';
import type { BlockRange } from '../../engine/segment-run.ts';

export type Place =
  | { readonly kind: 'sealed'; readonly segment: SealedSegment }
  | { readonly kind: 'hot'; readonly block: HotBlock };

/** Returns the segments and hot blocks with slots of the range, ascending. */
export function listPlaces(snapshot: ChainSnapshot, { first, last }: BlockRange): Place[] {
  const { segments, hot } = snapshot;
  const sealed = segments
    .slice(firstSegmentEndingAtOrAfter(snapshot, first))
    .filter((segment) => segment.first.number <= last)
    .map((segment): Place => ({ kind: 'sealed', segment }));
  const blocks = hot
    .slice(firstHotAtOrAfter(snapshot, first), firstHotAtOrAfter(snapshot, last + 1))
    .map((block): Place => ({ kind: 'hot', block }));
  return [...sealed, ...blocks];
}

export function firstSlotOf(place: Place): number {
  return place.kind === 'sealed' ? place.segment.first.number : place.block.header.number;
}

export function lastSlotOf(place: Place): number {
  return place.kind === 'sealed' ? place.segment.last.number : place.block.header.number;
}

export function blockCountOf(place: Place): number {
  return place.kind === 'sealed' ? place.segment.blockCount : 1;
}

/** Returns the newest segments and hot blocks within the limits of one request, ascending. */
export function newestPlaces(
  places: readonly Place[],
  limits: { readonly segmentCountMax: number; readonly hotBlockCountMax: number },
): readonly Place[] {
  let [segmentCount, hotCount] = [0, 0];
  const start = places.findLastIndex((place) =>
    place.kind === 'sealed'
      ? ++segmentCount > limits.segmentCountMax
      : ++hotCount > limits.hotBlockCountMax,
  );
  return places.slice(start + 1);
}
