import { isAddress } from '@sluice/client';
import { shorten } from '../../base/format.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { Notice } from '../../components/notice.tsx';
import { useTitle } from '../../components/use-title.ts';
import { addressName } from '../../ledger/address-names.ts';
import type { PageProps } from '../../routes.ts';
import { pagePath } from '../../state/router.ts';
import { workbenchLink } from '../workbench/query-link.ts';
import { AccountHistory } from './account-history.tsx';
import './account.css';

export function AccountPage({ parameters }: PageProps) {
  const [dataset = '', address = ''] = parameters;
  useTitle(`Account ${shorten(address)}`);
  if (!isAddress(address)) {
    return (
      <div class="panel">
        <Notice title="This is not an address">
          <p class="hash">{address}</p>
          <p>An address is base58 of 32 bytes.</p>
        </Notice>
      </div>
    );
  }
  const name = addressName(address);
  return (
    <div class="stack">
      <div class="page-head">
        <div>
          <h1>{name ?? 'Account'}</h1>
          <p class="hash">
            {address}
            <CopyButton text={address} label="address" />
          </p>
        </div>
        <div class="row">
          <a class="button" href={pagePath.program(dataset, address)}>
            As a program
          </a>
          <a class="button" href={workbenchLink(dataset, accountQuery(address))}>
            Query its transactions
          </a>
        </div>
      </div>
      <AccountHistory key={`${dataset}/${address}`} dataset={dataset} address={address} />
    </div>
  );
}

function accountQuery(address: string): object {
  return {
    fromBlock: 0,
    fields: {
      block: { number: true, timestamp: true },
      transaction: { transactionIndex: true, signatures: true, err: true, fee: true },
      balance: { transactionIndex: true, account: true, pre: true, post: true },
    },
    transactions: [{ mentionsAccount: [address] }],
    balances: [{ account: [address] }],
  };
}
