import { isAddress } from '@sluice/client';
import { shorten } from '../../base/format.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { Notice } from '../../components/notice.tsx';
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

/** Blocks below the head that the offered query covers. */
const queryBlockCount = 1_000;

export function ProgramPage({ parameters }: PageProps) {
  const [dataset = '', address = ''] = parameters;
  const name = programName(address);
  useTitle(`Program ${name ?? shorten(address)}`);
  if (!isAddress(address)) {
    return (
      <div class="panel">
        <Notice title="This is not an address">
          <p class="hash">{address}</p>
        </Notice>
      </div>
    );
  }
  const status = statusOf(dataset);
  const fromBlock = Math.max(
    status?.start_block ?? 0,
    (status?.head?.number ?? 0) - queryBlockCount,
  );
  return (
    <div class="stack">
      <div class="page-head">
        <div>
          <h1>{name ?? 'Program'}</h1>
          <p class="hash">
            {address}
            <CopyButton text={address} label="address" />
          </p>
        </div>
        <div class="row">
          <a class="button" href={pagePath.account(dataset, address)}>
            As an account
          </a>
          <a class="button" href={workbenchLink(dataset, queryProgram(address, { fromBlock }))}>
            Query its instructions
          </a>
        </div>
      </div>
      <ProgramInstructions dataset={dataset} programId={address} />
      <AccountHistory key={`${dataset}/${address}`} dataset={dataset} address={address} />
    </div>
  );
}
