import type { FullBlock } from '@sluice/client';
import { formatInteger, formatLamports, formatTime } from '../../base/format.ts';
import { writeJson } from '../../base/write-json.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { Fact } from '../../components/facts.tsx';
import { AddressLink, SlotLink } from '../../components/ledger-links.tsx';
import { Panel } from '../../components/panel.tsx';
import { RawText } from '../../components/raw-text.tsx';
import { explainError } from '../../ledger/explain-error.ts';
import { failedProgram, signatureOf, type TransactionView } from '../../ledger/transaction-view.ts';
import { AccountList } from './account-list.tsx';
import { BalanceChanges } from './balance-changes.tsx';
import { CallTree } from './call-tree.tsx';
import { LogList } from './log-list.tsx';

interface TransactionSectionsProps {
  readonly dataset: string;
  readonly header: FullBlock['header'];
  readonly view: TransactionView;
}

export function TransactionSections({ dataset, header, view }: TransactionSectionsProps) {
  const { transaction } = view;
  return (
    <div class="stack">
      <div class="page-head">
        <div>
          <h1>Transaction</h1>
          <p class="hash">
            {signatureOf(transaction)}
            <CopyButton text={signatureOf(transaction)} label="signature" />
          </p>
        </div>
        <StateBadges header={header} isFailed={transaction.err !== null} />
      </div>
      <TransactionError view={view} />
      <TransactionFacts dataset={dataset} header={header} view={view} />
      <CallTree dataset={dataset} view={view} />
      <BalanceChanges dataset={dataset} view={view} />
      <LogList view={view} />
      <AccountList dataset={dataset} transaction={transaction} />
      <Panel title="Raw records">
        <details>
          <summary>All records of this transaction as JSON</summary>
          <RawText text={writeJson(view, 2)} />
        </details>
      </Panel>
    </div>
  );
}

interface StateBadgesProps {
  readonly header: FullBlock['header'];
  readonly isFailed: boolean;
}

function StateBadges({ header, isFailed }: StateBadgesProps) {
  const isFinalized = header.number <= (header.finalizedHead?.number ?? -1);
  return (
    <div class="row">
      <span class={isFailed ? 'badge bad' : 'badge ok'}>{isFailed ? 'Failed' : 'Succeeded'}</span>
      <span class={isFinalized ? 'badge ok' : 'badge'}>
        {isFinalized ? 'Finalized' : 'Unfinalized'}
      </span>
    </div>
  );
}

function TransactionError({ view }: { readonly view: TransactionView }) {
  const { err } = view.transaction;
  if (err === null) return null;
  const { title, text } = explainError(err, failedProgram(view));
  return (
    <div class="callout bad">
      <strong>{title}.</strong> {text}{' '}
      <span class="muted">It changed nothing but the balance of its fee payer.</span>
    </div>
  );
}

function TransactionFacts({ dataset, header, view }: TransactionSectionsProps) {
  const { transaction } = view;
  return (
    <div class="panel panel-body">
      <dl class="facts">
        <Fact label="Slot">
          <SlotLink dataset={dataset} slot={header.number} />
        </Fact>
        <Fact label="Index in the block">{formatInteger(transaction.transactionIndex)}</Fact>
        <Fact label="Time">
          {header.timestamp === null ? 'unknown' : formatTime(header.timestamp)}
        </Fact>
        <Fact label="Fee">
          {transaction.fee === null ? 'unknown' : formatLamports(transaction.fee)}
        </Fact>
        <Fact label="Compute units">
          {transaction.computeUnitsConsumed === null
            ? 'unknown'
            : formatInteger(transaction.computeUnitsConsumed)}
        </Fact>
        <Fact label="Version">
          {transaction.version === -1 ? 'legacy' : String(transaction.version)}
        </Fact>
        <Fact label="Instructions">{formatInteger(view.instructions.length)}</Fact>
        <Fact label="Fee payer" wide>
          <AddressLink dataset={dataset} address={transaction.feePayer} full />
        </Fact>
      </dl>
    </div>
  );
}
