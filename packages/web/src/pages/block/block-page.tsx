import { isSluiceError } from '@sluice/client';
import { formatInteger, formatTime } from '../../base/format.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Fact } from '../../components/facts.tsx';
import { SlotLink } from '../../components/ledger-links.tsx';
import { PanelSkeleton } from '../../components/skeleton.tsx';
import { useTitle } from '../../components/use-title.ts';
import { splitBlock } from '../../ledger/transaction-view.ts';
import type { PageProps } from '../../page-props.ts';
import { clientOf } from '../../state/clients.ts';
import { pagePath } from '../../state/page-path.ts';
import { useResource } from '../../state/use-resource.ts';
import { BlockTransactions } from './block-transactions.tsx';
import { MissingBlock } from './missing-block.tsx';
import { RewardList } from './reward-list.tsx';
import './block.css';

export function BlockPage({ parameters }: PageProps) {
  const [dataset = '', slotText = ''] = parameters;
  const slot = Number(slotText);
  useTitle(`Block ${formatInteger(slot)}`);
  const resource = useResource(`${dataset}/${slot}`, (signal) =>
    clientOf(dataset).block(slot, { signal }),
  );
  if (resource.kind === 'loading') return <PanelSkeleton lines={14} />;
  if (resource.kind === 'failed') {
    const code = isSluiceError(resource.error) ? resource.error.reply?.code : undefined;
    if (code?.startsWith('slot-') === true) {
      return <MissingBlock dataset={dataset} slot={slot} code={code} />;
    }
    return <ErrorNotice error={resource.error} retry={resource.retry} />;
  }
  const block = resource.value;
  const { header } = block;
  const isFinalized = header.number <= (header.finalizedHead?.number ?? -1);
  const counts = header.recordCounts;
  return (
    <div class="stack">
      <div class="page-head">
        <div>
          <h1>Block {formatInteger(header.number)}</h1>
          <p class="hash">
            {header.hash}
            <CopyButton text={header.hash} label="hash" />
          </p>
        </div>
        <div class="row">
          <span class={isFinalized ? 'badge ok' : 'badge'}>
            {isFinalized ? 'Finalized' : 'Unfinalized'}
          </span>
          {header.parentSlot < header.number && (
            <a class="button" href={pagePath.block(dataset, header.parentSlot)} rel="prev">
              Parent
            </a>
          )}
          <a class="button" href={pagePath.block(dataset, header.number + 1)} rel="next">
            Next slot
          </a>
        </div>
      </div>
      <div class="panel panel-body">
        <dl class="facts">
          <Fact label="Time">
            {header.timestamp === null ? 'unknown' : formatTime(header.timestamp)}
          </Fact>
          <Fact label="Height">
            {header.height === null ? 'unknown' : formatInteger(header.height)}
          </Fact>
          <Fact label="Parent slot">
            <SlotLink dataset={dataset} slot={header.parentSlot} />
          </Fact>
          <Fact label="Transactions">{formatInteger(counts.transactions)}</Fact>
          <Fact label="Instructions">{formatInteger(counts.instructions)}</Fact>
          <Fact label="Logs">{formatInteger(counts.logs)}</Fact>
          <Fact label="Balance changes">{formatInteger(counts.balances)}</Fact>
          <Fact label="Token balances">{formatInteger(counts.tokenBalances)}</Fact>
          <Fact label="Rewards">{formatInteger(counts.rewards)}</Fact>
          <Fact label="Parent hash" wide>
            <span class="hash">{header.parentHash ?? 'unknown'}</span>
          </Fact>
        </dl>
      </div>
      <BlockTransactions dataset={dataset} views={splitBlock(block)} />
      <RewardList dataset={dataset} rewards={block.rewards} />
    </div>
  );
}
