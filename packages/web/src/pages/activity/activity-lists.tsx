import type { Activity } from '@sluice/client';
import { shorten } from '../../base/format.ts';
import { AddressLink } from '../../components/ledger-links.tsx';
import { mintSymbol, programName } from '../../ledger/address-names.ts';
import { describeDiscriminator } from '../../ledger/describe-instruction.ts';
import { pagePath } from '../../state/page-path.ts';
import { workbenchLink } from '../workbench/query-link.ts';
import {
  queryAccount,
  queryInstruction,
  queryMint,
  queryProgram,
} from '../workbench/sample-queries.ts';
import { CountList } from './count-list.tsx';

interface ActivityListsProps {
  readonly dataset: string;
  readonly activity: Activity;
}

export function ActivityLists({ dataset, activity }: ActivityListsProps) {
  const { exact, transactions: total } = activity;
  const range = { fromBlock: activity.fromBlock, toBlock: activity.toBlock };
  return (
    <div class="activity-grid">
      <CountList
        title="Programs"
        total={total}
        isExact={exact.programs}
        rows={activity.programs.map(({ programId, transactions }) => ({
          key: programId,
          label: <AddressLink dataset={dataset} address={programId} isProgram />,
          transactions,
          href: workbenchLink(dataset, queryProgram(programId, range)),
        }))}
      />
      <CountList
        title="Instructions"
        total={total}
        isExact={exact.discriminators}
        rows={activity.discriminators.map(({ programId, discriminator, transactions }) => ({
          key: `${programId} ${discriminator}`,
          label: (
            <span class="counts-pair">
              <a href={pagePath.program(dataset, programId)} title={programId}>
                {programName(programId) ?? shorten(programId)}
              </a>{' '}
              {describeDiscriminator(programId, discriminator) ?? <code>{discriminator}</code>}
            </span>
          ),
          transactions,
          href: workbenchLink(dataset, queryInstruction(programId, discriminator, range)),
        }))}
      />
      <CountList
        title="Tokens"
        total={total}
        isExact={exact.mints}
        rows={activity.mints.map(({ mint, transactions }) => ({
          key: mint,
          label: (
            <a href={pagePath.account(dataset, mint)} title={mint}>
              {mintSymbol(mint) ?? <span class="hash">{shorten(mint, 6)}</span>}
            </a>
          ),
          transactions,
          href: workbenchLink(dataset, queryMint(mint, range)),
        }))}
      />
      <CountList
        title="Accounts"
        total={total}
        isExact={exact.accounts}
        rows={activity.accounts.map(({ account, transactions }) => ({
          key: account,
          label: <AddressLink dataset={dataset} address={account} />,
          transactions,
          href: workbenchLink(dataset, queryAccount(account, range)),
        }))}
      />
    </div>
  );
}
