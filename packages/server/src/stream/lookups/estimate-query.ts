import type { Estimate, EstimateBounds } from '@sluice/protocol/lookup-results';
import { mapKeys } from '@sluice/protocol/typed-keys';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import { ROW_NUMBER_NAMES, type SegmentEstimate } from '../../engine/lookup/estimate-segment.ts';
import type { Query } from '../../query/query.ts';
import { LOOKUP_LIMITS } from './lookup-limits.ts';
import type { SegmentLookups } from './segment-lookups.ts';
import { blockCountOf, sampleParts } from './snapshot-parts.ts';

/** Adds up the estimates of the segments of the query's range, or of a sample of them. */
export async function estimateQuery(
  query: Query,
  snapshot: ChainSnapshot,
  lookups: SegmentLookups,
  signal: AbortSignal,
): Promise<Estimate> {
  const head = snapshot.head?.number ?? -1;
  const range = { first: query.fromBlock, last: Math.min(query.toBlock ?? Infinity, head) };
  const { estimateSegmentCountMax } = LOOKUP_LIMITS;
  const sampled = await sampleParts(snapshot, range, estimateSegmentCountMax, lookups.readList);
  const { parts: sample, partCount } = sampled;
  const lookup = { kind: 'estimate', selection: selectionOf(query), range } as const;
  const results = await lookups.run(sample, lookup, signal);
  const isSampled = sample.length < partCount;
  const sum = (count: (estimate: SegmentEstimate) => number) =>
    results.reduce((total, estimate) => total + count(estimate), 0);
  const examinedBlocks = sum(({ blockCount }) => blockCount);
  // Only the first and the last segment can be partly in the range, and both are always in the sample.
  const sampledBlocks = sample.reduce((total, part) => total + blockCountOf(part), 0);
  const totalBlocks = examinedBlocks + sampled.blockCount - sampledBlocks;
  const scale = examinedBlocks === 0 ? 1 : totalBlocks / examinedBlocks;
  const scaled = (count: (estimate: SegmentEstimate) => number) => Math.round(sum(count) * scale);
  const withCandidates = results.filter(({ candidateBlockCount }) => candidateBlockCount > 0);
  return {
    fromBlock: Math.min(query.fromBlock, Number.MAX_SAFE_INTEGER),
    toBlock: range.last,
    isSampled,
    segments: {
      total: partCount,
      examined: sample.length,
      withCandidates: isSampled
        ? Math.round((withCandidates.length / sample.length) * partCount)
        : withCandidates.length,
    },
    blocks: {
      total: totalBlocks,
      withCandidates: scaled(({ candidateBlockCount }) => candidateBlockCount),
    },
    transactions: {
      total: scaled(({ transactionCount }) => transactionCount),
      toExamine: scaled(({ candidateCount }) => candidateCount),
    },
    bytesToRead: scaled(({ byteCount }) => byteCount),
    bounds: boundsOf(results, query, totalBlocks - examinedBlocks),
  };
}

/** Adds the bounds of the examined segments. Of the other blocks only their number is known. */
function boundsOf(
  results: readonly SegmentEstimate[],
  { includeAllBlocks }: Query,
  otherBlocks: number,
): Estimate['bounds'] {
  return mapKeys(ROW_NUMBER_NAMES, (name): EstimateBounds => {
    const min = results.reduce((sum, result) => sum + result.min[name], 0);
    const max = results.reduce((sum, result) => sum + result.max[name], 0);
    if (name === 'blocks')
      return { min: min + (includeAllBlocks ? otherBlocks : 0), max: max + otherBlocks };
    return { min, max: otherBlocks > 0 ? null : max };
  });
}

/** The part of the query that the threads need. */
function selectionOf(query: Query) {
  const { fromBlock: _, toBlock: __, parentBlockHash: ___, ...selection } = query;
  return selection;
}
