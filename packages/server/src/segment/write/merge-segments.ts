/**
 * Merges segments column by column. The result has the same bytes as a segment built from the blocks.
 *
 * Memory is limited to one row group of one source, one page of its dictionary, and the writer's buffers.
 */

import { elementAt } from '@sluice/base/element-at';
import { discard } from '@sluice/base/memory/discard';
import type { BlockHeader } from '@sluice/ledger/block';
import type { BlockCounts } from '../layout/block-counts.ts';
import { DictionaryBuilder } from '../layout/dictionary.ts';
import { pageKeyCount } from '../layout/limits.ts';
import type { GroupRows } from '../layout/row-buffer.ts';
import { type IdMap, RowSource } from '../layout/row-source.ts';
import type { BlockHeaders } from '../read/block-table.ts';
import { collect } from './build-segment.ts';
import type { SegmentWriter } from './segment-writer.ts';

/** A segment of this or an older format whose rows can be appended to another. */
export interface RowSegment {
  readonly headers: BlockHeaders;
  readonly addressCount: number;
  countsAt(block: number): BlockCounts;
  readonly groups: readonly { readonly firstBlock: number; readonly blockCount: number }[];
  readGroup(number: number): GroupRows;
  /** Returns keys of the dictionary, 32 bytes each. */
  readKeys(first: number, count: number): Uint8Array;
}

/** Returns one segment with all blocks, which must ascend by slot. The bytes are those of `buildSegment` for these blocks. */
export function mergeSegments(segments: readonly RowSegment[]): Uint8Array {
  return collect((writer) => {
    for (const segment of segments) appendSegment(writer, segment);
  });
}

/** Returns a segment's single block with a more complete header. */
export function mergeUnderHeader(segment: RowSegment, header: BlockHeader): Uint8Array {
  return collect((writer) => appendSegment(writer, segment, [header]));
}

/** Appends all blocks of a segment without creating objects for their records. */
export function appendSegment(
  writer: SegmentWriter,
  segment: RowSegment,
  headers: readonly BlockHeader[] = segment.headers.toArray(),
): void {
  const ids = new SegmentIds(segment, writer.dictionary);
  segment.groups.forEach(({ firstBlock, blockCount }, number) => {
    const columns = segment.readGroup(number);
    const source = new RowSource(columns, ids, readTexts(columns));
    for (let block = firstBlock; block < firstBlock + blockCount; block++) {
      const counts = segment.countsAt(block);
      writer.appendRows(elementAt(headers, block), counts, (rows, texts) =>
        source.copy(counts, rows, texts),
      );
    }
    for (const { values } of Object.values(columns)) discard(values);
  });
}

/** Returns blocks of a segment, each as a segment of its own. The bytes are those of `buildSegment` for the block. */
export function* splitSegment(
  segment: RowSegment,
  isWanted: (slot: number) => boolean,
): Generator<Uint8Array> {
  const keys = new Uint32Array(segment.readKeys(0, segment.addressCount).slice().buffer);
  const headers = segment.headers.toArray();
  for (const [number, { firstBlock, blockCount }] of segment.groups.entries()) {
    const columns = segment.readGroup(number);
    let dictionary = new DictionaryBuilder();
    const ids = { idOf: (id: number) => dictionary.idOfWords(keys, id * 8) };
    const source = new RowSource(columns, ids, readTexts(columns));
    for (let block = firstBlock; block < firstBlock + blockCount; block++) {
      const [header, counts] = [elementAt(headers, block), segment.countsAt(block)];
      if (isWanted(header.number))
        yield collect((writer) => {
          dictionary = writer.dictionary;
          writer.appendRows(header, counts, (rows, texts) => source.copy(counts, rows, texts));
        });
      else source.skip(counts);
    }
  }
}

/** Maps a segment's dictionary ids to the writer's. Ids are first used in ascending order, so one page at a time suffices. */
class SegmentIds implements IdMap {
  readonly #segment: RowSegment;
  readonly #dictionary: DictionaryBuilder;
  /** Ids plus one; 0 if not known yet. */
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
