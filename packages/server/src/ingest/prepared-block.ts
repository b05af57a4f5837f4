import type { BlockHeader } from '../ledger/block.ts';
import { buildBlock } from '../segment/build-segment.ts';
import { mergeUnderHeader } from '../segment/merge-segments.ts';
import { openSegment } from '../segment/open-segment.ts';
import type { NormalizedBlock } from '../source/normalize-block.ts';
import type { NormalizeCounts } from '../source/normalize-counts.ts';

/** A block as it is stored, before it is linked: its place, and the bytes of a segment that holds it alone. */
export interface PreparedBlock {
  readonly header: BlockHeader;
  readonly bytes: Uint8Array;
  readonly counts: NormalizeCounts;
}

/** A draft is for those who merge it at once; a hot block is stored whole. */
export type PreparedForm = 'whole' | 'draft';

export function prepareBlock({ block, counts, taken }: NormalizedBlock): PreparedBlock {
  return { header: block.header, bytes: buildBlock(block, taken), counts };
}

export function prepareDraft({ block, counts, taken }: NormalizedBlock): PreparedBlock {
  return { header: block.header, bytes: buildBlock(block, taken, { isDraft: true }), counts };
}

/** The same block with what linking found out. */
export function withHeader(prepared: PreparedBlock, header: BlockHeader): PreparedBlock {
  return { ...prepared, header, bytes: mergeUnderHeader(openSegment(prepared.bytes), header) };
}
