import type { FullBlock } from '@sluice/client';
import { formatChange, formatInteger, formatTime } from '../../base/format.ts';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { AddressLink, SignatureLink, SlotLink } from '../../components/ledger-links.tsx';
import { Notice } from '../../components/notice.tsx';
import { Outcome } from '../../components/outcome.tsx';
import { Panel } from '../../components/panel.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { mintSymbol } from '../../ledger/address-names.ts';
import {
  programsOf,
  signatureOf,
  splitBlock,
  type TransactionView,
} from '../../ledger/transaction-view.ts';
import { useHistory } from './use-history.ts';

interface AccountHistoryProps {
  readonly dataset: string;
  readonly address: string;
  /** Whether the address is shown as a program, whose own balances rarely change. */
  readonly isProgram?: boolean;
}

export function AccountHistory({ dataset, address, isProgram = false }: AccountHistoryProps) {
  const { entries, isLoading, isComplete, error, loadMore } = useHistory(dataset, address);
  const isEmpty = entries.length === 0 && !isLoading && error === undefined;
  return (
    <Panel
      title="Transactions"
      aside={
        entries.length > 0 && (
          <span class="muted small">the newest {formatInteger(entries.length)} first</span>
        )
      }
      flush
    >
      {isEmpty && isComplete ? (
        <Notice title="No transaction names this address" slim>
          <p>
            The dataset has no transaction with it in any role: account, program, mint or owner.
          </p>
        </Notice>
      ) : (
        <ol class="plain history">
          <li class="history-row column-heads" aria-hidden="true">
            <span />
            <span>Signature</span>
            <span>Programs</span>
            <span class="history-changes">{!isProgram && 'Change for this address'}</span>
            <span class="history-slot">Slot</span>
            <span class="history-time">Time</span>
          </li>
          {entries.map((entry) => (
            <Entry key={keyOf(entry)} dataset={dataset} address={address} entry={entry} />
          ))}
        </ol>
      )}
      {error !== undefined && <ErrorNotice error={error} retry={loadMore} slim />}
      {isLoading && (
        <div class="panel-body">
          <Skeleton lines={entries.length === 0 ? 8 : 2} />
        </div>
      )}
      {!isLoading && !isComplete && error === undefined && (
        <p class="panel-body">
          <button type="button" class="button" onClick={loadMore}>
            Load older transactions
          </button>
        </p>
      )}
      {isComplete && entries.length > 0 && (
        <p class="panel-body muted small">This is the oldest stored transaction.</p>
      )}
    </Panel>
  );
}

function keyOf({ header, transactions }: FullBlock): string {
  return `${header.number}-${transactions[0]?.transactionIndex ?? 0}`;
}

interface EntryProps extends AccountHistoryProps {
  readonly entry: FullBlock;
}

function Entry({ dataset, address, entry }: EntryProps) {
  const [view] = splitBlock(entry);
  if (view === undefined) return null;
  const { transaction } = view;
  return (
    <li class="history-row">
      <Outcome isFailed={transaction.err !== null} />
      <span class="history-signature">
        <SignatureLink dataset={dataset} signature={signatureOf(transaction)} />
      </span>
      <span class="history-programs">
        {programsOf(view).map((id) => (
          <AddressLink key={id} dataset={dataset} address={id} isProgram />
        ))}
      </span>
      <span class="history-changes">
        {changesOf(view, address).map((text) => (
          <span key={text} class={text.startsWith('+') ? 'ok' : 'bad'}>
            {text}
          </span>
        ))}
      </span>
      <span class="history-slot">
        <SlotLink dataset={dataset} slot={entry.header.number} />
      </span>
      <span class="history-time muted">
        {entry.header.timestamp === null ? '' : formatTime(entry.header.timestamp)}
      </span>
    </li>
  );
}

/** Returns how the transaction changed this address: its lamports, its tokens if it is a token account, and those of token accounts that it owns. */
function changesOf({ balances, tokenBalances }: TransactionView, address: string): string[] {
  const native = balances
    .filter(({ account }) => account === address)
    .map(({ pre, post }) => `${formatChange(post - pre, 9)} SOL`);
  const tokens = tokenBalances
    .filter(({ account, preOwner, postOwner }) => [account, preOwner, postOwner].includes(address))
    .flatMap((balance) => {
      const change = (balance.postAmount ?? 0n) - (balance.preAmount ?? 0n);
      const mint = balance.postMint ?? balance.preMint ?? '';
      const decimals = balance.postDecimals ?? balance.preDecimals ?? 0;
      const symbol = mintSymbol(mint) ?? `${mint.slice(0, 4)}…`;
      return change === 0n ? [] : [`${formatChange(change, decimals)} ${symbol}`];
    });
  return [...native, ...tokens];
}
