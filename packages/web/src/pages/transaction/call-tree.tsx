import { useEffect, useRef } from 'preact/hooks';
import { formatInteger, shorten } from '../../base/format.ts';
import { ChevronIcon } from '../../components/icons.tsx';
import { AddressLink } from '../../components/ledger-links.tsx';
import { Panel } from '../../components/panel.tsx';
import {
  accountNames,
  type ShownValue,
  shownArguments,
  shownEvents,
} from '../../ledger/decoded-instruction.ts';
import { describeInstruction, type Token } from '../../ledger/describe-instruction.ts';
import {
  buildTokenFinder,
  type Instruction,
  type TransactionView,
} from '../../ledger/transaction-view.ts';
import { route } from '../../state/router.ts';

interface CallTreeProps {
  readonly dataset: string;
  readonly view: TransactionView;
}

/** The instructions as a tree of calls, with the share of the transaction's compute units that each consumed. */
export function CallTree({ dataset, view }: CallTreeProps) {
  const total = view.transaction.computeUnitsConsumed ?? 0n;
  const findToken = buildTokenFinder(view);
  const linked = new URLSearchParams(route.value.search).get('call');
  return (
    <Panel
      title="Calls"
      aside={<span class="muted small">compute units, inner calls included</span>}
      flush
    >
      {view.instructions.length === 0 ? (
        <p class="panel-body muted">The transaction has no instructions.</p>
      ) : (
        <ol class="plain calls">
          {view.instructions.map((instruction) => (
            <Call
              key={instruction.instructionAddress.join('.')}
              dataset={dataset}
              instruction={instruction}
              total={total}
              findToken={findToken}
              isLinked={instruction.instructionAddress.join('.') === linked}
            />
          ))}
        </ol>
      )}
    </Panel>
  );
}

interface CallProps {
  readonly dataset: string;
  readonly instruction: Instruction;
  readonly total: bigint;
  readonly findToken: (address: string) => Token | undefined;
  /** Whether the page was opened by a link to this call. */
  readonly isLinked: boolean;
}

function Call({ dataset, instruction, total, findToken, isLinked }: CallProps) {
  const { instructionAddress, programId, data, accounts, error, computeUnitsConsumed } =
    instruction;
  const { decoded } = instruction;
  const described = describeInstruction(instruction, findToken);
  const { details } = described;
  const program = described.program ?? decoded.program ?? undefined;
  const name = described.name ?? decoded.name ?? undefined;
  const named = accountNames(decoded, accounts, programId);
  const roles = named.length === 0 ? described.roles : named;
  const events = shownEvents(decoded);
  const depth = instructionAddress.length - 1;
  const element = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (isLinked) element.current?.scrollIntoView({ block: 'center' });
  }, [isLinked]);
  return (
    <li
      class={`call${error === null ? '' : ' failed'}${depth === 0 ? '' : ' nested'}`}
      style={{ '--depth': String(depth) }}
    >
      <details ref={element} open={isLinked}>
        <summary>
          <span class="call-place muted">
            <ChevronIcon />
            {instructionAddress.map((index) => index + 1).join('.')}
          </span>
          <span class="call-name">
            <strong>{program ?? shorten(programId)}</strong>{' '}
            {name ?? <code>{instruction.d8 ?? instruction.d1 ?? 'no data'}</code>}
            {details.map(([label, value]) => (
              <span key={label} class="call-detail">
                {label} <b>{value}</b>
              </span>
            ))}
            {error !== null && <span class="call-error bad">{error}</span>}
          </span>
          <Units consumed={computeUnitsConsumed} total={total} />
        </summary>
        <dl class="call-body">
          <dt>Program</dt>
          <dd>
            <AddressLink dataset={dataset} address={programId} full isProgram />
          </dd>
          <dt>Accounts</dt>
          <dd>
            {accounts.length === 0 ? (
              <span class="muted">none</span>
            ) : (
              <ol class="account-rows">
                {accounts.map((address, i) => (
                  // An address may occur twice, so the index is the key.
                  <li key={i}>
                    <AddressLink dataset={dataset} address={address} full />
                    {roles[i] !== undefined && <span class="badge">{roles[i]}</span>}
                  </li>
                ))}
              </ol>
            )}
          </dd>
          {decoded.args !== undefined && (
            <>
              <dt>Arguments</dt>
              <dd>
                <Values values={shownArguments(decoded)} />
              </dd>
            </>
          )}
          {events.length > 0 && (
            <>
              <dt>Events</dt>
              <dd>
                {events.map((event, i) => (
                  // An instruction may emit equal events, so the index is the key.
                  <div key={i}>
                    <strong>{event.name}</strong>
                    <Values values={event.values} />
                  </div>
                ))}
              </dd>
            </>
          )}
          <dt>IDL</dt>
          <dd>
            {decoded.error === undefined ? (
              decoded.program
            ) : (
              <span class="muted">{decoded.error}</span>
            )}
          </dd>
          <dt>Data</dt>
          <dd class="hash">{data === '' ? <span class="muted">none</span> : data}</dd>
        </dl>
      </details>
    </li>
  );
}

function Values({ values }: { readonly values: readonly ShownValue[] }) {
  if (values.length === 0) return <span class="muted">none</span>;
  return (
    <ul class="plain call-values">
      {values.map(([name, text]) => (
        <li key={name}>
          <span class="muted">{name}</span> <span class="hash">{text}</span>
        </li>
      ))}
    </ul>
  );
}

function Units({ consumed, total }: { readonly consumed: bigint | null; readonly total: bigint }) {
  if (consumed === null)
    return (
      <span class="call-units muted">
        <span>–</span>
      </span>
    );
  const share = total === 0n ? 0 : Number((consumed * 1_000n) / total) / 10;
  return (
    <span class="call-units">
      <span class="bar-track" aria-hidden="true">
        <span style={{ width: `${Math.min(100, share)}%` }} />
      </span>
      <span>{formatInteger(consumed)}</span>
    </span>
  );
}
