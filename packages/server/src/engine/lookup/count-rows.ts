import type { Steps } from '@sluice/base/time-slices';
import { RECORD_ARRAY_NAMES, type RecordArray } from '@sluice/protocol/field-table';
import type { Selection } from '../../query/query.ts';
import type { EngineSegment } from '../engine-segment.ts';
import type { BlockRange, RunOptions, SegmentRun } from '../segment-run.ts';
import { emptyCount, type RowCount, RowCounter } from './row-counter.ts';

export interface CountLookup<S = Selection> {
  readonly kind: 'count';
  readonly selection: S;
  readonly range: BlockRange;
}

/** Counts the records that a query selects in one segment. */
export function* countRows(
  { selection, range }: CountLookup,
  open: EngineSegment,
  begin: (selection: Selection, options: RunOptions) => SegmentRun,
): Steps<RowCount> {
  const whole = wholeArrays(selection);
  if (whole !== undefined) return countStored(whole, selection, range, open);
  let counter: RowCounter | undefined;
  const run = begin(selection, {
    range,
    writer: (segment, kernel) => {
      counter = new RowCounter(segment, kernel, selection.includeAllBlocks);
      return counter;
    },
  });
  try {
    for (const _ of run.pieces()) yield;
  } finally {
    run.release();
  }
  return counter?.count ?? emptyCount();
}

/** Returns the kinds whose records are all selected, or undefined if a filter or a relation selects some. */
function wholeArrays(selection: Selection): readonly RecordArray[] | undefined {
  const arrays = RECORD_ARRAY_NAMES.filter((array) => selection[array].length > 0);
  const isWhole = arrays.every((array) =>
    selection[array].every(
      ({ filters, relations }) =>
        Object.keys(filters).length === 0 && !Object.values(relations).includes(true),
    ),
  );
  return isWhole ? arrays : undefined;
}

/** Counts from the segment's table of blocks, without reading records. */
function countStored(
  arrays: readonly RecordArray[],
  { includeAllBlocks }: Selection,
  { first, last }: BlockRange,
  { segment }: EngineSegment,
): RowCount {
  const { headers, counts } = segment;
  const sum = emptyCount();
  const end = headers.firstAtOrAfter(last + 1);
  for (let block = headers.firstAtOrAfter(first); block < end; block++) {
    let total = 0;
    for (const array of arrays) {
      const count = counts[array].at(block);
      sum[array] += count;
      total += count;
    }
    if (total === 0 && !includeAllBlocks) continue;
    sum.blocks++;
    sum.firstBlock ??= headers.numberAt(block);
    sum.lastBlock = headers.numberAt(block);
  }
  return sum;
}
