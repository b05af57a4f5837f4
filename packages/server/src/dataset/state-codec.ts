/**
 * Encodes the chain as JSON text for the journal. 64-bit timestamps are written as strings; all other numbers are safe
 * integers.
 */
import { assert } from '@sluice/base/assert';
import type { BlockHash, Slot } from '@sluice/ledger/primitives';
import type { ChainChange } from '../chain/chain-change.ts';
import type {
  ChainSnapshot,
  HotBlock,
  SealedSegment,
  SegmentList,
} from '../chain/chain-snapshot.ts';
import { checkLink, headLinkPoint, type ParentPoint } from '../chain/link-block.ts';
import type { ListContent } from '../chain/segment-lists.ts';

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
  // A checkpoint of data format 2 has all segments in `segments`, and no list of unused files.
  const older = { front: [], lists: [], indexes: [], unused: [] };
  const raw: EncodedSnapshot = Object.assign(older, body as EncodedSnapshot);
  const snapshot: ChainSnapshot = {
    ...raw,
    front: raw.front.map(decodeRun),
    lists: raw.lists.map(decodeRun),
    segments: raw.segments.map(decodeRun),
    hot: raw.hot.map(decodeHotBlock),
    replaced: new Map(raw.replaced),
  };
  checkSnapshot(snapshot);
  return snapshot;
}

export function encodeList(content: ListContent): string {
  return encode(content);
}

export function decodeList(body: unknown): ListContent {
  return decodeContent(body as ListContent);
}

function decodeContent(content: ListContent): ListContent {
  if (content.kind === 'lists') return { ...content, lists: content.lists.map(decodeRun) };
  return { ...content, segments: content.segments.map(decodeRun) };
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
      return { ...change, segments: change.segments.map(decodeRun) };
    case 'merge':
      return { ...change, segment: decodeRun(change.segment) };
    case 'list':
      return { ...change, list: decodeRun(change.list) };
    case 'unlist':
      return { ...change, content: decodeContent(change.content) };
    case 'rewrite':
      return {
        ...change,
        segments: change.segments.map(decodeRun),
        blocks: change.blocks.map(decodeHotBlock),
      };
    default:
      return change;
  }
}

function decodeHotBlock({ header, payload }: HotBlock): HotBlock {
  return { header: { ...header, timestamp: decodeTime(header.timestamp) }, payload };
}

/** Decodes the description of a segment or of a list. */
function decodeRun<Run extends SealedSegment | SegmentList>(run: Run): Run {
  return { ...run, timestampMax: decodeTime(run.timestampMax) };
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
  const { anchor, front, lists, segments, hot, head, finalized } = snapshot;
  let below: ParentPoint = anchor === null ? null : { ...anchor, height: null };
  for (const { first, last, parentSlot, parentHash, lastHeight } of [
    ...front,
    ...lists,
    ...segments,
  ]) {
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
