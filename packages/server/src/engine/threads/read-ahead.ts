/** Fetches the row groups that a run reads next from a remote segment, while the engine works on earlier ones. */
import type { ByteRange } from '../../object-store/object-store.ts';
import type { GroupParts } from '../segment-run.ts';

/** The limit of bytes that one thread may have requested in advance for a run. If a request takes 50 ms, this allows 160 MB/s. */
const aheadBytesMax = 8 << 20;
const aheadRangeCountMax = 48;
/**
 * How many row groups in advance are requested first. The number doubles with every batch that needs the same parts, so that a query that
 * ends early, or needs less of later groups, has fetched little that it does not use.
 */
const firstGroupCount = 4;
const groupCountMax = 16;

export interface ReadAheadDependencies {
  readonly groupCount: number;
  /** Whether the row group belongs to another thread or need not be read. */
  readonly isSkipped: (group: number) => boolean;
  readonly rangesOf: (group: number, parts: GroupParts) => readonly ByteRange[];
  /** Returns where the dictionaries of the parts are, which all row groups need. */
  readonly dictionariesOf: (parts: GroupParts) => readonly ByteRange[];
  /** Returns those of the ranges that were not fetched yet. */
  readonly missing: (ranges: readonly ByteRange[]) => ByteRange[];
  readonly fetchAhead: (ranges: readonly ByteRange[]) => void;
}

interface Requested extends ByteRange {
  readonly group: number;
}

export class ReadAhead {
  readonly #dependencies: ReadAheadDependencies;
  #requested: readonly Requested[] = [];
  #parts: GroupParts | undefined;
  #groupCount = firstGroupCount;

  constructor(dependencies: ReadAheadDependencies) {
    this.#dependencies = dependencies;
  }

  /** Requests the parts of the next row groups, from `first` on. */
  advance(first: number, parts: GroupParts): void {
    const { groupCount, isSkipped, rangesOf, dictionariesOf, missing, fetchAhead } =
      this.#dependencies;
    const isKnown = this.#parts !== undefined && isSame(parts, this.#parts);
    this.#groupCount = isKnown ? Math.min(this.#groupCount * 2, groupCountMax) : firstGroupCount;
    this.#parts = parts;
    // A request that failed, or was refused because of other queries, is forgotten when its group was read.
    const pending = this.#requested.filter(
      (range) => range.group >= first && missing([range]).length > 0,
    );
    const added: Requested[] = [];
    const add = (group: number, ranges: readonly ByteRange[]) => {
      for (const range of missing(ranges))
        if (!isAmong(range, pending)) added.push({ ...range, group });
    };
    if (!isKnown) add(first, dictionariesOf(parts));
    let left = this.#groupCount;
    for (let group = first; group < groupCount && left > 0; group++) {
      const isFull = sum(pending) + sum(added) >= aheadBytesMax;
      if (isFull || pending.length + added.length >= aheadRangeCountMax) break;
      if (isSkipped(group)) continue;
      left--;
      add(group, rangesOf(group, parts));
    }
    this.#requested = [...pending, ...added];
    if (added.length > 0) fetchAhead(added);
  }
}

function isAmong({ start, end }: ByteRange, ranges: readonly ByteRange[]): boolean {
  return ranges.some((range) => range.start === start && range.end === end);
}

function sum(ranges: readonly ByteRange[]): number {
  return ranges.reduce((total, { start, end }) => total + end - start, 0);
}

function isSame(parts: GroupParts, other: GroupParts): boolean {
  const isEqual = [...parts.sections].every((section) => other.sections.has(section));
  const isSize = parts.sections.size === other.sections.size;
  return isEqual && isSize && parts.hasNewKeys === other.hasNewKeys;
}
