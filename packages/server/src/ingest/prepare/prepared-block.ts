import { workerUrl } from '@sluice/base/worker-url';
import type { BlockHeader } from '@sluice/ledger/block';
import type { NormalizedBlock } from '@sluice/source/normalize/normalize-block';
import type { NormalizeCounts } from '@sluice/source/normalize/normalize-counts';
import {
  NormalizerPool,
  type NormalizerPoolOptions,
} from '@sluice/source/normalize/normalizer-pool';
import { openSegment } from '../../segment/read/open-segment.ts';
import { buildBlock, collect } from '../../segment/write/build-segment.ts';
import { type AllocateDraft, appendDraft, encodeDraft } from '../../segment/write/draft.ts';
import { mergeUnderHeader } from '../../segment/write/merge-segments.ts';

/** A block before it is linked, with its records as rows. */
export interface PreparedBlock {
  readonly header: BlockHeader;
  /** A segment of this block alone, or a draft of it. */
  readonly bytes: Uint8Array;
  readonly counts: NormalizeCounts;
}

/** `whole` is a segment of one block, the form of hot blocks. `draft` is an intermediate form that is merged at once. */
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

/** Builds a segment of one block from a draft, with this header. */
export function buildDraft(draft: Uint8Array, header: BlockHeader): Uint8Array {
  return collect((writer) => appendDraft(writer, draft, header));
}

/** Returns a whole block with the header that linking has completed. */
export function withHeader(prepared: PreparedBlock, header: BlockHeader): PreparedBlock {
  return { ...prepared, header, bytes: mergeUnderHeader(openSegment(prepared.bytes), header) };
}

export type PreparerPool = NormalizerPool<PreparedBlock>;

export interface PreparerPoolOptions
  extends Pick<NormalizerPoolOptions, 'workerCount' | 'normalize'> {
  readonly form?: PreparedForm;
}

/** Starts worker threads that normalize and encode blocks. Datasets with equal options can share a pool. */
export function startPreparerPool({
  form = 'whole',
  ...options
}: PreparerPoolOptions): PreparerPool {
  const url = workerUrl(import.meta.url, './prepare-worker.ts');
  return new NormalizerPool<PreparedBlock>({ ...options, workerUrl: url, workerData: form });
}
