/**
 * Places the blocks of a chain in lanes: the current branch in lane 0, each orphaned branch in another lane.
 *
 *   row 0   o        lane 0: current branch
 *   row 1   o  x     lane 1: an orphaned block, connected to its parent in row 3
 *   row 2   |  x
 *   row 3   o-'
 */
import type { LiveBlock } from './live-chain.ts';

export interface PlacedBlock {
  readonly block: LiveBlock;
  readonly lane: number;
  /** The row and lane of the parent; absent if the parent is not in the list. */
  readonly parent?: { readonly row: number; readonly lane: number };
}

export interface BranchLayout {
  readonly placed: readonly PlacedBlock[];
  readonly laneCount: number;
}

/** With more parallel branches, the others share the last lane. */
const laneCountMax = 5;

export function layOutBranches(blocks: readonly LiveBlock[]): BranchLayout {
  const rows = new Map(blocks.map(({ hash }, row) => [hash, row]));
  const lanes = new Map<string, number>();
  /** For each lane, the smallest row index (the newest block) that it uses so far. */
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

/** An orphaned block stays in the lane of its parent if that lane is free above it. Otherwise it starts in the first free lane. */
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
