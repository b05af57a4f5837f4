import { useState } from 'preact/hooks';
import { formatInteger, shorten } from '../../base/format.ts';
import { ErrorNotice } from '../../components/error-notice.tsx';
import { Panel } from '../../components/panel.tsx';
import { findIdl, programName } from '../../ledger/address-names.ts';
import { decodedLine } from '../../ledger/decoded-instruction.ts';
import { clientOf } from '../../state/clients.ts';
import { pagePath } from '../../state/page-path.ts';
import { useResource } from '../../state/use-resource.ts';
import { type LiveCall, useLiveCalls } from './use-live-calls.ts';

/** How many programs a user can choose from. They are the ones with the most transactions in the newest blocks. */
const programCount = 30;

/** The calls of one program as they are stored, decoded by its IDL. */
export function CallFlow({ dataset }: { readonly dataset: string }) {
  const [chosen, setChosen] = useState<string>();
  const activity = useResource(dataset, (signal) =>
    clientOf(dataset).activity({ limit: programCount, signal }),
  );
  const programs =
    activity.kind === 'ready' ? activity.value.programs.map(({ programId }) => programId) : [];
  // Nothing is followed without a choice if no program has an IDL: the calls of the most active one may be megabytes a second.
  const programId = chosen ?? programs.find((id) => findIdl(id) !== undefined);
  const { calls, error } = useLiveCalls(dataset, programId);
  const choice = (
    <select
      class="select"
      aria-label="Program"
      value={programId ?? ''}
      onChange={({ currentTarget }) => setChosen(currentTarget.value)}
    >
      {programId === undefined && <option value="">choose a program</option>}
      {programs.map((id) => (
        <option key={id} value={id}>
          {programName(id) ?? shorten(id)}
        </option>
      ))}
    </select>
  );
  return (
    <Panel title="Calls" aside={choice} flush>
      {error !== undefined && <ErrorNotice error={error} slim />}
      {calls.length === 0 ? (
        <p class="panel-body muted">
          {programId === undefined
            ? 'Choose a program to see its calls, decoded.'
            : 'No call in the newest blocks.'}
        </p>
      ) : (
        <ol class="plain live-calls">
          {calls.map((call) => (
            <CallRow key={keyOf(call)} dataset={dataset} call={call} />
          ))}
        </ol>
      )}
    </Panel>
  );
}

function keyOf({ slot, transactionIndex, instructionAddress }: LiveCall): string {
  return `${slot}/${transactionIndex}/${instructionAddress.join('.')}`;
}

/** The link leads to the call with its accounts and raw bytes. */
function CallRow({ dataset, call }: { readonly dataset: string; readonly call: LiveCall }) {
  const { program, name, text } = decodedLine(call.decoded);
  return (
    <li class="live-call">
      <a href={pagePath.block(dataset, call.slot)}>{formatInteger(call.slot)}</a>
      <span class={call.decoded.error === undefined ? 'badge' : 'badge warn'}>{program}</span>
      <a href={pagePath.call(dataset, call.slot, call)}>{name}</a>
      <span class="hash live-call-text" title={text}>
        {text}
      </span>
    </li>
  );
}
