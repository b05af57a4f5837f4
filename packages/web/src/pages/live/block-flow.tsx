import { useMemo } from 'preact/hooks';
import { formatInteger, formatTime, formatTimeOfDay, shorten } from '../../base/format.ts';
import { type RowRange, VirtualList } from '../../components/virtual-list.tsx';
import { pagePath } from '../../state/page-path.ts';
import { toPixels } from '../../state/rem-pixels.ts';
import { BranchGraph, graphWidth } from './branch-graph.tsx';
import { layOutBranches, type PlacedBlock } from './lay-out-branches.ts';
import type { LiveChain } from './live-chain.ts';

const rowRem = 2.571;

interface BlockFlowProps {
  readonly dataset: string;
  readonly chain: LiveChain;
}

export function BlockFlow({ dataset, chain }: BlockFlowProps) {
  const { placed, laneCount } = useMemo(() => layOutBranches(chain.blocks), [chain.blocks]);
  const countMax = useMemo(
    () => Math.max(1, ...chain.blocks.map(({ transactionCount }) => transactionCount)),
    [chain.blocks],
  );
  const width = graphWidth(laneCount);
  const finalizedRow = placed.findIndex(
    ({ block }) => !block.isOrphaned && block.number <= (chain.finalized ?? -1),
  );
  const behind = (range: RowRange) => (
    <BranchGraph
      placed={placed}
      range={range}
      width={width}
      rowHeight={toPixels(rowRem)}
      finalizedRow={finalizedRow}
    />
  );
  return (
    <section class="panel" aria-label="Blocks">
      <VirtualList
        class="flow"
        label="Blocks, the newest first"
        rowCount={placed.length}
        rowHeight={toPixels(rowRem)}
        addedAtTop={chain.addedCount}
        rowKey={(row) => placed[row]?.block.hash ?? String(row)}
        renderBehind={behind}
        head={<FlowHead indent={width} />}
        renderRow={(row) => {
          const entry = placed[row];
          if (entry === undefined) return null;
          return (
            <FlowRow
              entry={entry}
              dataset={dataset}
              indent={width}
              share={entry.block.transactionCount / countMax}
              isFinalized={finalizedRow >= 0 && row >= finalizedRow && !entry.block.isOrphaned}
            />
          );
        }}
      />
    </section>
  );
}

function FlowHead({ indent }: { readonly indent: number }) {
  return (
    <div class="flow-row column-heads" style={{ paddingLeft: `${indent}px` }}>
      <span>Slot</span>
      <span class="flow-hash">Hash</span>
      <span class="flow-count">Transactions</span>
      <span class="flow-bar" />
      <span class="flow-time">Time, UTC</span>
      <span class="flow-state">State</span>
      <span class="flow-skipped" />
    </div>
  );
}

interface FlowRowProps {
  readonly entry: PlacedBlock;
  readonly dataset: string;
  readonly indent: number;
  /** The number of transactions as a share of the largest block. */
  readonly share: number;
  readonly isFinalized: boolean;
}

function FlowRow({ entry: { block }, dataset, indent, share, isFinalized }: FlowRowProps) {
  const skipped = block.number - block.parentSlot - 1;
  return (
    <div
      class={block.isOrphaned ? 'flow-row orphaned' : 'flow-row'}
      style={{ paddingLeft: `${indent}px` }}
    >
      <span class="flow-slot">
        {block.isOrphaned ? (
          <s>{formatInteger(block.number)}</s>
        ) : (
          <a href={pagePath.block(dataset, block.number)}>{formatInteger(block.number)}</a>
        )}
      </span>
      <span class="flow-hash hash muted" title={block.hash}>
        {shorten(block.hash, 6)}
      </span>
      <span class="flow-count">{formatInteger(block.transactionCount)}</span>
      <span class="flow-bar" aria-hidden="true">
        <span class="bar" style={{ width: `${Math.max(1, share * 100)}%` }} />
      </span>
      <span
        class="flow-time muted"
        title={block.timestamp === null ? '' : formatTime(block.timestamp)}
      >
        {block.timestamp === null ? '' : formatTimeOfDay(block.timestamp)}
      </span>
      <span class="flow-state">
        {block.isOrphaned ? (
          <span class="badge bad">Orphaned</span>
        ) : isFinalized ? (
          <span class="ok">Finalized</span>
        ) : (
          <span class="muted">Unfinalized</span>
        )}
      </span>
      <span class="flow-skipped muted small">{skipped > 0 && `${skipped} skipped before`}</span>
    </div>
  );
}
