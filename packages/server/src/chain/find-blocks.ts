/**
 * Where things are in a snapshot: the questions that answering a request and a 409 need. Headers of sealed blocks are in
 * their segments' files, so the caller hands in how to read them; hot ones are at hand.
 */
import { assert } from '../base/assert.ts';
import type { BlockHeader, BlockRef } from '../ledger/block.ts';
import type { BlockHash, Slot } from '../ledger/primitives.ts';
import type { ChainSnapshot, HotBlock, SealedSegment } from './chain-snapshot.ts';

/** The headers of a segment's blocks, ascending. */
export type ReadHeaders = (segment: SealedSegment) => Promise<readonly BlockHeader[]>;

/** A block below another, as far as it is known; the anchor's hash may not be. */
export interface PrecedingBlock {
  readonly number: Slot;
  readonly hash: BlockHash | null;
}

/** How many (number, hash) pairs a conflict lists at most. */
export const previousBlockCountMax = 100;

/** The first stored block at or after a slot; `undefined` above the head. */
export async function findBlockAtOrAfter(
  snapshot: ChainSnapshot,
  slot: number,
  readHeaders: ReadHeaders,
): Promise<BlockHeader | undefined> {
  const segment = snapshot.segments[firstSegmentEndingAtOrAfter(snapshot, slot)];
  if (segment === undefined) return snapshot.hot[firstHotAtOrAfter(snapshot, slot)]?.header;
  const headers = await readHeaders(segment);
  return headers[firstIndex(headers.length, (i) => (headers[i] as BlockHeader).number >= slot)];
}

/**
 * The block that precedes the first existing block at or after `slot`: the one a `parentBlockHash` is judged by. Above
 * the head it is the head, below the first block the anchor; `undefined` where there is none.
 */
export async function findPredecessor(
  snapshot: ChainSnapshot,
  slot: number,
  readHeaders: ReadHeaders,
): Promise<PrecedingBlock | undefined> {
  const block = await findBlockAtOrAfter(snapshot, slot, readHeaders);
  if (block === undefined) return snapshot.head ?? snapshot.anchor ?? undefined;
  // A block at slot 0 names itself as its parent: nothing precedes it.
  if (block.number === 0) return undefined;
  return { number: block.parentSlot, hash: block.parentHash };
}

/**
 * Up to `previousBlockCountMax` blocks below `slot`, ascending, the last one being its predecessor. Where only the
 * anchor is below, it alone; empty if not even its hash is known.
 */
export async function findPreviousBlocks(
  snapshot: ChainSnapshot,
  slot: number,
  readHeaders: ReadHeaders,
): Promise<BlockRef[]> {
  const found: BlockRef[] = [];
  const hotEnd = firstHotAtOrAfter(snapshot, slot);
  for (let i = hotEnd - 1; i >= 0 && found.length < previousBlockCountMax; i--) {
    found.push(refOf((snapshot.hot[i] as HotBlock).header));
  }
  let next = Math.min(firstSegmentEndingAtOrAfter(snapshot, slot), snapshot.segments.length - 1);
  for (; next >= 0 && found.length < previousBlockCountMax; next--) {
    const headers = await readHeaders(snapshot.segments[next] as SealedSegment);
    for (let i = headers.length - 1; i >= 0 && found.length < previousBlockCountMax; i--) {
      const header = headers[i] as BlockHeader;
      if (header.number < slot) found.push(refOf(header));
    }
  }
  const { anchor } = snapshot;
  if (found.length < previousBlockCountMax && anchor !== null && anchor.hash !== null) {
    if (anchor.number < slot) found.push({ number: anchor.number, hash: anchor.hash });
  }
  return found.reverse();
}

/**
 * The first block whose time is at or after `seconds`. Times of a ledger need not ascend, so this walks the segments
 * that may hold it instead of searching by halves.
 */
export async function findBlockAtTime(
  snapshot: ChainSnapshot,
  seconds: bigint,
  readHeaders: ReadHeaders,
): Promise<BlockHeader | undefined> {
  const reached = (header: BlockHeader) => header.timestamp !== null && header.timestamp >= seconds;
  for (const segment of snapshot.segments) {
    if (segment.timestampMax === null || segment.timestampMax < seconds) continue;
    const header = (await readHeaders(segment)).find(reached);
    assert(header !== undefined, "a segment's greatest time is the time of one of its blocks");
    return header;
  }
  return snapshot.hot.find(({ header }) => reached(header))?.header;
}

/** Whether a fork of this service took a block of this hash away. */
export function isReplaced(snapshot: ChainSnapshot, hash: string): boolean {
  return snapshot.replaced.has(hash as BlockHash);
}

/**
 * Whether a block that was on the chain at an earlier moment still is. Sealed blocks are finalized and stay, so below
 * the hot ones the answer is yes, also after a trim.
 */
export function isStillOnChain(snapshot: ChainSnapshot, position: BlockRef): boolean {
  const firstHot = snapshot.hot[0];
  if (firstHot === undefined || position.number < firstHot.header.number) {
    return snapshot.head !== null && position.number <= snapshot.head.number;
  }
  return findHot(snapshot, position.number)?.header.hash === position.hash;
}

/** The slots whose state is settled in this snapshot: [start, head]. Inside, a slot without a block is proved skipped. */
export function findCoverage(
  snapshot: ChainSnapshot,
  finality: 'any' | 'finalized',
): { readonly first: Slot; readonly last: Slot } | undefined {
  const last = finality === 'any' ? snapshot.head : snapshot.finalized;
  if (snapshot.start === null || last === null) return undefined;
  return { first: snapshot.start, last: last.number };
}

/** The hot block at exactly this slot. */
export function findHot(snapshot: ChainSnapshot, slot: number): HotBlock | undefined {
  const block = snapshot.hot[firstHotAtOrAfter(snapshot, slot)];
  return block?.header.number === slot ? block : undefined;
}

/** The index of the first hot block at or after a slot; the count of hot blocks if there is none. */
export function firstHotAtOrAfter(snapshot: ChainSnapshot, slot: number): number {
  const { hot } = snapshot;
  return firstIndex(hot.length, (i) => (hot[i] as HotBlock).header.number >= slot);
}

/** The index of the first segment whose last block is at or after a slot; the count of segments if there is none. */
export function firstSegmentEndingAtOrAfter(snapshot: ChainSnapshot, slot: number): number {
  const { segments } = snapshot;
  return firstIndex(segments.length, (i) => (segments[i] as SealedSegment).last.number >= slot);
}

export function refOf(header: BlockHeader): BlockRef {
  return { number: header.number, hash: header.hash };
}

/** The first index below `count` for which the condition, false and then true for ever, holds; else `count`. */
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
