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

/** Evenly distributed segments and hot blocks of a range, including the first and the last. */
export interface SampledParts {
  readonly parts: readonly SnapshotPart[];
  readonly partCount: number;
  /** The number of blocks in all segments and hot blocks of the range. */
  readonly blockCount: number;
}

export async function sampleParts(
  snapshot: ChainSnapshot,
  { first, last }: BlockRange,
  countMax: number,
  readList: ReadList,
): Promise<SampledParts> {
  const hot = hotParts(snapshot, { first, last });
  const below = await totalBelow(snapshot, first, readList);
  const through = await totalBelow(snapshot, last + 1, readList);
  const cut = await findSegment(snapshot, last + 1, readList);
  const isPartly = cut !== undefined && cut.first.number <= last;
  const sealedCount = through.segmentCount - below.segmentCount + Number(isPartly);
  const partCount = sealedCount + hot.length;
  const takenCount = Math.min(partCount, countMax);
  const step = takenCount > 1 ? (partCount - 1) / (takenCount - 1) : 0;
  const parts: SnapshotPart[] = [];
  for (let i = 0; i < takenCount; i++) {
    const number = Math.round(i * step);
    if (number >= sealedCount) parts.push(elementAt(hot, number - sealedCount));
    else {
      const segment = await segmentAt(snapshot, below.segmentCount + number, readList);
      parts.push({ kind: 'sealed', segment });
    }
  }
  const sealedBlocks = through.blockCount - below.blockCount + (isPartly ? cut.blockCount : 0);
  return { parts, partCount, blockCount: sealedBlocks + hot.length };
}

function hotParts(snapshot: ChainSnapshot, { first, last }: BlockRange): SnapshotPart[] {
  return snapshot.hot
    .slice(firstHotAtOrAfter(snapshot, first), firstHotAtOrAfter(snapshot, last + 1))
    .map((block): SnapshotPart => ({ kind: 'hot', block }));
}

export function blockCountOf(part: SnapshotPart): number {
  return part.kind === 'sealed' ? part.segment.blockCount : 1;
}
