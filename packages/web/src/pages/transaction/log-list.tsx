import { shorten } from '../../base/format.ts';
import { Panel } from '../../components/panel.tsx';
import { programName } from '../../ledger/address-names.ts';
import type { TransactionView } from '../../ledger/transaction-view.ts';

/** Longer logs are truncated. The raw records have all lines. */
const lineCountMax = 1_000;

export function LogList({ view }: { readonly view: TransactionView }) {
  const { logs, transaction } = view;
  const shown = logs.slice(0, lineCountMax);
  return (
    <Panel
      title="Logs"
      aside={
        transaction.hasDroppedLogMessages && <span class="badge warn">the log is incomplete</span>
      }
      flush
    >
      {shown.length === 0 ? (
        <p class="panel-body muted">No program wrote a line.</p>
      ) : (
        <ol class="plain logs">
          {shown.map((log, i) => {
            const previous = shown[i - 1];
            const isNew = previous?.instructionAddress.join() !== log.instructionAddress.join();
            return (
              <li
                key={log.logIndex}
                style={{ '--depth': String(log.instructionAddress.length - 1) }}
              >
                <span class="log-program muted">
                  {isNew && (programName(log.programId) ?? shorten(log.programId))}
                </span>
                <span class={`log-text ${log.kind}`}>
                  {log.decoded?.args !== undefined && (
                    <span class="badge" title={JSON.stringify(log.decoded.args)}>
                      {log.decoded.name}
                    </span>
                  )}{' '}
                  {log.message}
                </span>
              </li>
            );
          })}
        </ol>
      )}
      {logs.length > shown.length && (
        <p class="panel-body muted">
          {logs.length - shown.length} more lines are in the raw records.
        </p>
      )}
    </Panel>
  );
}
