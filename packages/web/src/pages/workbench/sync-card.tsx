import { keysOf } from '@sluice/protocol/typed-keys';
import { useState } from 'preact/hooks';
import { CopyButton } from '../../components/copy-button.tsx';
import { Panel } from '../../components/panel.tsx';
import { RawText } from '../../components/raw-text.tsx';
import { Segmented } from '../../components/segmented.tsx';
import { apiKey } from '../../state/connection.ts';
import type { JsonObject } from './query-model.ts';
import { SYNC_TARGETS, writeSync } from './write-programs.ts';

type SyncTarget = keyof typeof SYNC_TARGETS;

const targets = keysOf(SYNC_TARGETS);

interface SyncCardProps {
  readonly dataset: string;
  readonly query: JsonObject;
}

/** Shows the command that keeps tables of a database equal to the query. */
export function SyncCard({ dataset, query }: SyncCardProps) {
  const [to, setTo] = useState<SyncTarget>('PostgreSQL');
  const url = `${location.origin}/datasets/${dataset}`;
  const command = writeSync(query, { url, hasKey: apiKey.value !== null }, to);
  return (
    <Panel
      title="Sync this query to a database"
      aside={
        <Segmented
          label="Database"
          value={to}
          options={targets.map((name) => [name, name])}
          onChange={setTo}
        />
      }
    >
      {command === undefined ? (
        <p>Select records, such as instructions or logs. Each kind becomes a table.</p>
      ) : (
        <>
          <p>
            The command loads the history, stores each new block, and corrects the rows after a
            fork. Change the address of the database.
          </p>
          <div class="row spread">
            <a href="/docs/sync">More about tables</a>
            <CopyButton text={command} label="command" />
          </div>
          <RawText text={command} />
        </>
      )}
    </Panel>
  );
}
