import type { BlockHeader } from '../ledger/block.ts';
import { buildSegment } from '../segment/build-segment.ts';
import { decodeBlocks } from '../segment/decode-blocks.ts';
import { openSegment } from '../segment/open-segment.ts';
import type { NormalizedBlock } from '../source/normalize-block.ts';
import type { NormalizeCounts } from '../source/normalize-counts.ts';

/** A block as it is stored, before it is linked: its place, and the bytes of a segment that holds it alone. */
export interface PreparedBlock {
  readonly header: BlockHeader;
  readonly bytes: Uint8Array;
  readonly counts: NormalizeCounts;
}

export function prepareBlock({ block, counts }: NormalizedBlock): PreparedBlock {
  return { header: block.header, bytes: buildSegment([block]), counts };
}

/** The same block with what linking found out. Rare: sources have recorded heights and parents' hashes for years. */
export function withHeader(prepared: PreparedBlock, header: BlockHeader): PreparedBlock {
  const blocks = decodeBlocks(openSegment(prepared.bytes)).map((block) => ({ ...block, header }));
  return { ...prepared, header, bytes: buildSegment(blocks) };
}
