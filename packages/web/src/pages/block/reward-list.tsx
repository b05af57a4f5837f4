import type { FullBlock } from '@sluice/client';
import { useState } from 'preact/hooks';
import { formatChange, formatLamports } from '../../base/format.ts';
import { AddressLink } from '../../components/ledger-links.tsx';
import { Panel } from '../../components/panel.tsx';
import { TableScroll } from '../../components/table-scroll.tsx';

const firstRowCount = 20;
/** Blocks at the start of an epoch have thousands of rewards. A query in the workbench returns all of them. */
const rowCountMax = 500;

interface RewardListProps {
  readonly dataset: string;
  readonly rewards: FullBlock['rewards'];
}

export function RewardList({ dataset, rewards }: RewardListProps) {
  const [isOpen, setOpen] = useState(false);
  if (rewards.length === 0) return null;
  const shown = rewards.slice(0, isOpen ? rowCountMax : firstRowCount);
  return (
    <Panel title="Rewards" flush>
      <TableScroll>
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Account</th>
              <th scope="col">Type</th>
              <th scope="col" class="number">
                SOL
              </th>
              <th scope="col" class="number">
                Balance after
              </th>
              <th scope="col" class="number">
                Commission
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((reward) => (
              <tr key={`${reward.pubKey} ${reward.rewardType} ${reward.lamports}`}>
                <td>
                  <AddressLink dataset={dataset} address={reward.pubKey} />
                </td>
                <td>{reward.rewardType ?? '–'}</td>
                <td class={reward.lamports < 0n ? 'number bad' : 'number ok'}>
                  {formatChange(reward.lamports, 9)}
                </td>
                <td class="number">{formatLamports(reward.postBalance)}</td>
                <td class="number">
                  {reward.commission === null ? '–' : `${reward.commission} %`}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableScroll>
      {rewards.length > shown.length && (
        <p class="panel-body row">
          <span class="muted">
            {shown.length} of {rewards.length}
          </span>
          {!isOpen && (
            <button type="button" class="button compact" onClick={() => setOpen(true)}>
              Show more
            </button>
          )}
        </p>
      )}
    </Panel>
  );
}
