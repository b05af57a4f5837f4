import { RECORD_ARRAY_NAMES, type RecordArray } from '@sluice/protocol/field-table';
import type { Estimate, EstimateBounds } from '@sluice/protocol/lookup-results';
import { mapKeys } from '@sluice/protocol/typed-keys';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import { selectableArrays } from '../../engine/group-table.ts';
import { ROW_NUMBER_NAMES, type SegmentEstimate } from '../../engine/lookup/estimate-segment.ts';
import type { Lookup } from '../../engine/lookup/lookup.ts';
import { relationsOf } from '../../engine/plan-items.ts';
import type { Query } from '../../query/query.ts';
import { LOOKUP_LIMITS } from './lookup-limits.ts';
import type { SegmentLookups } from './segment-lookups.ts';
import {
  blockCountOf,
  type SampledParts,
  sampleHotBlocks,
  sampleSegments,
} from './snapshot-parts.ts';

/**
 * Adds up the estimates of the segments of the query's range, or of a sample of them. Hot blocks are small segments in memory, so they have
 * a limit of their own: before the first segment is sealed, a dataset has up to a thousand of them.
 */
export async function estimateQuery(
  query: Query,
  snapshot: ChainSnapshot,
  lookups: SegmentLookups,
  signal: AbortSignal,
): Promise<Estimate> {
  const head = snapshot.head?.number ?? -1;
  const range = { first: query.fromBlock, last: Math.min(query.toBlock ?? Infinity, head) };
  const lookup = { kind: 'estimate', selection: selectionOf(query), range } as const;
  const { estimateSegmentCountMax, estimateHotBlockCountMax } = LOOKUP_LIMITS;
  const { readList } = lookups;
  const sampled = [
    await sampleSegments(snapshot, range, estimateSegmentCountMax, readList),
    sampleHotBlocks(snapshot, range, estimateHotBlockCountMax),
  ];
  const estimates: SampleEstimate[] = [];
  for (const parts of sampled) estimates.push(await examine(parts, lookup, lookups, signal));
  const sum = (count: (estimate: SampleEstimate) => number) =>
    Math.round(estimates.reduce((total, estimate) => total + count(estimate), 0));
  const scaled = (count: (estimate: SegmentEstimate) => number) =>
    sum(({ results, scale }) => scale * results.reduce((total, each) => total + count(each), 0));
  return {
    fromBlock: Math.min(query.fromBlock, Number.MAX_SAFE_INTEGER),
    toBlock: range.last,
    isSampled: estimates.some(({ results, partCount }) => results.length < partCount),
    segments: {
      total: sum(({ partCount }) => partCount),
      examined: sum(({ results }) => results.length),
      withCandidates: sum(({ results, partCount }) => {
        const found = results.filter(({ candidateBlockCount }) => candidateBlockCount > 0).length;
        return found === 0 ? 0 : (found / results.length) * partCount;
      }),
    },
    blocks: {
      total: sum(({ blockCount }) => blockCount),
      withCandidates: scaled(({ candidateBlockCount }) => candidateBlockCount),
    },
    transactions: {
      total: scaled(({ transactionCount }) => transactionCount),
      toExamine: scaled(({ candidateCount }) => candidateCount),
    },
    bytesToRead: scaled(({ byteCount }) => byteCount),
    bounds: boundsOf(
      estimates.flatMap(({ results }) => results),
      query,
      sum(({ otherBlockCount }) => otherBlockCount),
    ),
  };
}

/** The estimates of a sample of segments or of hot blocks. */
interface SampleEstimate {
  readonly results: readonly SegmentEstimate[];
  /** How many segments or hot blocks the range has. */
  readonly partCount: number;
  /** How many blocks the range has in them, and how many of these were not examined. */
  readonly blockCount: number;
  readonly otherBlockCount: number;
  readonly scale: number;
}

async function examine(
  { parts, partCount, blockCount }: SampledParts,
  lookup: Extract<Lookup, { kind: 'estimate' }>,
  lookups: SegmentLookups,
  signal: AbortSignal,
): Promise<SampleEstimate> {
  const results = await lookups.run(parts, lookup, signal);
  const examinedBlocks = results.reduce((sum, result) => sum + result.blockCount, 0);
  // Only the first and the last segment can be partly in the range, and both are always in the sample.
  const sampledBlocks = parts.reduce((sum, part) => sum + blockCountOf(part), 0);
  const otherBlockCount = blockCount - sampledBlocks;
  const total = examinedBlocks + otherBlockCount;
  const scale = examinedBlocks === 0 ? 1 : total / examinedBlocks;
  return { results, partCount, blockCount: total, otherBlockCount, scale };
}

/** Adds the bounds of the examined segments. Of the other blocks only their number is known. */
function boundsOf(
  results: readonly SegmentEstimate[],
  query: Query,
  otherBlocks: number,
): Estimate['bounds'] {
  const selected = selectedArrays(query);
  const { includeAllBlocks } = query;
  return mapKeys(ROW_NUMBER_NAMES, (name): EstimateBounds => {
    const min = results.reduce((sum, result) => sum + result.min[name], 0);
    const max = results.reduce((sum, result) => sum + result.max[name], 0);
    if (name !== 'blocks') return { min, max: otherBlocks > 0 && selected.has(name) ? null : max };
    const canHaveLines = includeAllBlocks || selected.size > 0;
    return {
      min: min + (includeAllBlocks ? otherBlocks : 0),
      max: max + (canHaveLines ? otherBlocks : 0),
    };
  });
}

/** Returns the kinds of records that the query can select in any segment. */
function selectedArrays(query: Query): ReadonlySet<RecordArray> {
  const items = RECORD_ARRAY_NAMES.flatMap((array) =>
    query[array].map((item) => ({ array, relations: relationsOf(array, item) })),
  );
  return selectableArrays(items);
}

/** The part of the query that the threads need. */
function selectionOf(query: Query) {
  const { fromBlock: _, toBlock: __, parentBlockHash: ___, ...selection } = query;
  return selection;
}
