/**
 * The sealed segments of a chain, oldest first:
 *
 *   front ++ lists ++ segments
 *
 * `front` and `segments` are described in the snapshot itself, and their number is limited. All others are in immutable lists, which are
 * files. A list has segments, or shorter lists, so that a snapshot refers to any number of segments by a few hundred descriptions.
 *
 *   segments ─► list of 64 segments ─► list of 64 lists ─► …
 *
 * New segments are added to the end of `segments`, or to the beginning of `front` by a backfill. When there are enough of them, the inner
 * ones become a list. Retention removes segments at the beginning; it first replaces the first list by its content.
 */
import { assert } from '@sluice/base/assert';
import { elementAt } from '@sluice/base/element-at';
import { CodedError } from '@sluice/base/errors';
import type { ChainSnapshot, IndexRun, SealedSegment, SegmentList } from './chain-snapshot.ts';

export type ListContent =
  | { readonly kind: 'segments'; readonly segments: readonly SealedSegment[] }
  | { readonly kind: 'lists'; readonly lists: readonly SegmentList[] };

export type ReadList = (list: SegmentList) => Promise<ListContent>;

export type SegmentParts = Pick<ChainSnapshot, 'front' | 'lists' | 'segments'>;

const listLength = 64;
/** As many entries remain outside lists, because the newest segments are still merged, and retention needs the oldest. */
const keptCount = 64;

/** If there are more segments than this outside lists, merging does not keep up. */
export const crowdedCount = 512;

/** A segment or a list, as far as both are described in the same way. */
type Run = Omit<SegmentList, 'depth' | 'segmentCount'>;

/** Returns the slots, the size and the links of consecutive segments or lists. */
export function describeRun(runs: readonly Run[]): Omit<Run, 'id'> {
  const [first, last] = [elementAt(runs, 0), elementAt(runs, -1)];
  let timestampMax: bigint | null = null;
  for (const { timestampMax: time } of runs) {
    if (time !== null && (timestampMax === null || time > timestampMax)) timestampMax = time;
  }
  return {
    first: first.first,
    last: last.last,
    parentSlot: first.parentSlot,
    parentHash: first.parentHash,
    lastHeight: last.lastHeight,
    blockCount: sum(runs, ({ blockCount }) => blockCount),
    byteLength: sum(runs, ({ byteLength }) => byteLength),
    timestampMax,
  };
}

/** Returns the file of a segment, relative to the dataset's folder. */
export function segmentFile({ id }: Pick<SealedSegment, 'id'>): string {
  return `segments/${id}`;
}

/** Returns the file of a list, relative to the dataset's folder. */
export function listFile({ id }: Pick<SegmentList, 'id'>): string {
  return `lists/${id}`;
}

/** Returns the file of an index, relative to the dataset's folder. */
export function indexFile({ id }: Pick<IndexRun, 'id'>): string {
  return `indexes/${id}`;
}

/** The entries of a list that is to be written. */
export type NewList = ListContent & { readonly depth: number };

/**
 * Returns the next entries that should become a list, or undefined if there are too few. Segments that are not final, because they will be
 * merged, become a list only if there are very many.
 */
export function chooseList(
  { front, lists, segments }: SegmentParts,
  isFinal: (segment: SealedSegment) => boolean = () => true,
): NewList | undefined {
  const inner = [
    segments.slice(0, segments.length - keptCount).slice(0, listLength),
    lists.length > 0 ? front.slice(keptCount).slice(-listLength) : [],
  ];
  for (const [i, entries] of inner.entries()) {
    const isCrowded = (i === 0 ? segments : front).length >= crowdedCount;
    if (entries.length === listLength && (isCrowded || entries.every(isFinal)))
      return { kind: 'segments', depth: 0, segments: entries };
  }
  return chooseLists(lists);
}

/** Returns lists of equal depth that should become one list. On both sides of it some remain, as with segments. */
function chooseLists(lists: readonly SegmentList[]): NewList | undefined {
  const deepest = lists.reduce((depth, list) => Math.max(depth, list.depth), 0);
  for (let depth = 0; depth <= deepest; depth++) {
    const firstDeeper = lists.findIndex((list) => list.depth > depth);
    const lastDeeper = lists.findLastIndex((list) => list.depth > depth);
    const after = lists.slice(lastDeeper + 1).filter((list) => list.depth === depth);
    if (after.length >= listLength + keptCount)
      return { kind: 'lists', depth: depth + 1, lists: after.slice(0, listLength) };
    const before =
      firstDeeper < 0 ? [] : lists.slice(0, firstDeeper).filter((list) => list.depth === depth);
    if (before.length >= listLength + keptCount)
      return { kind: 'lists', depth: depth + 1, lists: before.slice(-listLength) };
  }
  return undefined;
}

/** Replaces the entries of a list by the list. */
export function insertList(parts: SegmentParts, list: SegmentList): SegmentParts {
  const isInside = ({ first, last }: Run) =>
    first.number >= list.first.number && last.number <= list.last.number;
  const { front, lists, segments } = parts;
  const replaced = [...front, ...lists, ...segments].filter(isInside);
  checkReplaced(replaced, list);
  const isOutside = (run: Run) => !isInside(run);
  const at = lists.findIndex(({ first }) => first.number >= list.first.number);
  const below = at < 0 ? lists : lists.slice(0, at);
  const above = at < 0 ? [] : lists.slice(at);
  return {
    front: front.filter(isOutside),
    lists: [...below.filter(isOutside), list, ...above.filter(isOutside)],
    segments: segments.filter(isOutside),
  };
}

/**
 * Checks that segments or lists contain the blocks of the one that is to replace them. Retention may have removed some of them since it was
 * made.
 */
export function checkReplaced(replaced: readonly Run[], by: Run): void {
  const isSame =
    replaced.length > 0 &&
    elementAt(replaced, 0).first.hash === by.first.hash &&
    elementAt(replaced, -1).last.hash === by.last.hash &&
    describeRun(replaced).blockCount === by.blockCount;
  if (isSame) return;
  throw new CodedError('chain-segments-changed', { first: by.first.number, last: by.last.number });
}

/** Replaces the first list by its content. There must be no segments below it. */
export function removeFirstList(parts: SegmentParts, content: ListContent): SegmentParts {
  const [first, ...rest] = parts.lists;
  assert(first !== undefined && parts.front.length === 0, 'only the first list is replaced');
  if (content.kind === 'lists') return { ...parts, lists: [...content.lists, ...rest] };
  if (rest.length > 0) return { ...parts, front: content.segments, lists: rest };
  return { front: [], lists: [], segments: [...content.segments, ...parts.segments] };
}

/** Returns the parts with other segments below `lists`. Without lists, all segments are in `segments`. */
export function withOldest(parts: SegmentParts, oldest: readonly SealedSegment[]): SegmentParts {
  return parts.lists.length > 0 ? { ...parts, front: oldest } : { ...parts, segments: oldest };
}

/** Returns the segments that are below all lists: those that retention can remove and that a backfill adds to. */
export function oldestSegments({ front, lists, segments }: SegmentParts): readonly SealedSegment[] {
  return lists.length > 0 ? front : segments;
}

export interface SealedTotals {
  readonly segmentCount: number;
  readonly blockCount: number;
  readonly byteLength: number;
}

export function totalSealed({ front, lists, segments }: SegmentParts): SealedTotals {
  const all = [...front, ...lists, ...segments];
  return {
    segmentCount: front.length + sum(lists, ({ segmentCount }) => segmentCount) + segments.length,
    blockCount: sum(all, ({ blockCount }) => blockCount),
    byteLength: sum(all, ({ byteLength }) => byteLength),
  };
}

function sum<Item>(items: readonly Item[], sizeOf: (item: Item) => number): number {
  return items.reduce((total, item) => total + sizeOf(item), 0);
}

/** Which segments to skip without reading the list that has them. */
export type MayHave = (run: Pick<Run, 'first' | 'last' | 'timestampMax'>) => boolean;

/** Returns the segments that end at or after a slot, ascending. Reads a list when its first segment is needed. */
export async function* segmentsFrom(
  parts: SegmentParts,
  slot: number,
  readList: ReadList,
  mayHave: MayHave = () => true,
): AsyncGenerator<SealedSegment> {
  const isWanted: MayHave = (run) => run.last.number >= slot && mayHave(run);
  yield* parts.front.filter(isWanted);
  for (const list of parts.lists.filter(isWanted)) yield* expand(list, isWanted, readList, false);
  yield* parts.segments.filter(isWanted);
}

/** Returns the segments that begin at or before a slot, descending. */
export async function* segmentsDownFrom(
  parts: SegmentParts,
  slot: number,
  readList: ReadList,
  mayHave: MayHave = () => true,
): AsyncGenerator<SealedSegment> {
  const isWanted: MayHave = (run) => run.first.number <= slot && mayHave(run);
  yield* parts.segments.filter(isWanted).reverse();
  for (const list of parts.lists.filter(isWanted).reverse())
    yield* expand(list, isWanted, readList, true);
  yield* parts.front.filter(isWanted).reverse();
}

async function* expand(
  list: SegmentList,
  isWanted: MayHave,
  readList: ReadList,
  isDescending: boolean,
): AsyncGenerator<SealedSegment> {
  const content = await readList(list);
  if (content.kind === 'segments') {
    const wanted = content.segments.filter(isWanted);
    yield* isDescending ? wanted.reverse() : wanted;
    return;
  }
  const wanted = content.lists.filter(isWanted);
  for (const inner of isDescending ? wanted.reverse() : wanted)
    yield* expand(inner, isWanted, readList, isDescending);
}

/** Returns all lists, including those inside others. A list comes after the lists that it has. */
export async function* allLists(
  lists: readonly SegmentList[],
  readList: ReadList,
): AsyncGenerator<SegmentList> {
  for (const list of lists) {
    if (list.depth > 0) {
      const content = await readList(list);
      if (content.kind === 'lists') yield* allLists(content.lists, readList);
    }
    yield list;
  }
}

/** Returns the first segment that ends at or after a slot, or undefined if no sealed block does. */
export async function findSegment(
  parts: SegmentParts,
  slot: number,
  readList: ReadList,
): Promise<SealedSegment | undefined> {
  for await (const segment of segmentsFrom(parts, slot, readList)) return segment;
  return undefined;
}

/** Returns at most `countMax` segments from the first one that ends at or after a slot. */
export async function takeSegments(
  parts: SegmentParts,
  slot: number,
  { countMax, mayHave }: { readonly countMax: number; readonly mayHave?: MayHave | undefined },
  readList: ReadList,
): Promise<SealedSegment[]> {
  const taken: SealedSegment[] = [];
  if (slot > (parts.segments.at(-1)?.last.number ?? -1)) return taken;
  for await (const segment of segmentsFrom(parts, slot, readList, mayHave)) {
    if (taken.length >= countMax) break;
    taken.push(segment);
  }
  return taken;
}

/** Returns the number and the blocks of the segments that end below a slot. */
export async function totalBelow(
  parts: SegmentParts,
  slot: number,
  readList: ReadList,
): Promise<Pick<SealedTotals, 'segmentCount' | 'blockCount'>> {
  const { front, lists, segments } = parts;
  const isBelow = ({ last }: Run) => last.number < slot;
  let whole = {
    front: front.filter(isBelow),
    lists: lists.filter(isBelow),
    segments: segments.filter(isBelow),
  };
  let cut = lists.find((list) => list.first.number < slot && list.last.number >= slot);
  while (cut !== undefined) {
    const content = await readList(cut);
    cut = undefined;
    if (content.kind === 'segments') {
      whole = { ...whole, front: [...whole.front, ...content.segments.filter(isBelow)] };
    } else {
      whole = { ...whole, lists: [...whole.lists, ...content.lists.filter(isBelow)] };
      cut = content.lists.find((list) => list.first.number < slot && list.last.number >= slot);
    }
  }
  return totalSealed(whole);
}

/** Returns the segment with this number, counted from the oldest one. */
export async function segmentAt(
  { front, lists, segments }: SegmentParts,
  number: number,
  readList: ReadList,
): Promise<SealedSegment> {
  if (number < front.length) return elementAt(front, number);
  let rest = number - front.length;
  let searched = lists;
  for (let i = 0; i < searched.length; i++) {
    const list = elementAt(searched, i);
    if (rest >= list.segmentCount) {
      rest -= list.segmentCount;
      continue;
    }
    const content = await readList(list);
    if (content.kind === 'segments') return elementAt(content.segments, rest);
    searched = content.lists;
    i = -1;
  }
  return elementAt(segments, rest);
}
