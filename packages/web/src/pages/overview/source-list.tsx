import { plural } from '../../base/format.ts';
import type { SourceRow } from '../../state/dataset-status.ts';

const tones: Readonly<Record<SourceRow['state'], string>> = {
  starting: 'warn',
  live: 'ok',
  waiting: 'warn',
  quarantined: 'bad',
  disabled: 'bad',
};

/** The sources of a dataset by name. The service does not send their addresses, which may contain secrets. */
export function SourceList({ sources }: { readonly sources: readonly SourceRow[] }) {
  if (sources.length === 0) return null;
  return (
    <div>
      <h3 class="label">Sources</h3>
      <ul class="plain sources">
        {sources.map(({ name, kind, state, fault, failures, slotsBehind, activity }) => (
          <li key={name}>
            <span class={`badge ${tones[state]}`}>
              <span class="dot" />
              {state}
            </span>
            <span>{name}</span>
            <span class="muted small">
              {[kind, slotsBehind !== null && `${plural(slotsBehind, 'slot')} behind`, activity]
                .filter(Boolean)
                .join(' · ')}
              {failures > 0 && ` · ${plural(failures, 'failure')}`}
              {fault !== null && ` · last: ${fault}`}
            </span>
          </li>
        ))}
      </ul>
    </div>
  );
}
