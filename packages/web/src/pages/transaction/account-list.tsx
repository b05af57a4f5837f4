import { plural } from '../../base/format.ts';
import { AddressLink } from '../../components/ledger-links.tsx';
import { Panel } from '../../components/panel.tsx';
import type { Transaction } from '../../ledger/transaction-view.ts';

interface AccountRow {
  readonly address: string;
  readonly isSigner: boolean;
  readonly isWritable: boolean;
  readonly isLoaded: boolean;
}

interface AccountListProps {
  readonly dataset: string;
  readonly transaction: Transaction;
}

export function AccountList({ dataset, transaction }: AccountListProps) {
  const rows = listAccounts(transaction);
  return (
    <Panel
      title="Accounts"
      aside={<span class="muted small">{plural(rows.length, 'account')}</span>}
      flush
    >
      <ol class="plain account-table">
        {rows.map(({ address, isSigner, isWritable, isLoaded }, i) => (
          // Instructions refer to accounts by index.
          <li key={i}>
            <span class="muted account-index">{i}</span>
            <AddressLink dataset={dataset} address={address} full />
            <span class="row">
              {isSigner && <span class="badge accent">signer</span>}
              {isWritable && <span class="badge">writable</span>}
              {isLoaded && <span class="badge">from a table</span>}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

/** Determines which static keys sign and which are writable from the counts of the message header. */
function listAccounts(transaction: Transaction): readonly AccountRow[] {
  const { accountKeys, loadedAddresses } = transaction;
  const signers = transaction.numRequiredSignatures;
  const writableSigners = signers - transaction.numReadonlySignedAccounts;
  const writableEnd = accountKeys.length - transaction.numReadonlyUnsignedAccounts;
  const fixed = accountKeys.map((address, i) => ({
    address,
    isSigner: i < signers,
    isWritable: i < signers ? i < writableSigners : i < writableEnd,
    isLoaded: false,
  }));
  const loaded = (addresses: readonly string[], isWritable: boolean) =>
    addresses.map((address) => ({ address, isSigner: false, isWritable, isLoaded: true }));
  return [
    ...fixed,
    ...loaded(loadedAddresses.writable, true),
    ...loaded(loadedAddresses.readonly, false),
  ];
}
