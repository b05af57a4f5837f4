import { isAddress } from '@sluice/client';
import { shorten } from '../../base/format.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { Notice } from '../../components/notice.tsx';
import { useTitle } from '../../components/use-title.ts';
import { addressName } from '../../ledger/address-names.ts';
import type { PageProps } from '../../page-props.ts';
import { statusOf } from '../../state/datasets.ts';
import { pagePath } from '../../state/page-path.ts';
import { workbenchLink } from '../workbench/query-link.ts';
import { queryAccount } from '../workbench/sample-queries.ts';
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
  const start = statusOf(dataset)?.start_block ?? 0;
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
          <a
            class="button"
            href={workbenchLink(dataset, queryAccount(address, { fromBlock: start }))}
          >
            Query its transactions
          </a>
        </div>
      </div>
      <AccountHistory key={`${dataset}/${address}`} dataset={dataset} address={address} />
    </div>
  );
}
