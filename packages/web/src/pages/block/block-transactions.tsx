import { useMemo, useState } from 'preact/hooks';
import { formatInteger } from '../../base/format.ts';
import { AddressLink, SignatureLink } from '../../components/ledger-links.tsx';
import { Outcome } from '../../components/outcome.tsx';
import { Panel } from '../../components/panel.tsx';
import { Segmented } from '../../components/segmented.tsx';
import { VirtualList } from '../../components/virtual-list.tsx';
import { programsOf, signatureOf, type TransactionView } from '../../ledger/transaction-view.ts';
import { toPixels } from '../../state/rem-pixels.ts';

type Filter = 'all' | 'succeeded' | 'failed';

const rowRem = 2.857;
/** A longer list scrolls. */
const visibleRowCount = 14;
const shownProgramCount = 3;

interface BlockTransactionsProps {
  readonly dataset: string;
  readonly views: readonly TransactionView[];
}

export function BlockTransactions({ dataset, views }: BlockTransactionsProps) {
  const [filter, setFilter] = useState<Filter>('all');
  const shown = useMemo(
    () =>
      views.filter(
        ({ transaction: { err } }) =>
          filter === 'all' || (err === null) === (filter === 'succeeded'),
      ),
    [views, filter],
  );
  const unitsMax = useMemo(
    () =>
      views.reduce(
        (max, { transaction }) => bigger(max, transaction.computeUnitsConsumed ?? 0n),
        1n,
      ),
    [views],
  );
  const aside = (
    <Segmented
      label="Which transactions"
      value={filter}
      options={[
        ['all', 'All'],
        ['succeeded', 'Succeeded'],
        ['failed', 'Failed'],
      ]}
      onChange={setFilter}
    />
  );
  return (
    <Panel title="Transactions" aside={aside} flush>
      {shown.length === 0 ? (
        <p class="panel-body muted">
          {filter === 'all'
            ? 'The block has no transactions that this dataset stores.'
            : `No transaction ${filter}.`}
        </p>
      ) : (
        <div
          class="tx-list"
          style={{
            height: `${(Math.min(shown.length, visibleRowCount) + 1) * toPixels(rowRem) + 2}px`,
          }}
        >
          <VirtualList
            label="Transactions of the block"
            rowCount={shown.length}
            rowHeight={toPixels(rowRem)}
            resetKey={filter}
            head={<Heads />}
            renderRow={(row) => {
              const view = shown[row];
              return view === undefined ? null : (
                <Row dataset={dataset} view={view} unitsMax={unitsMax} />
              );
            }}
          />
        </div>
      )}
    </Panel>
  );
}

function Heads() {
  return (
    <div class="tx-row column-heads">
      <span class="tx-index">#</span>
      <span />
      <span>Signature</span>
      <span class="tx-payer">Fee payer</span>
      <span class="tx-programs">Programs</span>
      <span class="tx-number tx-units-head">Compute units</span>
    </div>
  );
}

interface RowProps {
  readonly dataset: string;
  readonly view: TransactionView;
  readonly unitsMax: bigint;
}

function Row({ dataset, view, unitsMax }: RowProps) {
  const { transaction } = view;
  const units = transaction.computeUnitsConsumed ?? 0n;
  const programs = programsOf(view);
  return (
    <div class="tx-row">
      <span class="muted tx-index">{transaction.transactionIndex}</span>
      <Outcome isFailed={transaction.err !== null} />
      <SignatureLink dataset={dataset} signature={signatureOf(transaction)} />
      <span class="tx-payer">
        <AddressLink dataset={dataset} address={transaction.feePayer} />
      </span>
      <span class="tx-programs">
        {programs.slice(0, shownProgramCount).map((id) => (
          <AddressLink key={id} dataset={dataset} address={id} isProgram />
        ))}
        {programs.length > shownProgramCount && (
          <span class="muted">+{programs.length - shownProgramCount}</span>
        )}
      </span>
      <span class="tx-units">
        <span class="bar-track" aria-hidden="true">
          <span style={{ width: `${Number((units * 100n) / unitsMax)}%` }} />
        </span>
      </span>
      <span class="tx-number">{formatInteger(units)}</span>
    </div>
  );
}

function bigger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
