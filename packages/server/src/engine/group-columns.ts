/**
 * The columns of one row group in the kernel's memory, loaded when first asked for. Some are as stored, with planes
 * joined; others are made from them: starts from lengths, texts from bytes, values from differences.
 */

import { COLUMN_NUMBER, type ColumnName } from '../segment/columns.ts';
import type { GroupEntry } from '../segment/directory.ts';
import type { Segment } from '../segment/open-segment.ts';
import { CODEC, damaged, type UnitEntry, verifyUnit } from '../segment/unit.ts';
import type { CacheStep, LoadedColumn, Shelf } from './column-cache.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { EngineSegment } from './engine-segment.ts';
import { type ColumnSource, type MadeColumn, makeColumn } from './make-column.ts';

export interface LoadMeter {
  unitsRead: number;
  bytesRead: number;
  bytesInflated: number;
}

export class GroupColumns implements ColumnSource {
  readonly kernel: EngineKernel;
  readonly group: GroupEntry;
  readonly number: number;
  readonly segment: Segment;
  readonly meter: LoadMeter;
  readonly #cache: CacheStep;
  readonly #shelf: Shelf;

  constructor(
    open: EngineSegment,
    number: number,
    { kernel, cache, meter }: { kernel: EngineKernel; cache: CacheStep; meter: LoadMeter },
  ) {
    this.segment = open.segment;
    this.number = number;
    this.group = open.segment.directory.groups[number] as GroupEntry;
    this.kernel = kernel;
    this.meter = meter;
    this.#cache = cache;
    this.#shelf = open.groupShelf(number);
  }

  /** A stored column: integers at the smallest width that holds them, or bytes. */
  stored(name: ColumnName): LoadedColumn {
    return this.#cache.get(this.#shelf, name) ?? this.#keep(name, this.#loadStored(name));
  }

  made(name: MadeColumn): LoadedColumn {
    return this.#cache.get(this.#shelf, name) ?? this.#keep(name, makeColumn(this, name));
  }

  /** A stored column's values without keeping them: the caller makes another column of them, then lets go. */
  borrow<Result>(name: ColumnName, use: (column: LoadedColumn) => Result): Result {
    const cached = this.#cache.get(this.#shelf, name);
    if (cached !== undefined) return use(cached);
    const { column, allocation } = this.#loadStored(name);
    try {
      return use(column);
    } finally {
      this.kernel.release(allocation);
    }
  }

  #keep(name: string, loaded: { column: LoadedColumn; allocation: number }): LoadedColumn {
    this.#cache.put(this.#shelf, name, loaded);
    return loaded.column;
  }

  #loadStored(name: ColumnName): { column: LoadedColumn; allocation: number } {
    const entry = this.group.units[COLUMN_NUMBER[name]] as UnitEntry;
    const label = `group ${this.number}.${name}`;
    const width = entry.planes <= 1 ? 1 : entry.planes === 2 ? 2 : entry.planes <= 4 ? 4 : 8;
    if (entry.planes <= 1) {
      const at = readUnit(this, entry, label);
      return { column: { at, width, count: entry.count, starts: 0 }, allocation: at };
    }
    const planes = readUnit(this, entry, label);
    const at = this.kernel.allocate(entry.count * width);
    this.kernel.exports.joinPlanes(planes, entry.planes, entry.count, width, at);
    this.kernel.release(planes);
    return { column: { at, width, count: entry.count, starts: 0 }, allocation: at };
  }
}

/** Reads, verifies and inflates a unit into memory of its own. */
export function readUnit(
  { kernel, segment, meter }: Pick<GroupColumns, 'kernel' | 'segment' | 'meter'>,
  entry: UnitEntry,
  name: string,
): number {
  const stored = segment.bytes.read(entry.offset, entry.storedLength);
  verifyUnit(stored, entry, name);
  meter.unitsRead++;
  meter.bytesRead += stored.length;
  meter.bytesInflated += entry.rawLength;
  const at = kernel.allocate(entry.rawLength);
  if (entry.codec === CODEC.raw) {
    kernel.bytes.set(stored, at);
    return at;
  }
  if (entry.codec === CODEC.constant) {
    const bytes = kernel.bytes;
    for (let plane = 0; plane < stored.length; plane++) {
      bytes.fill(stored[plane] as number, at + plane * entry.count, at + (plane + 1) * entry.count);
    }
    return at;
  }
  const packed = kernel.allocate(stored.length);
  kernel.bytes.set(stored, packed);
  const length = kernel.exports.lzDecompress(packed, stored.length, at, entry.rawLength);
  kernel.release(packed);
  if (length !== entry.rawLength) {
    kernel.release(at);
    throw damaged(name, 'it does not decode');
  }
  return at;
}
