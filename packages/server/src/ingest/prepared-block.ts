import type { BlockHeader } from '../ledger/block.ts';
import { buildBlock, collect } from '../segment/build-segment.ts';
import { type AllocateDraft, appendDraft, encodeDraft } from '../segment/draft.ts';
import { mergeUnderHeader } from '../segment/merge-segments.ts';
import { openSegment } from '../segment/open-segment.ts';
import type { NormalizedBlock } from '../source/normalize-block.ts';
import type { NormalizeCounts } from '../source/normalize-counts.ts';

/** A block before it is linked: its place, and its rows. */
export interface PreparedBlock {
  readonly header: BlockHeader;
  /** A segment that holds the block alone, or a draft of it. */
  readonly bytes: Uint8Array;
  readonly counts: NormalizeCounts;
}

/** A draft is merged into a segment at once; a hot block is stored as a whole segment. */
export type PreparedForm = 'whole' | 'draft';

export function prepareBlock({ block, counts, taken }: NormalizedBlock): PreparedBlock {
  return { header: block.header, bytes: buildBlock(block, taken), counts };
}

export function prepareDraft(
  { block, counts, taken }: NormalizedBlock,
  allocate: AllocateDraft = (byteLength) => new Uint8Array(byteLength),
): PreparedBlock {
  return { header: block.header, bytes: encodeDraft(block, taken, allocate), counts };
}

/** The segment that holds the block of a draft alone, under this header. */
export function buildDraft(draft: Uint8Array, header: BlockHeader): Uint8Array {
  return collect((writer) => appendDraft(writer, draft, header));
}

/** The same whole block under the header that linking completed. */
export function withHeader(prepared: PreparedBlock, header: BlockHeader): PreparedBlock {
  return { ...prepared, header, bytes: mergeUnderHeader(openSegment(prepared.bytes), header) };
}
