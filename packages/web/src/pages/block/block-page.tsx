import { isSluiceError } from '@sluice/client';
import { useEffect } from 'preact/hooks';
import { formatInteger, formatTime } from '../../base/format.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Fact } from '../../components/facts.tsx';
import { SlotLink } from '../../components/ledger-links.tsx';
import { PanelSkeleton } from '../../components/skeleton.tsx';
import { useTitle } from '../../components/use-title.ts';
import { signatureOf, splitBlock, type TransactionView } from '../../ledger/transaction-view.ts';
import type { PageProps } from '../../page-props.ts';
import { clientOf } from '../../state/clients.ts';
import { pagePath } from '../../state/page-path.ts';
import { navigate, route } from '../../state/router.ts';
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
  const views = splitBlock(block);
  const linked = findLinked(views, route.value.search);
  if (linked !== undefined)
    return (
      <Redirect
        to={`${pagePath.transaction(dataset, signatureOf(linked.view.transaction))}?call=${linked.call}`}
      />
    );
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
      <BlockTransactions dataset={dataset} views={views} />
      <RewardList dataset={dataset} rewards={block.rewards} />
    </div>
  );
}

/** Returns the transaction that a link to a call means, whose signature the link does not have. */
function findLinked(views: readonly TransactionView[], search: string) {
  const parameters = new URLSearchParams(search);
  const index = parameters.get('transaction');
  if (index === null) return undefined;
  const view = views.find(({ transaction }) => String(transaction.transactionIndex) === index);
  return view === undefined ? undefined : { view, call: parameters.get('call') ?? '' };
}

function Redirect({ to }: { readonly to: string }) {
  useEffect(() => navigate(to, { replace: true }), [to]);
  return null;
}
