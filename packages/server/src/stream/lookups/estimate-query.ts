import { elementAt } from '@sluice/base/element-at';
import type { Estimate } from '@sluice/protocol/lookup-answers';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import type { SegmentEstimate } from '../../engine/lookup/estimate-segment.ts';
import type { Query } from '../../query/query.ts';
import { LOOKUP_LIMITS } from './lookup-limits.ts';
import type { SegmentLookups } from './segment-lookups.ts';
import { blockCountOf, listParts, type SnapshotPart } from './snapshot-parts.ts';

/** Adds up the estimates of the segments of the query's range, or of a sample of them. */
export async function estimateQuery(
  query: Query,
  snapshot: ChainSnapshot,
  lookups: SegmentLookups,
  signal: AbortSignal,
): Promise<Estimate> {
  const head = snapshot.head?.number ?? -1;
  const range = { first: query.fromBlock, last: Math.min(query.toBlock ?? Infinity, head) };
  const parts = listParts(snapshot, range);
  const sample = takeEvenly(parts, LOOKUP_LIMITS.estimateSegmentCountMax);
  const lookup = { kind: 'estimate', selection: selectionOf(query), range } as const;
  const results = await lookups.run(sample, lookup, signal);
  const isSampled = sample.length < parts.length;
  const sum = (count: (estimate: SegmentEstimate) => number) =>
    results.reduce((total, estimate) => total + count(estimate), 0);
  const examinedBlocks = sum(({ blockCount }) => blockCount);
  const sampled = new Set(sample);
  // Only the first and the last segment can be partly in the range, and both are always in the sample.
  const otherBlocks = parts
    .filter((part) => !sampled.has(part))
    .reduce((total, part) => total + blockCountOf(part), 0);
  const totalBlocks = examinedBlocks + otherBlocks;
  const scale = examinedBlocks === 0 ? 1 : totalBlocks / examinedBlocks;
  const scaled = (count: (estimate: SegmentEstimate) => number) => Math.round(sum(count) * scale);
  const withCandidates = results.filter(({ candidateBlockCount }) => candidateBlockCount > 0);
  return {
    fromBlock: Math.min(query.fromBlock, Number.MAX_SAFE_INTEGER),
    toBlock: range.last,
    isSampled,
    segments: {
      total: parts.length,
      examined: sample.length,
      withCandidates: isSampled
        ? Math.round((withCandidates.length / sample.length) * parts.length)
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
  };
}

/** Returns up to `countMax` evenly distributed parts, including the first and the last. */
function takeEvenly(parts: readonly SnapshotPart[], countMax: number): readonly SnapshotPart[] {
  if (parts.length <= countMax) return parts;
  const step = (parts.length - 1) / (countMax - 1);
  return Array.from({ length: countMax }, (_, i) => elementAt(parts, Math.round(i * step)));
}

/** The part of the query that the threads need. */
function selectionOf(query: Query) {
  const { fromBlock: _, toBlock: __, parentBlockHash: ___, ...selection } = query;
  return selection;
}
