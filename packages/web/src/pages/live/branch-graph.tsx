import type { RowRange } from '../../components/virtual-list.tsx';
import { toPixels } from '../../state/rem-pixels.ts';
import type { PlacedBlock } from './lay-out-branches.ts';

interface BranchGraphProps {
  readonly placed: readonly PlacedBlock[];
  readonly range: RowRange;
  readonly width: number;
  readonly rowHeight: number;
  /** The row of the newest finalized block, or -1. */
  readonly finalizedRow: number;
}

const laneRem = 1.286;
const marginRem = 1.429;
const radiusRem = 0.357;

export function graphWidth(laneCount: number): number {
  return toPixels(2 * marginRem + (Math.max(2, laneCount) - 1) * laneRem);
}

/** The tree of the visible blocks, and the line below which all blocks are final. */
export function BranchGraph({ placed, range, width, rowHeight, finalizedRow }: BranchGraphProps) {
  const x = (lane: number) => toPixels(marginRem + lane * laneRem);
  const radius = toPixels(radiusRem);
  const y = (row: number) => (row + 0.5) * rowHeight;
  const visible = placed
    .slice(range.first, range.end)
    .map((entry, i) => ({ entry, row: range.first + i }));
  // A line that crosses the visible part starts at a block above and ends at a parent below it.
  const passing = placed
    .slice(0, range.first)
    .map((entry, row) => ({ entry, row }))
    .filter(({ entry }) => (entry.parent?.row ?? -1) >= range.first);
  return (
    <>
      <svg class="graph" width={width} height={placed.length * rowHeight} aria-hidden="true">
        {[...passing, ...visible].map(({ entry: { block, lane, parent }, row }) => {
          const end = parent ?? { row: placed.length, lane };
          const bend = y(end.row) - rowHeight * 0.7;
          const path =
            end.lane === lane
              ? `M${x(lane)},${y(row)}V${y(end.row)}`
              : `M${x(lane)},${y(row)}V${bend}C${x(lane)},${y(end.row)} ${x(end.lane)},${bend} ${x(end.lane)},${y(end.row)}`;
          return (
            <path key={block.hash} d={path} class={block.isOrphaned ? 'edge orphaned' : 'edge'} />
          );
        })}
        {visible.map(({ entry: { block, lane }, row }) =>
          block.isOrphaned ? (
            <path
              key={block.hash}
              class="cross"
              d={`M${x(lane) - radius},${y(row) - radius}l${2 * radius},${2 * radius}m0,${-2 * radius}l${-2 * radius},${2 * radius}`}
            />
          ) : (
            <circle
              key={block.hash}
              cx={x(lane)}
              cy={y(row)}
              r={radius}
              class={finalizedRow >= 0 && row >= finalizedRow ? 'node finalized' : 'node'}
            />
          ),
        )}
      </svg>
      {finalizedRow >= 0 && (
        <div class="finality" style={{ transform: `translateY(${finalizedRow * rowHeight}px)` }}>
          <span>finalized below</span>
        </div>
      )}
    </>
  );
}
