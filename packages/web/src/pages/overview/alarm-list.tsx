import { alarmActions } from 'virtual:alarm-actions';
import { clock } from '../../base/clock.ts';
import { formatDuration } from '../../base/format.ts';
import type { AlarmRow } from '../../state/dataset-status.ts';

export function AlarmList({ alarms }: { readonly alarms: readonly AlarmRow[] }) {
  if (alarms.length === 0) return null;
  return (
    <ul class="plain stack" aria-label="Alarms">
      {alarms.map(({ code, message, sinceUnixMs }) => (
        <li key={code} class="callout bad">
          <div class="row spread">
            <strong>{code}</strong>
            <span>for {formatDuration(clock.unixMs() - sinceUnixMs)}</span>
          </div>
          <p>{message}</p>
          <p>
            <strong>What to do: </strong>
            {alarmActions[code] ?? 'see the log of the service.'}{' '}
            <a href="/docs/operating#alarms">All alarms</a>
          </p>
        </li>
      ))}
    </ul>
  );
}
