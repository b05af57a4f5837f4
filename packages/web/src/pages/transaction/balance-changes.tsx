import { formatAmount, formatChange, plural, shorten } from '../../base/format.ts';
import { AddressLink } from '../../components/ledger-links.tsx';
import { Panel } from '../../components/panel.tsx';
import { TableScroll } from '../../components/table-scroll.tsx';
import { mintSymbol } from '../../ledger/address-names.ts';
import type { TokenBalance, TransactionView } from '../../ledger/transaction-view.ts';

interface BalanceChangesProps {
  readonly dataset: string;
  readonly view: TransactionView;
}

const lamportDecimals = 9;

interface ChangeRow {
  readonly key: string;
  readonly account: string;
  readonly owner: string | null;
  readonly mint: string | null;
  readonly decimals: number;
  readonly pre: bigint;
  readonly post: bigint;
}

export function BalanceChanges({ dataset, view }: BalanceChangesProps) {
  const rows = [...nativeRows(view), ...view.tokenBalances.map(tokenRow)];
  const changed = rows.filter(({ pre, post }) => pre !== post);
  const unchangedCount = rows.length - changed.length;
  const hasOwners = changed.some(({ owner }) => owner !== null);
  return (
    <Panel
      title="Balance changes"
      aside={
        unchangedCount > 0 && (
          <span class="muted small">{plural(unchangedCount, 'token balance')} unchanged</span>
        )
      }
      flush
    >
      {changed.length === 0 ? (
        <p class="panel-body muted">No balance changed.</p>
      ) : (
        <TableScroll>
          <table class="table changes">
            <thead>
              <tr>
                <th scope="col">Account</th>
                {hasOwners && <th scope="col">Owner</th>}
                <th scope="col">Token</th>
                <th scope="col" class="number">
                  Change
                </th>
                <th scope="col" class="number">
                  After
                </th>
              </tr>
            </thead>
            <tbody>
              {changed.map((row) => (
                <Row key={row.key} dataset={dataset} row={row} hasOwners={hasOwners} />
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </Panel>
  );
}

interface RowProps {
  readonly dataset: string;
  readonly row: ChangeRow;
  /** Whether the table has a column for owners. */
  readonly hasOwners: boolean;
}

function Row({ dataset, row, hasOwners }: RowProps) {
  const change = row.post - row.pre;
  return (
    <tr>
      <td class="change-account">
        <AddressLink dataset={dataset} address={row.account} />
      </td>
      {hasOwners && (
        <td class="change-owner">
          {row.owner !== null && <AddressLink dataset={dataset} address={row.owner} />}
        </td>
      )}
      <td class="change-token">
        {row.mint === null ? (
          'SOL'
        ) : (
          <a href={`/account/${dataset}/${row.mint}`} title={row.mint}>
            {mintSymbol(row.mint) ?? shorten(row.mint)}
          </a>
        )}
      </td>
      <td class={`change-amount number ${change > 0n ? 'ok' : 'bad'}`}>
        {formatChange(change, row.decimals)}
      </td>
      <td class="change-after number">{formatAmount(row.post, row.decimals)}</td>
    </tr>
  );
}

function nativeRows({ balances }: TransactionView): ChangeRow[] {
  return balances.map(({ account, pre, post }) => ({
    key: account,
    account,
    owner: null,
    mint: null,
    decimals: lamportDecimals,
    pre,
    post,
  }));
}

/** A token account that was opened has no state before; one that was closed has none after. */
function tokenRow(balance: TokenBalance): ChangeRow {
  return {
    key: `token-${balance.account}`,
    account: balance.account,
    owner: balance.postOwner ?? balance.preOwner,
    mint: balance.postMint ?? balance.preMint,
    decimals: balance.postDecimals ?? balance.preDecimals ?? 0,
    pre: balance.preAmount ?? 0n,
    post: balance.postAmount ?? 0n,
  };
}
