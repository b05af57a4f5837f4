import { shorten } from '../../base/format.ts';
import { AddressPage } from '../../components/address-page.tsx';
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
  const range = { fromBlock: statusOf(dataset)?.start_block ?? 0 };
  const actions = (
    <>
      <a class="button" href={pagePath.program(dataset, address)}>
        As a program
      </a>
      <a class="button" href={workbenchLink(dataset, queryAccount(address, range))}>
        Query its transactions
      </a>
    </>
  );
  return (
    <AddressPage address={address} title={addressName(address) ?? 'Account'} actions={actions}>
      <AccountHistory key={`${dataset}/${address}`} dataset={dataset} address={address} />
    </AddressPage>
  );
}
