/** The segments and hot blocks of a snapshot that lookups search. */
import { elementAt } from '@sluice/base/element-at';
import type { ChainSnapshot, HotBlock, SealedSegment } from '../../chain/chain-snapshot.ts';
import { firstHotAtOrAfter } from '../../chain/find-blocks.ts';
import {
  findSegment,
  type MayHave,
  type ReadList,
  segmentAt,
  segmentsDownFrom,
  takeSegments,
  totalBelow,
} from '../../chain/segment-lists.ts';
import type { BlockRange } from '../../engine/segment-run.ts';

export type SnapshotPart =
  | { readonly kind: 'sealed'; readonly segment: SealedSegment }
  | { readonly kind: 'hot'; readonly block: HotBlock };

export function firstSlotOf(part: SnapshotPart): number {
  return part.kind === 'sealed' ? part.segment.first.number : part.block.header.number;
}

export function lastSlotOf(part: SnapshotPart): number {
  return part.kind === 'sealed' ? part.segment.last.number : part.block.header.number;
}

/** Segments and hot blocks of a range, within a limit. */
export interface CutParts {
  /** Ascending. */
  readonly parts: readonly SnapshotPart[];
  /** Whether the range has more of them. */
  readonly isCut: boolean;
}

export interface PartLimits {
  readonly segmentCountMax: number;
  readonly hotBlockCountMax: number;
  /** Other segments are left out. */
  readonly mayHave?: MayHave | undefined;
}

export interface OldestLimits extends Pick<PartLimits, 'segmentCountMax' | 'mayHave'> {
  /** The bytes of all segments together. At least one segment is returned. */
  readonly byteCountMax: number;
}

/** Returns the newest segments and hot blocks with slots of a range, within the limits of one request. */
export async function newestParts(
  snapshot: ChainSnapshot,
  { first, last }: BlockRange,
  { mayHave, ...limits }: PartLimits,
  readList: ReadList,
): Promise<CutParts> {
  const hot = hotParts(snapshot, { first, last });
  if (hot.length > limits.hotBlockCountMax)
    return { parts: hot.slice(-limits.hotBlockCountMax), isCut: true };
  const sealed: SnapshotPart[] = [];
  for await (const segment of segmentsDownFrom(snapshot, last, readList, mayHave)) {
    if (segment.last.number < first) break;
    if (sealed.length >= limits.segmentCountMax)
      return { parts: [...sealed.reverse(), ...hot], isCut: true };
    sealed.push({ kind: 'sealed', segment });
  }
  return { parts: [...sealed.reverse(), ...hot], isCut: false };
}

/** Returns the oldest segments and hot blocks with slots of a range, within the limits of one request. */
export async function oldestParts(
  snapshot: ChainSnapshot,
  { first, last }: BlockRange,
  { segmentCountMax, byteCountMax, mayHave }: OldestLimits,
  readList: ReadList,
): Promise<CutParts> {
  const wanted = { countMax: segmentCountMax + 1, mayHave };
  const segments = (await takeSegments(snapshot, first, wanted, readList)).filter(
    (segment) => segment.first.number <= last,
  );
  let bytes = 0;
  const taken = segments.slice(0, segmentCountMax).filter(({ byteLength }, i) => {
    bytes += byteLength;
    return i === 0 || bytes <= byteCountMax;
  });
  const parts = taken.map((segment): SnapshotPart => ({ kind: 'sealed', segment }));
  if (taken.length < segments.length) return { parts, isCut: true };
  return { parts: [...parts, ...hotParts(snapshot, { first, last })], isCut: false };
}

/** Evenly distributed parts of a range, including the first and the last. */
export interface SampledParts {
  readonly parts: readonly SnapshotPart[];
  readonly partCount: number;
  /** The number of blocks in all parts of the range. */
  readonly blockCount: number;
}

/** Returns segments of a range, evenly distributed if there are more than `countMax`. */
export async function sampleSegments(
  snapshot: ChainSnapshot,
  { first, last }: BlockRange,
  countMax: number,
  readList: ReadList,
): Promise<SampledParts> {
  const below = await totalBelow(snapshot, first, readList);
  const through = await totalBelow(snapshot, last + 1, readList);
  const cut = await findSegment(snapshot, last + 1, readList);
  const isPartly = cut !== undefined && cut.first.number <= last;
  const partCount = through.segmentCount - below.segmentCount + Number(isPartly);
  const parts: SnapshotPart[] = [];
  for (const number of sampleNumbers(partCount, countMax)) {
    const segment = await segmentAt(snapshot, below.segmentCount + number, readList);
    parts.push({ kind: 'sealed', segment });
  }
  const blockCount = through.blockCount - below.blockCount + (isPartly ? cut.blockCount : 0);
  return { parts, partCount, blockCount };
}

/** Returns hot blocks of a range, evenly distributed if there are more than `countMax`. */
export function sampleHotBlocks(
  snapshot: ChainSnapshot,
  range: BlockRange,
  countMax: number,
): SampledParts {
  const hot = hotParts(snapshot, range);
  const parts = sampleNumbers(hot.length, countMax).map((number) => elementAt(hot, number));
  return { parts, partCount: hot.length, blockCount: hot.length };
}

/** Returns numbers from 0 to below `count`, evenly distributed, with the first and the last. */
function sampleNumbers(count: number, countMax: number): readonly number[] {
  const length = Math.min(count, countMax);
  const step = length > 1 ? (count - 1) / (length - 1) : 0;
  return Array.from({ length }, (_, i) => Math.round(i * step));
}

function hotParts(snapshot: ChainSnapshot, { first, last }: BlockRange): SnapshotPart[] {
  return snapshot.hot
    .slice(firstHotAtOrAfter(snapshot, first), firstHotAtOrAfter(snapshot, last + 1))
    .map((block): SnapshotPart => ({ kind: 'hot', block }));
}

export function blockCountOf(part: SnapshotPart): number {
  return part.kind === 'sealed' ? part.segment.blockCount : 1;
}
