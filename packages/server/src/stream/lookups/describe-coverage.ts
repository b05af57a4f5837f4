import type { BlockHeader } from '@sluice/ledger/block';
import type { Coverage, CoverageRange } from '@sluice/protocol/lookup-results';
import type { ChainSnapshot } from '../../chain/chain-snapshot.ts';
import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import type { BlockRange } from '../../engine/segment-run.ts';
import { LOOKUP_LIMITS } from './lookup-limits.ts';
import { lastSlotOf, oldestParts, type SnapshotPart } from './snapshot-parts.ts';

const REASONS = {
  stored: 'the blocks are stored and final',
  skipped: 'these slots have no block: the parent of the next block is below them',
  notFinal: 'these slots can still change: their blocks, or the block above them, are not final',
  below: 'these slots are below the first slot of the dataset',
  above: 'these slots are above the head of the dataset',
} as const;

/** Says for each slot of a range whether the dataset has its block, from the start of the range, within the limits of one request. */
export async function describeCoverage(
  { first, last }: BlockRange,
  snapshot: ChainSnapshot,
  dataset: DatasetReader,
): Promise<Coverage> {
  const ranges = new RangeList();
  const start: number = snapshot.start ?? 0;
  const head: number = snapshot.head?.number ?? start - 1;
  ranges.add('missing', first, Math.min(last, start - 1), REASONS.below);
  const from = Math.max(first, start);
  const to = Math.min(last, head, from + LOOKUP_LIMITS.coverageSlotCountMax - 1);
  const limits = { segmentCountMax: LOOKUP_LIMITS.segmentCountMax, byteCountMax: Infinity };
  const { parts, isCut } = await oldestParts(
    snapshot,
    { first: from, last: to },
    limits,
    dataset.readList,
  );
  const lastPart = parts.at(-1);
  const end = isCut && lastPart !== undefined ? lastSlotOf(lastPart) : to;
  await addBlocks(ranges, { first: from, last: end }, parts, { snapshot, dataset });
  const isComplete = end === Math.min(last, head) || last < start || from > head;
  if (isComplete) ranges.add('missing', Math.max(first, head + 1), last, REASONS.above);
  return {
    fromBlock: first,
    toBlock: isComplete ? last : end,
    isComplete,
    slots: ranges.slots,
    ranges: ranges.list,
  };
}

/** Adds the slots of blocks, and the slots without a block between them. The range is not above the head. */
async function addBlocks(
  ranges: RangeList,
  { first, last }: BlockRange,
  parts: readonly SnapshotPart[],
  { snapshot, dataset }: { readonly snapshot: ChainSnapshot; readonly dataset: DatasetReader },
): Promise<void> {
  const finalized: number = snapshot.finalized?.number ?? -1;
  const add = (state: 'stored' | 'skipped', from: number, to: number, isFinal: boolean) =>
    ranges.add(isFinal ? state : 'notFinal', from, to, REASONS[isFinal ? state : 'notFinal']);
  let next = first;
  for (const part of parts) {
    for (const { number } of await headersOf(part, dataset)) {
      if (number < next) continue;
      // The parent of this block is the block before it, so the ledger has no block in the slots between them.
      add('skipped', next, Math.min(number - 1, last), number <= finalized);
      if (number > last) return;
      add('stored', number, number, number <= finalized);
      next = number + 1;
    }
  }
  // The next block is in a segment above the range.
  add('skipped', next, last, last < finalized);
}

async function headersOf(
  part: SnapshotPart,
  dataset: DatasetReader,
): Promise<readonly Pick<BlockHeader, 'number'>[]> {
  return part.kind === 'hot' ? [part.block.header] : dataset.readHeaders(part.segment);
}

class RangeList {
  readonly list: CoverageRange[] = [];
  readonly slots = { stored: 0, skipped: 0, notFinal: 0, missing: 0 };

  /** Adds slots after those that were added before. Does nothing if the range is empty. */
  add(state: CoverageRange['state'], from: number, to: number, reason: string): void {
    if (from > to) return;
    this.slots[state] += to - from + 1;
    const before = this.list.at(-1);
    if (before?.reason === reason) this.list[this.list.length - 1] = { ...before, to };
    else this.list.push({ from, to, state, reason });
  }
}
