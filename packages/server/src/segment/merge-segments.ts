/**
 * Segments into one, column by column, with the bytes that building from the blocks would have given.
 *
 * Memory is one row group of one source, one page of its dictionary, and what the writer holds.
 */
import { discard } from '../base/discard.ts';
import type { BlockHeader } from '../ledger/block.ts';
import type { BlockCounts } from './block-counts.ts';
import { collect } from './build-segment.ts';
import type { DictionaryBuilder } from './dictionary.ts';
import { pageKeyCount } from './limits.ts';
import type { GroupRows } from './row-buffer.ts';
import { type IdMap, RowSource } from './row-source.ts';
import type { SegmentWriter } from './segment-writer.ts';

/** A segment whose rows can be appended to another: of this format, or of an older one. */
export interface RowSegment {
  readonly headers: readonly BlockHeader[];
  readonly counts: readonly BlockCounts[];
  readonly addressCount: number;
  /** The blocks of each row group. */
  readonly groups: readonly { readonly firstBlock: number; readonly blockCount: number }[];
  readGroup(number: number): GroupRows;
  /** Keys of the dictionary, 32 bytes each. */
  readKeys(first: number, count: number): Uint8Array;
}

/** One segment with the blocks of all, which must ascend by slot: the bytes of `buildSegment` of those blocks. */
export function mergeSegments(segments: readonly RowSegment[]): Uint8Array {
  return collect((writer) => {
    for (const segment of segments) appendSegment(writer, segment);
  });
}

/** The one block of a segment under a header that says more of it. */
export function mergeUnderHeader(segment: RowSegment, header: BlockHeader): Uint8Array {
  return collect((writer) => appendSegment(writer, segment, [header]));
}

/** Appends all blocks of a segment without making objects of their records. */
export function appendSegment(
  writer: SegmentWriter,
  segment: RowSegment,
  headers: readonly BlockHeader[] = segment.headers,
): void {
  const ids = new SegmentIds(segment, writer.dictionary);
  segment.groups.forEach(({ firstBlock, blockCount }, number) => {
    const columns = segment.readGroup(number);
    const source = new RowSource(columns, ids, readTexts(columns));
    for (let block = firstBlock; block < firstBlock + blockCount; block++) {
      const counts = segment.counts[block] as BlockCounts;
      writer.appendRows(headers[block] as BlockHeader, counts, (rows, texts) =>
        source.copy(counts, rows, texts),
      );
    }
    for (const { values } of Object.values(columns)) discard(values);
  });
}

/** From a segment's dictionary ids to the writer's. Ids first come up in ascending order, so one page at a time does. */
class SegmentIds implements IdMap {
  readonly #segment: RowSegment;
  readonly #dictionary: DictionaryBuilder;
  /** Plus one; 0 is not known yet. */
  readonly #known: Uint32Array;
  #pageNumber = -1;
  #pageWords = new Uint32Array(0);

  constructor(segment: RowSegment, dictionary: DictionaryBuilder) {
    this.#segment = segment;
    this.#dictionary = dictionary;
    this.#known = new Uint32Array(segment.addressCount);
  }

  idOf(id: number): number {
    const known = this.#known[id] as number;
    if (known > 0) return known - 1;
    const page = Math.floor(id / pageKeyCount);
    if (page !== this.#pageNumber) {
      const first = page * pageKeyCount;
      const count = Math.min(pageKeyCount, this.#known.length - first);
      this.#pageWords = new Uint32Array(this.#segment.readKeys(first, count).slice().buffer);
      this.#pageNumber = page;
    }
    const given = this.#dictionary.idOfWords(this.#pageWords, (id % pageKeyCount) * 8);
    this.#known[id] = given + 1;
    return given;
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function readTexts({ textLength, textBytes }: GroupRows): readonly string[] {
  let at = 0;
  return Array.from(textLength.values, (length) => {
    at += length;
    return decoder.decode(textBytes.values.subarray(at - length, at));
  });
}
