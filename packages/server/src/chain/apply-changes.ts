/**
 * Every transition of a chain as a pure function that checks all rules itself. A violation that a source can cause is a
 * coded error; one that only our own code can cause is an assert.
 */
import { assert, unreachable } from '@sluice/base/assert';
import { CodedError } from '@sluice/base/errors';
import type { BlockRef } from '@sluice/ledger/block';
import { type BlockHash, type Slot, toSlot } from '@sluice/ledger/primitives';
import type { ChainChange } from './chain-change.ts';
import type {
  Anchor,
  ChainSnapshot,
  HotBlock,
  IndexRun,
  SealedSegment,
  SegmentList,
} from './chain-snapshot.ts';
import { findHot, firstHotAtOrAfter, refOf } from './find-blocks.ts';
import { checkLink, headLinkPoint, type ParentPoint } from './link-block.ts';
import {
  checkReplaced,
  indexFile,
  insertList,
  type ListContent,
  listFile,
  oldestSegments,
  removeFirstList,
  segmentFile,
  withOldest,
} from './segment-lists.ts';

/**
 * A client may resume with any of these hashes days after the fork. The limit bounds the memory of a chain with many
 * forks.
 */
export const replacedCountMax = 10_000;

/**
 * Returns the state after a commit: the same object if nothing changed, otherwise a new one whose version is one
 * higher.
 */
export function applyChanges(
  snapshot: ChainSnapshot,
  changes: readonly ChainChange[],
): ChainSnapshot {
  let next = snapshot;
  for (const change of changes) next = applyChange(next, change);
  return next === snapshot ? snapshot : { ...next, version: snapshot.version + 1 };
}

function applyChange(snapshot: ChainSnapshot, change: ChainChange): ChainSnapshot {
  switch (change.kind) {
    case 'create':
      return create(snapshot, change.anchor);
    case 'extend':
      return extend(snapshot, change.blocks);
    case 'replace':
      return replaceSuffix(snapshot, change.ancestor, change.blocks);
    case 'finalize':
      return finalize(snapshot, change.block);
    case 'append-sealed':
      return appendSealed(snapshot, change.segments);
    case 'prepend':
      return prepend(snapshot, change.segments);
    case 'trim':
      return trim(snapshot, change.keepFrom);
    case 'seal':
      return seal(snapshot, change.segments);
    case 'merge':
      return merge(snapshot, change.segment);
    case 'list':
      return insert(snapshot, change.list);
    case 'unlist':
      return unlist(snapshot, change.content);
    case 'index':
      return addIndex(snapshot, change.run);
    case 'announce':
      return announce(snapshot, change.files);
    case 'forget':
      return withoutUnused(snapshot, change.files);
    case 'rewrite':
      return rewrite(snapshot, change.segments, change.blocks);
    default:
      return unreachable(change);
  }
}

/** A file that is used already stays used: its name derives from its content. */
function announce(snapshot: ChainSnapshot, files: readonly string[]): ChainSnapshot {
  const { front, segments, lists } = snapshot;
  const used = new Set([...[...front, ...segments].map(segmentFile), ...lists.map(listFile)]);
  return withUnused(
    snapshot,
    files.filter((file) => !used.has(file)),
  );
}

function create(snapshot: ChainSnapshot, anchor: Anchor | null): ChainSnapshot {
  assert(snapshot.start === null, 'a chain is created once');
  return { ...snapshot, anchor, start: startAbove(anchor) };
}

function startAbove(anchor: Anchor | null): Slot {
  return toSlot(anchor === null ? 0 : anchor.number + 1);
}

function extend(snapshot: ChainSnapshot, blocks: readonly HotBlock[]): ChainSnapshot {
  assert(snapshot.start !== null, 'a chain is created before it grows');
  // Sealed blocks are finalized, so blocks of a source at their slots are ignored.
  const sealedLast = snapshot.segments.at(-1)?.last.number ?? -1;
  const above = blocks.filter(({ header }) => header.number > sealedLast);
  const fresh = above.slice(countKnown(snapshot, above));
  if (fresh.length === 0) return snapshot;
  checkRun(headLinkPoint(snapshot), fresh);
  checkHashesUnused(snapshot, snapshot.hot, fresh);
  return withHot(snapshot, snapshot.hot, fresh);
}

function replaceSuffix(
  snapshot: ChainSnapshot,
  ancestor: BlockRef,
  blocks: readonly HotBlock[],
): ChainSnapshot {
  assert(blocks.length > 0, 'a branch has at least one block');
  const known = countKnown(snapshot, blocks);
  const fresh = blocks.slice(known);
  if (fresh.length === 0) return snapshot;
  const lastKnown = blocks[known - 1];
  const base = lastKnown === undefined ? ancestor : refOf(lastKnown.header);
  const { finalized } = snapshot;
  if (finalized !== null && base.number < finalized.number) {
    throw new CodedError('chain-fork-below-finality', {
      slot: base.number,
      finalizedSlot: finalized.number,
    });
  }
  const keptCount = keptHotCount(snapshot, base);
  const kept = snapshot.hot.slice(0, keptCount);
  const removed = snapshot.hot.slice(keptCount);
  checkRun(headLinkPoint({ ...snapshot, hot: kept }), fresh);
  checkHashesUnused(snapshot, kept, fresh);
  const next = withHot(snapshot, kept, fresh);
  return { ...next, replaced: rememberReplaced(next.replaced, removed, fresh) };
}

/**
 * Returns how many hot blocks stay below a branch that starts from `base`, which must be a block of this chain or the
 * anchor.
 */
function keptHotCount(snapshot: ChainSnapshot, base: BlockRef): number {
  const end = firstHotAtOrAfter(snapshot, base.number + 1);
  const linkPoint = headLinkPoint({ ...snapshot, hot: snapshot.hot.slice(0, end) });
  if (linkPoint === null || linkPoint.number !== base.number || linkPoint.hash !== base.hash) {
    throw new CodedError('chain-ancestor-unknown', { slot: base.number, hash: base.hash });
  }
  return end;
}

function rememberReplaced(
  replaced: ChainSnapshot['replaced'],
  removed: readonly HotBlock[],
  adopted: readonly HotBlock[],
): ChainSnapshot['replaced'] {
  const next = new Map(replaced);
  for (const { header } of removed) {
    next.delete(header.hash); // Keeps the newest last, even if the hash was replaced before.
    next.set(header.hash, header.number);
  }
  for (const { header } of adopted) next.delete(header.hash);
  for (const hash of next.keys()) {
    if (next.size <= replacedCountMax) break;
    next.delete(hash);
  }
  return next;
}

function finalize(snapshot: ChainSnapshot, block: BlockRef): ChainSnapshot {
  const { finalized } = snapshot;
  if (finalized !== null && block.number <= finalized.number) {
    if (block.number < finalized.number || block.hash === finalized.hash) return snapshot;
    throw new CodedError('chain-finality-contradicted', {
      slot: block.number,
      hash: block.hash,
      finalizedHash: finalized.hash,
    });
  }
  if (findHot(snapshot, block.number)?.header.hash !== block.hash) {
    throw new CodedError('chain-finality-unknown', { slot: block.number, hash: block.hash });
  }
  return { ...snapshot, finalized: { number: block.number, hash: block.hash } };
}

function appendSealed(snapshot: ChainSnapshot, segments: readonly SealedSegment[]): ChainSnapshot {
  assert(snapshot.start !== null, 'a chain is created before it grows');
  assert(
    snapshot.hot.length === 0,
    'sealed blocks are only appended to a chain without hot blocks',
  );
  const last = segments.at(-1);
  if (last === undefined) return snapshot;
  checkSegments(headLinkPoint(snapshot), segments);
  return withoutUnused(
    {
      ...snapshot,
      segments: [...snapshot.segments, ...segments],
      head: last.last,
      finalized: last.last,
    },
    segments.map(segmentFile),
  );
}

function prepend(snapshot: ChainSnapshot, segments: readonly SealedSegment[]): ChainSnapshot {
  const first = segments[0];
  const last = segments.at(-1);
  if (first === undefined || last === undefined) return snapshot;
  const { anchor } = snapshot;
  assert(anchor !== null, 'history can only be added above the beginning of the ledger');
  assert(snapshot.finalized !== null, 'history is added below finalized blocks');
  checkSegments(linkPointBelow(first), segments);
  if (last.last.number !== anchor.number || last.last.hash !== anchor.hash) {
    throw new CodedError('chain-not-linked', {
      slot: last.last.number,
      hash: last.last.hash,
      expectedSlot: anchor.number,
      expectedHash: anchor.hash,
    });
  }
  const below = anchorBelow(first);
  const oldest = withOldest(snapshot, [...segments, ...oldestSegments(snapshot)]);
  const next = { ...snapshot, ...oldest, anchor: below, start: startAbove(below) };
  return withoutUnused(next, segments.map(segmentFile));
}

/**
 * Removes only segments that lie completely below `keepFrom` and are in no list, so the new start may be lower. The finalized head always
 * stays.
 */
function trim(snapshot: ChainSnapshot, keepFrom: Slot): ChainSnapshot {
  const { finalized } = snapshot;
  if (finalized === null || keepFrom > finalized.number) {
    throw new CodedError('chain-trim-too-high', {
      keepFrom,
      finalizedSlot: finalized?.number ?? null,
    });
  }
  const oldest = oldestSegments(snapshot);
  const dropped = oldest.filter(({ last }) => last.number < keepFrom);
  const droppedHotCount = snapshot.lists.length > 0 ? 0 : firstHotAtOrAfter(snapshot, keepFrom);
  const lastDropped = snapshot.hot[droppedHotCount - 1]?.header ?? dropped.at(-1)?.last ?? null;
  if (lastDropped === null) return snapshot;
  const anchor = { number: lastDropped.number, hash: lastDropped.hash };
  const hot = snapshot.hot.slice(droppedHotCount);
  const kept = withOldest(snapshot, oldest.slice(dropped.length));
  const indexes = snapshot.indexes.filter(({ last }) => last > anchor.number);
  const below = snapshot.indexes.filter(({ last }) => last <= anchor.number);
  const next = { ...snapshot, ...kept, indexes, anchor, start: startAbove(anchor), hot };
  return withUnused(next, [...dropped.map(segmentFile), ...below.map(indexFile)]);
}

function seal(snapshot: ChainSnapshot, segments: readonly SealedSegment[]): ChainSnapshot {
  let sealedCount = 0;
  for (const segment of segments) {
    const first = snapshot.hot[sealedCount]?.header;
    sealedCount += segment.blockCount;
    const last = snapshot.hot[sealedCount - 1]?.header;
    // A writer of a bucket may have been told by the feed that these blocks are sealed already.
    if (first?.hash !== segment.first.hash) {
      const [from, to] = [segment.first.number, segment.last.number];
      throw new CodedError('chain-segments-changed', { first: from, last: to });
    }
    assert(last?.hash === segment.last.hash, 'a segment ends with the last block it replaces');
    assert(first.parentHash === segment.parentHash, 'a segment keeps the link below it');
    assert(last.height === segment.lastHeight, 'a segment keeps the height of its last block');
  }
  const lastSealed = segments.at(-1);
  if (lastSealed === undefined) return snapshot;
  const { finalized } = snapshot;
  assert(
    finalized !== null && lastSealed.last.number <= finalized.number,
    'only finalized blocks are sealed',
  );
  const sealed = [...snapshot.segments, ...segments];
  const next = { ...snapshot, segments: sealed, hot: snapshot.hot.slice(sealedCount) };
  return withoutUnused(next, segments.map(segmentFile));
}

/** The merged segment replaces segments of `front`, or of `segments`. */
function merge(snapshot: ChainSnapshot, segment: SealedSegment): ChainSnapshot {
  const isReplaced = ({ first, last }: SealedSegment) =>
    first.number >= segment.first.number && last.number <= segment.last.number;
  const part = snapshot.front.some(isReplaced) ? 'front' : 'segments';
  const segments = snapshot[part];
  const replaced = segments.filter(isReplaced);
  checkReplaced(replaced, segment);
  const at = segments.findIndex(isReplaced);
  const merged = segments.toSpliced(at, replaced.length, segment);
  const next = withUnused({ ...snapshot, [part]: merged }, replaced.map(segmentFile));
  return withoutUnused(next, [segmentFile(segment)]);
}

function insert(snapshot: ChainSnapshot, list: SegmentList): ChainSnapshot {
  const next = { ...snapshot, ...insertList(snapshot, list) };
  return withoutUnused(next, [listFile(list)]);
}

function unlist(snapshot: ChainSnapshot, content: ListContent): ChainSnapshot {
  const next = { ...snapshot, ...removeFirstList(snapshot, content) };
  return withUnused(next, snapshot.lists.slice(0, 1).map(listFile));
}

function addIndex(snapshot: ChainSnapshot, run: IndexRun): ChainSnapshot {
  // Retention has removed all of its segments while it was made. Its file stays among the unused ones.
  if (snapshot.start !== null && run.last < snapshot.start) return snapshot;
  const isReplaced = ({ first, last }: IndexRun) => first >= run.first && last <= run.last;
  const kept = snapshot.indexes.filter((index) => !isReplaced(index));
  // Another writer of a bucket may have merged some of its inputs with others.
  if (kept.some(({ first, last }) => last >= run.first && first <= run.last))
    throw new CodedError('chain-segments-changed', { first: run.first, last: run.last });
  const indexes = [...kept, run].sort((a, b) => a.first - b.first);
  const replaced = snapshot.indexes.filter(isReplaced).map(indexFile);
  return withoutUnused(withUnused({ ...snapshot, indexes }, replaced), [indexFile(run)]);
}

function withUnused(snapshot: ChainSnapshot, files: readonly string[]): ChainSnapshot {
  const unused = new Set([...snapshot.unused, ...files]);
  return unused.size === snapshot.unused.length ? snapshot : { ...snapshot, unused: [...unused] };
}

function withoutUnused(snapshot: ChainSnapshot, files: readonly string[]): ChainSnapshot {
  const unused = snapshot.unused.filter((file) => !files.includes(file));
  return unused.length === snapshot.unused.length ? snapshot : { ...snapshot, unused };
}

/** Replaces the stored bytes of segments and hot blocks. The blocks of the chain stay the same. */
function rewrite(
  snapshot: ChainSnapshot,
  rewritten: readonly SealedSegment[],
  blocks: readonly HotBlock[],
): ChainSnapshot {
  const segments = [...snapshot.segments];
  const before: SealedSegment[] = [];
  for (const segment of rewritten) {
    const index = segments.findIndex(({ first }) => first.hash === segment.first.hash);
    const old = segments[index];
    assert(old !== undefined, 'a rewritten segment was in the chain');
    const isSame = old.last.hash === segment.last.hash && old.blockCount === segment.blockCount;
    assert(isSame, 'a rewritten segment contains the same blocks');
    segments[index] = segment;
    before.push(old);
  }
  const payloads = new Map(blocks.map(({ header, payload }) => [header.hash, payload]));
  const hot = snapshot.hot.map((block) => ({
    ...block,
    payload: payloads.get(block.header.hash) ?? block.payload,
  }));
  const next = withUnused({ ...snapshot, segments, hot }, before.map(segmentFile));
  return withoutUnused(next, rewritten.map(segmentFile));
}

/** Returns how many of the first blocks are already stored among the hot blocks. */
function countKnown(snapshot: ChainSnapshot, blocks: readonly HotBlock[]): number {
  let count = 0;
  for (const { header } of blocks) {
    const stored = findHot(snapshot, header.number);
    if (stored?.header.hash !== header.hash) break;
    checkSameParent(stored, header);
    count++;
  }
  return count;
}

function checkSameParent(stored: HotBlock, header: HotBlock['header']): void {
  const { number, parentSlot, parentHash } = stored.header;
  if (header.parentSlot !== parentSlot || header.parentHash !== parentHash) {
    throw new CodedError('chain-hash-reused', { slot: number, hash: header.hash });
  }
}

function checkRun(parent: ParentPoint, blocks: readonly HotBlock[]): void {
  let below = parent;
  for (const { header } of blocks) {
    checkLink(below, header);
    below = header;
  }
}

/** Checks that no new block reuses a known hash: a known hash with another slot or parent is forged. */
function checkHashesUnused(
  snapshot: ChainSnapshot,
  kept: readonly HotBlock[],
  fresh: readonly HotBlock[],
): void {
  const freshHashes = new Set<BlockHash>();
  for (const { header } of fresh) {
    const reused = freshHashes.has(header.hash) || header.hash === snapshot.anchor?.hash;
    if (reused)
      throw new CodedError('chain-hash-reused', { slot: header.number, hash: header.hash });
    freshHashes.add(header.hash);
  }
  const reusing = kept.find(({ header }) => freshHashes.has(header.hash))?.header;
  if (reusing !== undefined) {
    throw new CodedError('chain-hash-reused', { slot: reusing.number, hash: reusing.hash });
  }
}

function checkSegments(parent: ParentPoint, segments: readonly SealedSegment[]): void {
  let below = parent;
  for (const { first, last, parentSlot, parentHash, lastHeight } of segments) {
    const linked =
      below === null
        ? first.number === 0
        : below.number < first.number && below.number === parentSlot && below.hash === parentHash;
    if (!linked) {
      throw new CodedError('chain-not-linked', {
        slot: first.number,
        parentSlot,
        parentHash,
        expectedParentSlot: below?.number ?? 'none',
        expectedParentHash: below?.hash ?? null,
      });
    }
    assert(first.number <= last.number, 'a segment ascends');
    below = { ...last, height: lastHeight };
  }
}

function anchorBelow(first: SealedSegment): Anchor | null {
  return first.first.number === 0 ? null : { number: first.parentSlot, hash: first.parentHash };
}

function linkPointBelow(first: SealedSegment): ParentPoint {
  const anchor = anchorBelow(first);
  return anchor === null ? null : { ...anchor, height: null };
}

function withHot(
  snapshot: ChainSnapshot,
  kept: readonly HotBlock[],
  fresh: readonly HotBlock[],
): ChainSnapshot {
  const last = fresh.at(-1);
  assert(last !== undefined, 'a chain grows by at least one block');
  return { ...snapshot, hot: [...kept, ...fresh], head: refOf(last.header) };
}
