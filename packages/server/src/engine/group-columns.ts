/**
 * The columns of one row group in the kernel's memory, loaded when first asked for. Some are as stored, with planes
 * joined; others are made from them: starts from lengths, texts from bytes, values from differences.
 */

import { COLUMN_NUMBER, type ColumnName } from '../segment/columns.ts';
import type { GroupEntry } from '../segment/directory.ts';
import type { Segment } from '../segment/open-segment.ts';
import { CODEC, damaged, type UnitEntry, verifyUnit } from '../segment/unit.ts';
import type { CacheStep, Loaded, LoadedColumn, Shelf } from './column-cache.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { EngineSegment } from './engine-segment.ts';
import { type ColumnSource, type MadeColumn, makeColumn } from './make-column.ts';

export interface LoadMeter {
  unitsRead: number;
  bytesRead: number;
  bytesInflated: number;
}

/** Columns in which texts are made, which costs more than reading and inflating. */
const dearNames: ReadonlySet<string> = new Set<MadeColumn>([
  'dataPool',
  'signatureRooms',
  'addressTexts',
]);

export class GroupColumns implements ColumnSource {
  readonly kernel: EngineKernel;
  readonly group: GroupEntry;
  readonly number: number;
  readonly segment: Segment;
  readonly meter: LoadMeter;
  readonly #cache: CacheStep;
  readonly #shelf: Shelf;
  /** What was borrowed: several columns may be made of one, which is read once for all of them. */
  readonly #borrowed = new Map<ColumnName, Loaded>();

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
    return this.#cache.get(this.#shelf, name) ?? this.#keep(name, this.#takeStored(name));
  }

  /** Read, unless it was borrowed before. */
  #takeStored(name: ColumnName): Loaded {
    const borrowed = this.#borrowed.get(name);
    this.#borrowed.delete(name);
    return borrowed ?? this.#loadStored(name);
  }

  made(name: MadeColumn): LoadedColumn {
    return this.#cache.get(this.#shelf, name) ?? this.#keep(name, makeColumn(this, name));
  }

  /** A stored column's values that are not kept: the caller makes another column of them. */
  borrow(name: ColumnName): LoadedColumn {
    const cached = this.#cache.get(this.#shelf, name);
    if (cached !== undefined) return cached;
    let borrowed = this.#borrowed.get(name);
    if (borrowed === undefined) {
      borrowed = this.#loadStored(name);
      this.#borrowed.set(name, borrowed);
    }
    return borrowed.column;
  }

  /** Lets go of what was borrowed, once all columns that are needed are there. */
  endLoading(): void {
    for (const { allocation } of this.#borrowed.values()) this.kernel.release(allocation);
    this.#borrowed.clear();
  }

  #keep(name: string, loaded: Loaded): LoadedColumn {
    this.#cache.put(this.#shelf, name, loaded, { isDear: dearNames.has(name) });
    return loaded.column;
  }

  #loadStored(name: ColumnName): Loaded {
    const entry = this.group.units[COLUMN_NUMBER[name]] as UnitEntry;
    const label = `group ${this.number}.${name}`;
    const width = entry.planes <= 1 ? 1 : entry.planes === 2 ? 2 : entry.planes <= 4 ? 4 : 8;
    if (entry.planes <= 1) {
      const at = readUnit(this, entry, label);
      return { column: { at, width, count: entry.count, offsets: 0 }, allocation: at };
    }
    const planes = readUnit(this, entry, label);
    const at = this.kernel.allocate(entry.count * width);
    this.kernel.exports.joinPlanes(planes, entry.planes, entry.count, width, at);
    this.kernel.release(planes);
    return { column: { at, width, count: entry.count, offsets: 0 }, allocation: at };
  }
}

/** Reads a unit into the kernel's memory, verifies and inflates it there. Answers where it is. */
export function readUnit(
  source: Pick<GroupColumns, 'kernel' | 'segment' | 'meter'>,
  entry: UnitEntry,
  name: string,
): number {
  const { kernel, meter } = source;
  const packed = kernel.allocate(entry.storedLength);
  try {
    readVerified(source, entry, packed, name);
  } catch (error) {
    kernel.release(packed);
    throw error;
  }
  meter.unitsRead++;
  meter.bytesRead += entry.storedLength;
  meter.bytesInflated += entry.rawLength;
  return entry.codec === CODEC.raw ? packed : inflate(kernel, entry, packed, name);
}

function readVerified(
  { kernel, segment }: Pick<GroupColumns, 'kernel' | 'segment'>,
  entry: UnitEntry,
  at: number,
  name: string,
): void {
  const stored = kernel.bytes.subarray(at, at + entry.storedLength);
  const count = segment.bytes.readInto(entry.offset, stored);
  verifyUnit(stored.subarray(0, count), entry, name);
}

function inflate(kernel: EngineKernel, entry: UnitEntry, packed: number, name: string): number {
  const at = kernel.allocate(entry.rawLength);
  const { bytes, exports } = kernel;
  if (entry.codec === CODEC.constant) {
    for (let plane = 0; plane < entry.storedLength; plane++) {
      const start = at + plane * entry.count;
      bytes.fill(bytes[packed + plane] as number, start, start + entry.count);
    }
    kernel.release(packed);
    return at;
  }
  const length = exports.lzDecompress(packed, entry.storedLength, at, entry.rawLength);
  kernel.release(packed);
  if (length === entry.rawLength) return at;
  kernel.release(at);
  throw damaged(name, 'it does not decode');
}
