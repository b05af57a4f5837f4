/** Fetches the row groups that a run reads next from a remote segment, while the engine works on earlier ones. */
import type { ByteRange } from '../object-store/object-store.ts';
import type { GroupParts } from './segment-run.ts';

/** What a run and a thread may have requested in advance. At 50 ms a request this is 160 MB/s. */
const aheadBytesMax = 8 << 20;
const aheadRangeCountMax = 48;
/**
 * How many row groups in advance are requested first. The number doubles with every batch that needs the same parts, so that a query that
 * ends early, or needs less of later groups, has fetched little in vain.
 */
const firstGroupCount = 2;

export interface ReadAheadModules {
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

export class ReadAhead {
  readonly #modules: ReadAheadModules;
  /** Requested, and not there yet when this was last looked at. */
  #pending: readonly ByteRange[] = [];
  #parts: GroupParts | undefined;
  #groupCount = firstGroupCount;

  constructor(modules: ReadAheadModules) {
    this.#modules = modules;
  }

  /** Requests the parts of the next row groups, from `first` on. */
  advance(first: number, parts: GroupParts): void {
    const { groupCount, isSkipped, rangesOf, dictionariesOf, missing, fetchAhead } = this.#modules;
    const isKnown = this.#parts !== undefined && isSame(parts, this.#parts);
    this.#groupCount = isKnown ? Math.min(this.#groupCount * 2, groupCount) : firstGroupCount;
    this.#parts = parts;
    const pending = missing(this.#pending);
    const added = isKnown ? [] : missing(dictionariesOf(parts));
    let bytes = sum(pending) + sum(added);
    let left = this.#groupCount;
    for (let group = first; group < groupCount && left > 0; group++) {
      if (bytes >= aheadBytesMax || pending.length + added.length >= aheadRangeCountMax) break;
      if (isSkipped(group)) continue;
      left--;
      const ranges = missing(rangesOf(group, parts)).filter((one) => !isAmong(one, pending));
      bytes += sum(ranges);
      added.push(...ranges);
    }
    this.#pending = [...pending, ...added];
    if (added.length > 0) fetchAhead(added);
  }
}

function isAmong({ start, end }: ByteRange, ranges: readonly ByteRange[]): boolean {
  return ranges.some((range) => range.start === start && range.end === end);
}

function sum(ranges: readonly ByteRange[]): number {
  return ranges.reduce((total, { start, end }) => total + end - start, 0);
}

function isSame(one: GroupParts, other: GroupParts): boolean {
  const isEqual = [...one.sections].every((section) => other.sections.has(section));
  const isSize = one.sections.size === other.sections.size;
  return isEqual && isSize && one.hasNewKeys === other.hasNewKeys;
}
