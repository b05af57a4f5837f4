/**
 * Where the keys that queries wrote are in the kernel's memory, each in room for its text. Only those that were asked for are
 * there: a query that selects one transaction in fifty writes one key in fifty of a segment's million.
 */
import { keyBytes } from '../segment/dictionary.ts';
import type { UnitEntry } from '../segment/unit.ts';
import type { CacheStep } from './column-cache.ts';
import type { EngineSegment } from './engine-segment.ts';
import { type GroupColumns, readUnit } from './group-columns.ts';
import type { SelectedGroup } from './group-selection.ts';

const roomBytes = 48;
const shelfName = 'rooms';

/** The table of rooms by key, 0 where a key has none. */
export function keyRoomTable(open: EngineSegment, columns: GroupColumns, step: CacheStep): number {
  return step.get(open.dictionaryShelf, shelfName)?.at ?? addRooms(open, columns, step);
}

/** Gives a room to every key that the selected records of a group need. */
export function loadKeyRooms(
  open: EngineSegment,
  columns: GroupColumns,
  selected: SelectedGroup,
  step: CacheStep,
): void {
  const { kernel } = columns;
  const rooms = keyRoomTable(open, columns, step);
  const pageCount = open.segment.directory.dictionaryPages.length;
  const flags = selected.flags.rewards;
  const rewards = flags === 0 ? undefined : columns.stored('rewKey');
  // Where the keys of each page are, then a byte a page.
  const table = kernel.allocate(pageCount * 5);
  try {
    const pages = table + pageCount * 4;
    kernel.bytes.fill(0, pages, pages + pageCount);
    // Another query may have had its turn since the group was selected.
    kernel.exports.setGroup(selected.table, kernel.positionScratch);
    let asked = kernel.exports.askKeys(columns.group.transactionCount, rooms, pages);
    if (rewards !== undefined) {
      const { at, width, count } = rewards;
      asked += kernel.exports.askRewardKeys(at, width, count, flags, rooms, pages);
    }
    kernel.bytes.slice(pages, pages + pageCount).forEach((isAsked, page) => {
      if (isAsked === 0) return;
      const at = pageKeys(open, columns, page, step);
      kernel.ints[table / 4 + page] = at;
    });
    const chunk = kernel.allocate(asked * roomBytes);
    open.roomChunks.push(chunk);
    const next = kernel.exports.placeKeys(columns.group.transactionCount, rooms, table, chunk);
    if (rewards !== undefined) {
      const { at, width, count } = rewards;
      kernel.exports.placeRewardKeys(at, width, count, flags, rooms, table, next);
    }
  } catch (error) {
    // A damaged page ends the query; the next one must ask again.
    kernel.exports.unaskKeys(rooms, open.segment.directory.addressCount);
    throw error;
  } finally {
    kernel.release(table);
  }
}

function addRooms(open: EngineSegment, { kernel }: GroupColumns, step: CacheStep): number {
  const count = open.segment.directory.addressCount;
  const at = kernel.allocate(count * 4);
  kernel.bytes.fill(0, at, at + count * 4);
  const drop = () => {
    for (const chunk of open.roomChunks.splice(0)) kernel.release(chunk);
  };
  const column = { at, width: 4, count, offsets: 0 };
  step.put(open.dictionaryShelf, shelfName, { column, allocation: at }, { rank: 'dear', drop });
  return at;
}

/** The keys of a dictionary page, 32 bytes each. */
function pageKeys(
  open: EngineSegment,
  columns: GroupColumns,
  page: number,
  step: CacheStep,
): number {
  const known = step.get(open.dictionaryShelf, page);
  if (known !== undefined) return known.at;
  const entry = open.segment.directory.dictionaryPages[page] as UnitEntry;
  const at = readUnit(columns, entry, `dictionary page ${page}`);
  const column = { at, width: keyBytes, count: entry.rawLength / keyBytes, offsets: 0 };
  // Neighbouring groups come to the same page; when its keys have rooms nobody needs it. That says nothing about rounds.
  const drop = () => void open.dictionaryShelf.delete(page);
  step.put(open.dictionaryShelf, page, { column, allocation: at }, { rank: 'brief', drop });
  return at;
}
