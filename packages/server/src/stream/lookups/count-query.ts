import type { RecordCount } from '@sluice/protocol/lookup-results';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import { addCount, emptyCount } from '../../engine/lookup/row-counter.ts';
import type { Query } from '../../query/query.ts';
import { conditionsOf, openHistoryFilter } from '../history-filter.ts';
import { LOOKUP_LIMITS } from './lookup-limits.ts';
import type { SegmentLookups } from './segment-lookups.ts';
import { lastSlotOf, oldestParts } from './snapshot-parts.ts';

export interface CountDependencies {
  readonly dataset: DatasetReader;
  readonly lookups: SegmentLookups;
}

const countedTogether = 8;

/** Counts the records that a query selects, from the start of its range, within the limits of one request. */
export async function countQuery(
  query: Query,
  snapshot: ChainSnapshot,
  { dataset, lookups }: CountDependencies,
  signal: AbortSignal,
): Promise<RecordCount> {
  const { fromBlock, toBlock, parentBlockHash: _, ...selection } = query;
  const range = {
    first: fromBlock,
    last: Math.min(toBlock ?? Infinity, snapshot.head?.number ?? -1),
  };
  const conditions = conditionsOf(selection);
  const mayHave =
    conditions === undefined ? undefined : await openHistoryFilter(conditions, snapshot, dataset);
  const limits = {
    segmentCountMax: LOOKUP_LIMITS.segmentCountMax,
    byteCountMax: LOOKUP_LIMITS.countByteCountMax,
    mayHave,
  };
  const { parts, isCut } = await oldestParts(snapshot, range, limits, lookups.readList);
  const sum = emptyCount();
  const lookup = { kind: 'count', selection, range } as const;
  // A client that disconnects ends the count before the next few segments, which may be large.
  for (let at = 0; at < parts.length; at += countedTogether)
    for (const count of await lookups.run(parts.slice(at, at + countedTogether), lookup, signal))
      addCount(sum, count);
  const last = parts.at(-1);
  return {
    fromBlock: Math.min(fromBlock, Number.MAX_SAFE_INTEGER),
    toBlock: isCut && last !== undefined ? lastSlotOf(last) : range.last,
    isComplete: !isCut,
    ...sum,
  };
}
