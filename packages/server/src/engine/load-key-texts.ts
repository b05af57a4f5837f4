/**
 * The texts of keys in the kernel's memory. Only keys that a query writes are loaded: a query that selects one transaction in fifty writes
 * about one in fifty of a segment's million keys. Texts stay until the segment is evicted.
 */
import { KEY_TEXT_BYTES } from '@sluice/kernels/layout/writing';
import type { ByteRange } from '../object-store/object-store.ts';
import { chunkBytes } from '../segment/encoding/chunk-checksums.ts';
import { keyBytes } from '../segment/layout/dictionary.ts';
import { PART } from '../segment/layout/directory.ts';
import type { Segment } from '../segment/read/open-segment.ts';
import { blockKeys, type EngineSegment } from './engine-segment.ts';
import type { GroupColumns } from './group-columns.ts';
import type { SelectedGroup } from './group-selection.ts';

const blockBytes = blockKeys * keyBytes;
const chunkKeys = chunkBytes / keyBytes;
/** A block of `blockKeys` keys is read as a whole if at least this many of them are needed. Otherwise single chunks are read. */
const blockKeysMin = 3;

/** Reads every key that the selected records need and that is not in memory. */
export function loadKeyTexts(
  open: EngineSegment,
  columns: GroupColumns,
  selected: SelectedGroup,
): void {
  const { kernel, scratch } = columns;
  const table = open.keyTable;
  const rewardCount = selected.flags.rewards === 0 ? 0 : columns.stored('rewKey').count;
  const list = scratch.reserve((columns.stored('txKeys').count + rewardCount) * 4);
  try {
    const count = requestKeys(columns, selected, table, list);
    const texts = open.allocateKeyTexts(count * KEY_TEXT_BYTES);
    const { copyKeysFromBlocks } = kernel.exports;
    // Most keys are in blocks that earlier groups have read.
    const left = copyKeysFromBlocks(list, count, open.keyBlocks, table, texts);
    if (left === 0) return;
    announceKeys(open, columns, list, left);
    loadBlocks(open, columns, list, left);
    const out = texts + (count - left) * KEY_TEXT_BYTES;
    const single = copyKeysFromBlocks(list, left, open.keyBlocks, table, out);
    copySingleKeys(open, columns, list, {
      count: single,
      out: out + (left - single) * KEY_TEXT_BYTES,
    });
  } catch (error) {
    // A damaged chunk ends the query. The next query must request the keys again.
    kernel.exports.cancelRequests(table, open.segment.directory.addressCount);
    throw error;
  }
}

/** Returns the keys that appear first in a row group: keys are numbered in the order of their first appearance. */
export function newKeysOf({ directory }: Segment, group: number): { first: number; end: number } {
  const { groups, addressCount } = directory;
  const first = (groups[group]?.highestBefore ?? -1) + 1;
  return { first, end: (groups[group + 1]?.highestBefore ?? addressCount - 1) + 1 };
}

/** Fetches the blocks and chunks with the keys of a list from a remote segment in one step. */
function announceKeys(
  { segment, reader }: EngineSegment,
  columns: GroupColumns,
  list: number,
  keyCount: number,
): void {
  if (segment.bytes.expect === undefined) return;
  const ids = columns.kernel.ints.slice(list / 4, list / 4 + keyCount).sort();
  columns.needsNewKeys = columns.pages.some(({ number }) => {
    const { first, end } = newKeysOf(segment, number);
    const count = ids.filter((id) => id >= first && id < end).length;
    return count > ((end - first) / blockKeys) * blockKeysMin;
  });
  const { offset } = segment.partEntry(PART.keys, 0);
  const ranges: ByteRange[] = [];
  const add = (first: number, most: number) => {
    const count = Math.min(most, segment.directory.addressCount - first);
    const { start, length } = reader.chunksOf(offset + first * keyBytes, count * keyBytes);
    ranges.push({ start, end: start + length });
  };
  for (let from = 0; from < ids.length; ) {
    const block = Math.floor((ids[from] as number) / blockKeys);
    const to = endOfRun(ids, from, (block + 1) * blockKeys);
    if (to - from >= blockKeysMin) add(block * blockKeys, blockKeys);
    else for (const id of ids.subarray(from, to)) add(id - (id % chunkKeys), chunkKeys);
    from = to;
  }
  segment.bytes.expect(ranges);
}

/** Reads every block with several keys of the list. */
function loadBlocks(
  open: EngineSegment,
  columns: GroupColumns,
  list: number,
  keyCount: number,
): void {
  const { kernel, scratch } = columns;
  const blockCount = Math.ceil(open.segment.directory.addressCount / blockKeys);
  const counts = scratch.reserveZeroed(blockCount * 4);
  kernel.exports.countByBlock(list, keyCount, counts);
  for (let block = 0; block < blockCount; block++) {
    // Reading a block may replace the view of the memory.
    if ((kernel.ints[counts / 4 + block] as number) >= blockKeysMin)
      loadBlock(open, columns, block);
  }
}

/** Copies the first keys of the list, each from its own chunk. */
function copySingleKeys(
  open: EngineSegment,
  columns: GroupColumns,
  list: number,
  { count, out }: { count: number; out: number },
): void {
  const { kernel, scratch } = columns;
  const chunk = scratch.reserve(chunkBytes);
  const ids = kernel.ints.slice(list / 4, list / 4 + count).sort();
  kernel.ints.set(ids, list / 4);
  for (let from = 0; from < count; ) {
    const first = Math.floor((ids[from] as number) / chunkKeys) * chunkKeys;
    const to = endOfRun(ids, from, first + chunkKeys);
    readKeys(open, columns, { first, count: chunkKeys }, chunk);
    const texts = out + from * KEY_TEXT_BYTES;
    kernel.exports.copyListedKeys(list + from * 4, to - from, chunk, first, open.keyTable, texts);
    from = to;
  }
}

/** Returns the position of the first id after `from` that reaches the limit. */
function endOfRun(ids: Uint32Array, from: number, limit: number): number {
  let to = from + 1;
  while (to < ids.length && (ids[to] as number) < limit) to++;
  return to;
}

function loadBlock(open: EngineSegment, columns: GroupColumns, block: number): void {
  const { kernel } = columns;
  const at = kernel.allocate(blockBytes);
  try {
    readKeys(open, columns, { first: block * blockKeys, count: blockKeys }, at);
  } catch (error) {
    kernel.release(at);
    throw error;
  }
  open.keepKeyBlock(block, at);
}

/** Reads keys in whole chunks. The last chunk of the segment may be shorter. */
function readKeys(
  { segment, reader }: EngineSegment,
  { meter }: GroupColumns,
  { first, count }: { first: number; count: number },
  target: number,
): void {
  const part = segment.partEntry(PART.keys, 0);
  const length = Math.min(count, segment.directory.addressCount - first) * keyBytes;
  const chunks = reader.chunksOf(part.offset + first * keyBytes, length);
  reader.read(chunks.start, chunks.length, target, 'keys');
  meter.bytesRead += chunks.length;
}

/** Writes the ids of the missing keys to `list`. Returns their number. */
function requestKeys(
  columns: GroupColumns,
  { table, flags }: SelectedGroup,
  keyTable: number,
  list: number,
): number {
  const { kernel, transactionCount } = columns;
  // Another query may have used the kernel since the rows were selected.
  kernel.exports.setGroup(table, kernel.positionScratch);
  let end = kernel.exports.requestKeys(transactionCount, keyTable, list);
  if (flags.rewards !== 0) {
    const { at, width, count } = columns.stored('rewKey');
    end = kernel.exports.requestRewardKeys(at, width, count, flags.rewards, keyTable, end);
  }
  return (end - list) / 4;
}
