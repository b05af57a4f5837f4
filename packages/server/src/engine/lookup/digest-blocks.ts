import { createHash } from 'node:crypto';
import type { Steps } from '@sluice/base/time-slices';
import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import type { Selection } from '../../query/query.ts';
import type { EngineSegment } from '../engine-segment.ts';
import type { BlockRange, RunOptions, SegmentRun } from '../segment-run.ts';

export interface DigestLookup<S = Selection> {
  readonly kind: 'digest';
  /** Must give every block a line. */
  readonly selection: S;
  readonly range: BlockRange;
}

/** An entry has the slot of a block (8 bytes), the number of its records of each kind (4 bytes each), and its digest. Little-endian. */
export const DIGEST_ENTRY = { slot: 0, counts: 8, digest: 32, length: 64 } as const;

const lineFeed = 10;

/** Returns the entries of the blocks of a segment in a range. The digest of a block is the SHA-256 of its line without the line feed. */
export function* digestBlocks(
  { selection, range }: DigestLookup,
  { segment }: EngineSegment,
  begin: (selection: Selection, options: RunOptions) => SegmentRun,
): Steps<Uint8Array> {
  const { headers } = segment;
  let block = headers.firstAtOrAfter(range.first);
  const first = block;
  const end = headers.firstAtOrAfter(range.last + 1);
  const entries = Buffer.alloc(Math.max(0, end - first) * DIGEST_ENTRY.length);
  const run = begin(selection, { range });
  let hash = createHash('sha256');
  try {
    for (const piece of run.pieces()) {
      let start = 0;
      for (let at = piece.indexOf(lineFeed); at >= 0; at = piece.indexOf(lineFeed, start)) {
        const position = (block - first) * DIGEST_ENTRY.length;
        entries.writeBigUInt64LE(BigInt(headers.numberAt(block)), position);
        for (const [i, array] of RECORD_ARRAY_NAMES.entries()) {
          const count = segment.counts[array].at(block);
          entries.writeUInt32LE(count, position + DIGEST_ENTRY.counts + 4 * i);
        }
        entries.set(hash.update(piece.subarray(start, at)).digest(), position + 32);
        hash = createHash('sha256');
        block++;
        start = at + 1;
      }
      hash.update(piece.subarray(start));
      yield;
    }
  } finally {
    run.release();
  }
  return entries;
}
