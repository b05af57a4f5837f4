import { shorten } from '../../base/format.ts';
import { AddressPage } from '../../components/address-page.tsx';
import { useTitle } from '../../components/use-title.ts';
import { programName } from '../../ledger/address-names.ts';
import type { PageProps } from '../../page-props.ts';
import { statusOf } from '../../state/datasets.ts';
import { pagePath } from '../../state/page-path.ts';
import { AccountHistory } from '../account/account-history.tsx';
import { workbenchLink } from '../workbench/query-link.ts';
import { queryProgram } from '../workbench/sample-queries.ts';
import { ProgramInstructions } from './program-instructions.tsx';
import '../account/account.css';
import '../activity/activity.css';

/** The number of blocks below the head in the query that the page offers. */
const queryBlockCount = 1_000;

export function ProgramPage({ parameters }: PageProps) {
  const [dataset = '', address = ''] = parameters;
  const name = programName(address);
  useTitle(`Program ${name ?? shorten(address)}`);
  const { start_block: start = 0, head } = statusOf(dataset) ?? {};
  const range = { fromBlock: Math.max(start, (head?.number ?? 0) - queryBlockCount) };
  const actions = (
    <>
      <a class="button" href={pagePath.account(dataset, address)}>
        As an account
      </a>
      <a class="button" href={workbenchLink(dataset, queryProgram(address, range))}>
        Query its instructions
      </a>
    </>
  );
  return (
    <AddressPage address={address} title={name ?? 'Program'} actions={actions}>
      <ProgramInstructions dataset={dataset} programId={address} />
      <AccountHistory key={`${dataset}/${address}`} dataset={dataset} address={address} isProgram />
    </AddressPage>
  );
}
