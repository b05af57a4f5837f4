/**
 * Encodes the chain as JSON text for the journal. 64-bit timestamps are written as strings; all other numbers are safe
 * integers.
 */
import { assert } from '@sluice/base/assert';
import type { ChainChange } from '../chain/chain-change.ts';
import type { ChainSnapshot, HotBlock, SealedSegment } from '../chain/chain-snapshot.ts';
import { checkLink, headLinkPoint, type ParentPoint } from '../chain/link-block.ts';
import type { BlockHash, Slot } from '../ledger/primitives.ts';

export type Commit = readonly ChainChange[];

/** A snapshot as JSON. Its slots and hashes were checked when their blocks were read from a source. */
interface EncodedSnapshot extends Omit<ChainSnapshot, 'replaced'> {
  readonly replaced: readonly (readonly [BlockHash, Slot])[];
}

export function encodeCheckpoint(snapshot: ChainSnapshot): string {
  return encode({ ...snapshot, replaced: [...snapshot.replaced] });
}

/**
 * Decodes a checkpoint and checks it like blocks from a source: a checksum detects corruption, but not an error in what
 * was written.
 */
export function decodeCheckpoint(body: unknown): ChainSnapshot {
  const raw = body as EncodedSnapshot;
  const snapshot: ChainSnapshot = {
    ...raw,
    segments: raw.segments.map(decodeSegment),
    hot: raw.hot.map(decodeHotBlock),
    replaced: new Map(raw.replaced),
  };
  checkSnapshot(snapshot);
  return snapshot;
}

export function encodeSegments(segments: readonly SealedSegment[]): string {
  return encode(segments);
}

export function decodeSegments(body: unknown): SealedSegment[] {
  return (body as SealedSegment[]).map(decodeSegment);
}

export function encodeCommits(commits: readonly Commit[]): string {
  return encode(commits);
}

export function decodeCommits(body: unknown): Commit[] {
  return (body as Commit[]).map((commit) => commit.map(decodeChange));
}

function decodeChange(change: ChainChange): ChainChange {
  switch (change.kind) {
    case 'extend':
    case 'replace':
      return { ...change, blocks: change.blocks.map(decodeHotBlock) };
    case 'append-sealed':
    case 'prepend':
    case 'seal':
      return { ...change, segments: change.segments.map(decodeSegment) };
    case 'rewrite':
      return {
        ...change,
        segments: change.segments.map(decodeSegment),
        blocks: change.blocks.map(decodeHotBlock),
      };
    default:
      return change;
  }
}

function decodeHotBlock({ header, payload }: HotBlock): HotBlock {
  return { header: { ...header, timestamp: decodeTime(header.timestamp) }, payload };
}

function decodeSegment(segment: SealedSegment): SealedSegment {
  return { ...segment, timestampMax: decodeTime(segment.timestampMax) };
}

/** JSON has the time as text. A value that was decoded before is accepted too. */
function decodeTime(time: string | bigint | null): bigint | null {
  return time === null ? null : BigInt(time);
}

function encode(value: object): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'bigint' ? member.toString() : member,
  );
}

function checkSnapshot(snapshot: ChainSnapshot): void {
  const { anchor, segments, hot, head, finalized } = snapshot;
  let below: ParentPoint = anchor === null ? null : { ...anchor, height: null };
  for (const { first, last, parentSlot, parentHash, lastHeight } of segments) {
    const linked = below === null || (below.number === parentSlot && below.hash === parentHash);
    assert(linked && first.number <= last.number, 'stored segments are linked');
    below = { ...last, height: lastHeight };
  }
  for (const { header } of hot) {
    checkLink(below, header);
    below = header;
  }
  const tip = headLinkPoint(snapshot);
  assert(head === null || tip?.hash === head.hash, 'the stored head is the last stored block');
  assert(
    finalized === null || (head !== null && finalized.number <= head.number),
    'the stored finalized head is not above the head',
  );
}
