/**
 * The texts of keys in the kernel's memory. Only keys that a query writes are there: a query that selects one transaction in fifty
 * writes one key in fifty of a segment's million. They stay until the segment is evicted.
 */
import { chunkBytes } from '../segment/chunk-checksums.ts';
import { keyBytes } from '../segment/dictionary.ts';
import { PART } from '../segment/directory.ts';
import type { EngineSegment } from './engine-segment.ts';
import type { GroupColumns } from './group-columns.ts';
import type { SelectedGroup } from './group-selection.ts';

const textBytes = 48;
/** Keys are read in blocks of 64 KiB, which are kept, where several of a block are needed; otherwise one chunk at a time. */
const blockKeys = 2_048;
const blockBytes = blockKeys * keyBytes;
const chunkKeys = chunkBytes / keyBytes;
const blockKeysMin = 3;

/** Reads every key that the selected records of a group need and that is not there. */
export function loadKeyTexts(
  open: EngineSegment,
  columns: GroupColumns,
  selected: SelectedGroup,
): void {
  const { kernel } = columns;
  const table = open.keyTable;
  const rewardCount = selected.flags.rewards === 0 ? 0 : columns.stored('rewKey').count;
  const list = columns.scratch.reserve((columns.stored('txKeys').count + rewardCount) * 4);
  const chunk = columns.scratch.reserve(chunkBytes);
  try {
    const ids = askedIds(columns, selected, table, list);
    const texts = open.allocateKeyTexts(ids.length * textBytes);
    const place = (from: number, to: number, keys: number, first: number) =>
      kernel.exports.placeKeys(
        list + from * 4,
        to - from,
        keys,
        first,
        table,
        texts + from * textBytes,
      );
    for (let from = 0; from < ids.length; ) {
      const block = Math.floor((ids[from] as number) / blockKeys);
      const to = endOfRun(ids, from, (block + 1) * blockKeys);
      const isDense = to - from >= blockKeysMin;
      const known = open.keyBlock(block) ?? (isDense ? loadBlock(open, columns, block) : undefined);
      if (known !== undefined) place(from, to, known, block * blockKeys);
      for (let at = from; known === undefined && at < to; ) {
        const first = Math.floor((ids[at] as number) / chunkKeys) * chunkKeys;
        const end = endOfRun(ids, at, first + chunkKeys);
        readKeys(open, columns, { first, count: chunkKeys }, chunk);
        place(at, end, chunk, first);
        at = end;
      }
      from = to;
    }
  } catch (error) {
    // A damaged chunk ends the query; the next one must ask again.
    kernel.exports.unaskKeys(table, open.segment.directory.addressCount);
    throw error;
  }
}

/** Where the ids from `from` on reach the limit. */
function endOfRun(ids: Uint32Array, from: number, limit: number): number {
  let to = from + 1;
  while (to < ids.length && (ids[to] as number) < limit) to++;
  return to;
}

function loadBlock(open: EngineSegment, columns: GroupColumns, block: number): number {
  const { kernel } = columns;
  const at = kernel.allocate(blockBytes);
  try {
    readKeys(open, columns, { first: block * blockKeys, count: blockKeys }, at);
  } catch (error) {
    kernel.release(at);
    throw error;
  }
  open.keepKeyBlock(block, at, blockBytes);
  return at;
}

/** Reads whole chunks of keys, of which there may be fewer at the end. */
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

/** The keys that are not there, ascending, here and at `list`. */
function askedIds(
  columns: GroupColumns,
  { table, flags }: SelectedGroup,
  keyTable: number,
  list: number,
): Uint32Array {
  const { kernel, transactionCount } = columns;
  // Another query may have had its turn since the group was selected.
  kernel.exports.setGroup(table, kernel.positionScratch);
  let end = kernel.exports.askKeys(transactionCount, keyTable, list);
  if (flags.rewards !== 0) {
    const { at, width, count } = columns.stored('rewKey');
    end = kernel.exports.askRewardKeys(at, width, count, flags.rewards, keyTable, end);
  }
  const ids = kernel.ints.slice(list / 4, end / 4).sort();
  kernel.ints.set(ids, list / 4);
  return ids;
}
