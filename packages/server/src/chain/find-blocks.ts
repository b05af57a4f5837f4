/**
 * Lookups in a snapshot, as needed to start a stream and to respond with a conflict (409). The headers of sealed blocks
 * are in the segment files, so the caller passes functions that read them. Hot blocks are in memory.
 */
import { assert } from '@sluice/base/assert';
import { elementAt } from '@sluice/base/element-at';
import type { BlockHeader, BlockRef } from '@sluice/ledger/block';
import { parseBlockHash, type Slot } from '@sluice/ledger/primitives';
import type { ChainSnapshot, HotBlock, SealedSegment } from './chain-snapshot.ts';
import { findSegment, type ReadList, segmentsDownFrom, segmentsFrom } from './segment-lists.ts';

/** Reads what a snapshot only refers to. */
export interface ChainFiles {
  /** Returns the headers of a segment's blocks, ascending. */
  readHeaders(segment: SealedSegment): Promise<readonly BlockHeader[]>;
  readonly readList: ReadList;
}

/** The maximum number of (number, hash) pairs in a conflict response. */
const previousBlockCountMax = 100;

/** Returns the first stored block at or after a slot, or `undefined` above the head. */
export async function findBlockAtOrAfter(
  snapshot: ChainSnapshot,
  slot: number,
  files: ChainFiles,
): Promise<BlockHeader | undefined> {
  const segment = await findSegment(snapshot, slot, files.readList);
  if (segment === undefined) return snapshot.hot[firstHotAtOrAfter(snapshot, slot)]?.header;
  const headers = await files.readHeaders(segment);
  return headers[firstIndex(headers.length, (i) => elementAt(headers, i).number >= slot)];
}

/**
 * Returns up to `previousBlockCountMax` blocks below `slot`, ascending, ending with its predecessor. If only the anchor
 * is below, returns the anchor alone, or nothing if its hash is unknown.
 */
export async function findPreviousBlocks(
  snapshot: ChainSnapshot,
  slot: number,
  files: ChainFiles,
): Promise<BlockRef[]> {
  const previous: BlockRef[] = [];
  const hotEnd = firstHotAtOrAfter(snapshot, slot);
  for (let i = hotEnd - 1; i >= 0 && previous.length < previousBlockCountMax; i--) {
    previous.push(refOf(elementAt(snapshot.hot, i).header));
  }
  for await (const segment of segmentsDownFrom(snapshot, slot - 1, files.readList)) {
    if (previous.length >= previousBlockCountMax) break;
    const headers = await files.readHeaders(segment);
    for (let i = headers.length - 1; i >= 0 && previous.length < previousBlockCountMax; i--) {
      const header = elementAt(headers, i);
      if (header.number < slot) previous.push(refOf(header));
    }
  }
  const { anchor } = snapshot;
  if (previous.length < previousBlockCountMax && anchor !== null && anchor.hash !== null) {
    if (anchor.number < slot) previous.push({ number: anchor.number, hash: anchor.hash });
  }
  return previous.reverse();
}

/**
 * Returns the first block whose timestamp is at or after `seconds`. Timestamps of a ledger need not ascend, so this
 * scans the segments that may contain the block instead of using binary search.
 */
export async function findBlockAtTime(
  snapshot: ChainSnapshot,
  seconds: bigint,
  files: ChainFiles,
): Promise<BlockHeader | undefined> {
  const reached = (header: BlockHeader) => header.timestamp !== null && header.timestamp >= seconds;
  const mayReach = ({ timestampMax }: Pick<SealedSegment, 'timestampMax'>) =>
    timestampMax !== null && timestampMax >= seconds;
  for await (const segment of segmentsFrom(snapshot, 0, files.readList, mayReach)) {
    const header = (await files.readHeaders(segment)).find(reached);
    assert(header !== undefined, "a segment's greatest time is the time of one of its blocks");
    return header;
  }
  return snapshot.hot.find(({ header }) => reached(header))?.header;
}

/** Returns the slot of a block that a fork removed, or `undefined` if no such block has this hash. */
export function findReplacedSlot(snapshot: ChainSnapshot, hash: string): Slot | undefined {
  const parsed = parseBlockHash(hash);
  return parsed === undefined ? undefined : snapshot.replaced.get(parsed);
}

/**
 * Returns whether a block that was on the chain earlier still is. Sealed blocks are finalized and stay, so the result
 * below the hot blocks is yes, even after a trim.
 */
export function isStillOnChain(snapshot: ChainSnapshot, position: BlockRef): boolean {
  const firstHot = snapshot.hot[0];
  if (firstHot === undefined) {
    return snapshot.head !== null && position.number <= snapshot.head.number;
  }
  // A branch may skip the slot of the position. So a slot below the first hot block is not sealed if it is above the parent of that block.
  const { number, parentSlot } = firstHot.header;
  if (position.number < number) return position.number <= parentSlot;
  return findHot(snapshot, position.number)?.header.hash === position.hash;
}

export function findHot(snapshot: ChainSnapshot, slot: number): HotBlock | undefined {
  const block = snapshot.hot[firstHotAtOrAfter(snapshot, slot)];
  return block?.header.number === slot ? block : undefined;
}

/** Returns the index of the first hot block at or after a slot, or the number of hot blocks when all of them are below it. */
export function firstHotAtOrAfter(snapshot: ChainSnapshot, slot: number): number {
  const { hot } = snapshot;
  return firstIndex(hot.length, (i) => elementAt(hot, i).header.number >= slot);
}

export function refOf(header: BlockHeader): BlockRef {
  return { number: header.number, hash: header.hash };
}

/** Binary search: returns the first index below `count` for which the monotonic condition holds, otherwise `count`. */
function firstIndex(count: number, holds: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
