import { shorten } from '../../base/format.ts';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Notice } from '../../components/notice.tsx';
import { PanelSkeleton } from '../../components/skeleton.tsx';
import { useTitle } from '../../components/use-title.ts';
import { splitBlock } from '../../ledger/transaction-view.ts';
import type { PageProps } from '../../page-props.ts';
import { clientOf } from '../../state/clients.ts';
import { pagePath } from '../../state/page-path.ts';
import { useResource } from '../../state/use-resource.ts';
import { TransactionSections } from './transaction-sections.tsx';
import './transaction.css';

export function TransactionPage({ parameters }: PageProps) {
  const [dataset = '', signature = ''] = parameters;
  useTitle(`Transaction ${shorten(signature)}`);
  const resource = useResource(`${dataset}/${signature}`, (signal) =>
    clientOf(dataset).transaction(signature, { signal }),
  );
  if (resource.kind === 'loading') return <PanelSkeleton lines={14} />;
  if (resource.kind === 'failed')
    return <ErrorNotice error={resource.error} retry={resource.retry} />;
  const [view] = resource.value === null ? [] : splitBlock(resource.value);
  if (resource.value === null || view === undefined) {
    return (
      <div class="panel">
        <Notice title="No transaction has this signature">
          <p class="hash">{signature}</p>
          <p>
            {dataset} holds no such transaction: it may be in another dataset, below the first
            stored slot, on a branch that was orphaned, or a vote, which most datasets do not store.
          </p>
          <a class="button" href={pagePath.live(dataset)}>
            Watch the newest blocks
          </a>
        </Notice>
      </div>
    );
  }
  return <TransactionSections dataset={dataset} header={resource.value.header} view={view} />;
}
