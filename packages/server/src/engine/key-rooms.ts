/**
 * Where the keys that queries wrote are in the kernel's memory, each in room for its text. Only those that were asked for are
 * there: a query that selects one transaction in fifty writes one key in fifty of a segment's million.
 */
import { keyBytes } from '../segment/dictionary.ts';
import { pageKeyCount } from '../segment/limits.ts';
import type { UnitEntry } from '../segment/unit.ts';
import type { CacheStep, LoadedColumn } from './column-cache.ts';
import type { EngineSegment } from './engine-segment.ts';
import { type GroupColumns, readUnit } from './group-columns.ts';
import type { SelectedGroup } from './group-selection.ts';

const roomBytes = 48;
const shelfName = 'rooms';

/** The table of rooms by key, 0 where a key has none. */
export function keyRoomTable(open: EngineSegment, columns: GroupColumns, step: CacheStep): number {
  return step.get(open.dictionaryShelf, shelfName)?.at ?? addRooms(open, columns, step);
}

/** Gives a room to every key that the selected records of a group need and that has none. */
export function loadKeyRooms(
  open: EngineSegment,
  columns: GroupColumns,
  selected: SelectedGroup,
  step: CacheStep,
): void {
  const { kernel } = columns;
  const rooms = keyRoomTable(open, columns, step);
  const rewardCount = selected.flags.rewards === 0 ? 0 : columns.stored('rewKey').count;
  const list = kernel.allocate((columns.made('keys').count + rewardCount) * 4);
  try {
    const ids = askedIds(columns, selected, rooms, list);
    const chunk = kernel.allocate(ids.length * roomBytes);
    open.roomChunks.push(chunk);
    // One page after the other: all pages of a group together would take many times what its columns do.
    for (let from = 0; from < ids.length; ) {
      const page = pageOf(ids[from] as number);
      let to = from + 1;
      while (to < ids.length && pageOf(ids[to] as number) === page) to++;
      const keys = pageKeys(open, columns, page, step);
      const out = chunk + from * roomBytes;
      kernel.exports.placeKeys(list + from * 4, to - from, keys.column.at, rooms, out);
      keys.leave();
      from = to;
    }
  } catch (error) {
    // A damaged page ends the query; the next one must ask again.
    kernel.exports.unaskKeys(rooms, open.segment.directory.addressCount);
    throw error;
  } finally {
    kernel.release(list);
  }
}

const pageOf = (id: number): number => Math.floor(id / pageKeyCount);

/** The keys without a room, ascending, here and at `list`. */
function askedIds(
  columns: GroupColumns,
  { table, flags }: SelectedGroup,
  rooms: number,
  list: number,
): Uint32Array {
  const { kernel, group } = columns;
  // Another query may have had its turn since the group was selected.
  kernel.exports.setGroup(table, kernel.positionScratch);
  let end = kernel.exports.askKeys(group.transactionCount, rooms, list);
  if (flags.rewards !== 0) {
    const { at, width, count } = columns.stored('rewKey');
    end = kernel.exports.askRewardKeys(at, width, count, flags.rewards, rooms, end);
  }
  const ids = kernel.ints.slice(list / 4, end / 4).sort();
  kernel.ints.set(ids, list / 4);
  return ids;
}

function addRooms(open: EngineSegment, { kernel }: GroupColumns, step: CacheStep): number {
  const count = open.segment.directory.addressCount;
  const at = kernel.allocate(count * 4);
  kernel.bytes.fill(0, at, at + count * 4);
  const drop = () => {
    for (const chunk of open.roomChunks.splice(0)) kernel.release(chunk);
  };
  const column = { at, width: 4, count, offsets: 0 };
  step.put(open.dictionaryShelf, shelfName, { column, allocation: at }, { isDear: true, drop });
  return at;
}

/** The keys of a dictionary page, 32 bytes each, until they are left. */
function pageKeys(
  open: EngineSegment,
  columns: GroupColumns,
  page: number,
  step: CacheStep,
): { column: LoadedColumn; leave: () => void } {
  const known = step.peek(open.dictionaryShelf, page);
  if (known !== undefined) return { column: known, leave: () => {} };
  const entry = open.segment.directory.dictionaryPages[page] as UnitEntry;
  const at = readUnit(columns, entry, `dictionary page ${page}`);
  const column = { at, width: keyBytes, count: entry.rawLength / keyBytes, offsets: 0 };
  // Neighbouring groups come to the same page; when its keys have rooms nobody needs it.
  const leave = () => step.offer(open.dictionaryShelf, page, { column, allocation: at });
  return { column, leave };
}
