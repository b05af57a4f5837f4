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
  const found = useResource(`${dataset}/${signature}`, (signal) =>
    clientOf(dataset).transaction(signature, { signal }),
  );
  if (found.kind === 'loading') return <PanelSkeleton lines={14} />;
  if (found.kind === 'failed') return <ErrorNotice error={found.error} retry={found.retry} />;
  const [view] = found.value === null ? [] : splitBlock(found.value);
  if (found.value === null || view === undefined) {
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
  return <TransactionSections dataset={dataset} header={found.value.header} view={view} />;
}
