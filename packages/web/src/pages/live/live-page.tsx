import { useState } from 'preact/hooks';
import { formatInteger, plural } from '../../base/format.ts';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { PanelSkeleton } from '../../components/skeleton.tsx';
import { useTitle } from '../../components/use-title.ts';
import type { PageProps } from '../../page-props.ts';
import { BlockFlow } from './block-flow.tsx';
import { CallFlow } from './call-flow.tsx';
import type { LiveChain } from './live-chain.ts';
import { TransactionPlot } from './transaction-plot.tsx';
import { useLiveChain } from './use-live-chain.ts';
import './live.css';

export function LivePage({ parameters }: PageProps) {
  const [dataset = ''] = parameters;
  useTitle(`Live · ${dataset}`);
  const { chain, error } = useLiveChain(dataset);
  const [paused, setPaused] = useState<LiveChain | null>(null);
  const shown = paused ?? chain;
  return (
    <div class="stack">
      <div class="page-head">
        <div>
          <h1>Live</h1>
          <p>
            New blocks of {dataset} as they are stored. A fork is shown as a branch whose blocks are
            crossed out.
          </p>
        </div>
        <button
          type="button"
          class="button"
          aria-pressed={paused !== null}
          onClick={() => setPaused(paused === null ? chain : null)}
        >
          {paused === null ? 'Pause' : `Resume (${plural(newCount(paused, chain), 'new block')})`}
        </button>
      </div>
      {error !== undefined && <ErrorNotice error={error} slim />}
      {shown.blocks.length === 0 ? (
        error === undefined && <PanelSkeleton lines={12} />
      ) : (
        <>
          <div class="panel">
            <LiveFigures chain={shown} />
            <TransactionPlot blocks={shown.blocks} />
          </div>
          <BlockFlow dataset={dataset} chain={shown} />
          <CallFlow dataset={dataset} />
        </>
      )}
    </div>
  );
}

function newCount(paused: LiveChain, chain: LiveChain): number {
  const last = paused.blocks[0]?.number ?? 0;
  return chain.blocks.filter(({ number, isOrphaned }) => number > last && !isOrphaned).length;
}

function LiveFigures({ chain }: { readonly chain: LiveChain }) {
  const head = chain.blocks.find(({ isOrphaned }) => !isOrphaned);
  const orphanedCount = chain.blocks.filter(({ isOrphaned }) => isOrphaned).length;
  const distance =
    head === undefined || chain.finalized === null ? null : head.number - chain.finalized;
  return (
    <dl class="figures live-figures">
      <div>
        <dt>Head</dt>
        <dd>{head === undefined ? '–' : formatInteger(head.number)}</dd>
      </div>
      <div>
        <dt>Finalized</dt>
        <dd>{chain.finalized === null ? '–' : formatInteger(chain.finalized)}</dd>
      </div>
      <div>
        <dt>Slots to finality</dt>
        <dd>{distance === null ? '–' : formatInteger(distance)}</dd>
      </div>
      <div>
        <dt>Forks seen</dt>
        <dd>{formatInteger(chain.forkCount)}</dd>
      </div>
      <div>
        <dt>Orphaned blocks</dt>
        <dd>{formatInteger(orphanedCount)}</dd>
      </div>
    </dl>
  );
}
