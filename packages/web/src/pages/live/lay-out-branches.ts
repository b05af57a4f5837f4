/**
 * Places the blocks of a chain in lanes: the current branch in lane 0, each branch that lost beside it.
 *
 *   row 0   o        lane 0: current branch
 *   row 1   o  x     lane 1: a block that lost, drawn from its parent in row 3
 *   row 2   |  x
 *   row 3   o-'
 */
import type { LiveBlock } from './live-chain.ts';

export interface PlacedBlock {
  readonly block: LiveBlock;
  readonly lane: number;
  /** Row and lane of the parent; absent if the parent is not in the list. */
  readonly parent?: { readonly row: number; readonly lane: number };
}

export interface BranchLayout {
  readonly placed: readonly PlacedBlock[];
  readonly laneCount: number;
}

/** More branches side by side share the last lane. */
const laneCountMax = 5;

export function layOutBranches(blocks: readonly LiveBlock[]): BranchLayout {
  const rows = new Map(blocks.map(({ hash }, row) => [hash, row]));
  const lanes = new Map<string, number>();
  /** The lowest row index, that is the newest block, that each lane uses so far, from the bottom up. */
  const topRows: number[] = [Number.POSITIVE_INFINITY];
  // From the oldest to the newest, so that a parent is placed before its children.
  for (const [row, block] of [...blocks.entries()].reverse()) {
    const parentRow = rows.get(block.parentHash ?? '');
    const lane = block.isOrphaned ? chooseLane(block, parentRow ?? row, { lanes, topRows }) : 0;
    lanes.set(block.hash, lane);
    topRows[lane] = row;
  }
  const placed = blocks.map((block): PlacedBlock => {
    const lane = lanes.get(block.hash) ?? 0;
    const row = rows.get(block.parentHash ?? '');
    if (row === undefined) return { block, lane };
    return { block, lane, parent: { row, lane: lanes.get(block.parentHash ?? '') ?? 0 } };
  });
  return { placed, laneCount: topRows.length };
}

/** An orphaned block stays in the lane of its parent if that is free above it; a branch starts in the first free lane. */
function chooseLane(
  block: LiveBlock,
  parentRow: number,
  {
    lanes,
    topRows,
  }: { readonly lanes: ReadonlyMap<string, number>; readonly topRows: readonly number[] },
): number {
  const parentLane = lanes.get(block.parentHash ?? '') ?? 0;
  if (parentLane > 0 && topRows[parentLane] === parentRow) return parentLane;
  for (let lane = 1; lane < laneCountMax; lane++) {
    const top = topRows[lane];
    if (top === undefined || top >= parentRow) return lane;
  }
  return laneCountMax - 1;
}
