import { alarmActions } from 'virtual:alarm-actions';
import { clock } from '../../base/clock.ts';
import { formatBytes, formatDuration, formatInteger, plural } from '../../base/format.ts';
import type { AlarmRow, DatasetStatus, SourceRow } from '../../state/dataset-status.ts';
import { pagePath } from '../../state/page-path.ts';
import { RatePanel } from './rate-panel.tsx';

/** With a larger lag the newest block counts as late. */
const lagSecondsMax = 10;
const lagSlotsMax = 25;
const ownClockSecondsMin = 86_400;

export function DatasetCard({ status }: { readonly status: DatasetStatus }) {
  const { dataset, aliases, real_time: isLive, head, finalized_head: finalized } = status;
  return (
    <section class="panel card" aria-labelledby={`card-${dataset}`}>
      <div class="panel-head">
        <div class="row">
          <h2 id={`card-${dataset}`}>
            <a href={pagePath.live(dataset)}>{dataset}</a>
          </h2>
          {aliases.length > 0 && <span class="muted small">also {aliases.join(', ')}</span>}
        </div>
        <div class="row">
          <span class="muted small">
            {isLive ? 'Follows a ledger' : 'Follows no ledger'} from slot{' '}
            {formatInteger(status.start_block)},{' '}
            {status.votes === 'keep' ? 'with votes' : 'without votes'}
          </span>
          {status.alarms.length > 0 ? (
            <span class="badge bad">
              <span class="dot" />
              {plural(status.alarms.length, 'alarm')}
            </span>
          ) : (
            <span class="badge ok">
              <span class="dot" />
              Healthy
            </span>
          )}
        </div>
      </div>
      <div class="panel-body stack">
        <dl class="figures card-figures">
          <div>
            <dt>Head</dt>
            <dd>
              {head === null ? (
                '–'
              ) : (
                <a href={pagePath.block(dataset, head.number)}>{formatInteger(head.number)}</a>
              )}
            </dd>
          </div>
          <div>
            <dt>Finalized</dt>
            <dd>
              {finalized === null ? '–' : formatInteger(finalized.number)}
              {finalized !== null && head !== null && (
                <small class="muted"> −{formatInteger(head.number - finalized.number)}</small>
              )}
            </dd>
          </div>
          <div>
            <dt>Lag</dt>
            <dd class={isLate(status) ? 'warn' : ''}>
              <Lag status={status} />
            </dd>
          </div>
        </dl>
        <RatePanel dataset={dataset} head={head?.number ?? null} start={status.start_block} />
        <AlarmList alarms={status.alarms} />
        <dl class="facts">
          <div>
            <dt>Range</dt>
            <dd>
              {formatInteger(status.start_block)} –{' '}
              {head === null ? 'no block yet' : formatInteger(head.number)}
            </dd>
          </div>
          <div>
            <dt>Blocks</dt>
            <dd>{formatInteger(status.block_count)}</dd>
          </div>
          <div>
            <dt>On disk, sealed</dt>
            <dd>{formatBytes(status.sealed_bytes)}</dd>
          </div>
          <div>
            <dt>Behind its sources</dt>
            <dd>{status.behind_slots === null ? '–' : plural(status.behind_slots, 'slot')}</dd>
          </div>
          {status.backfill !== null && (
            <div>
              <dt>History is being fetched</dt>
              <dd>
                {status.backfill.slot === null ? '–' : formatInteger(status.backfill.slot)} of{' '}
                {formatInteger(status.backfill.to)}
              </dd>
            </div>
          )}
        </dl>
        <SourceList sources={status.sources} />
      </div>
      <div class="card-actions">
        <a class="button primary" href={pagePath.workbench(dataset)}>
          Query
        </a>
        <a class="button" href={pagePath.live(dataset)}>
          Watch live
        </a>
        <a class="button" href={pagePath.activity(dataset)}>
          Activity
        </a>
      </div>
    </section>
  );
}

/** The lag in seconds, or as a duration when it is large. For a ledger with a clock of its own it is the number of slots. */
function Lag({ status }: { readonly status: DatasetStatus }) {
  const { head_lag_seconds: seconds, behind_slots: slots } = status;
  if (seconds === null) return '–';
  if (hasOwnClock(status) && slots !== null) {
    return (
      <>
        {plural(slots, 'slot')}
        <small class="muted"> dated {formatDuration(seconds * 1_000)} ago</small>
      </>
    );
  }
  return seconds < 120 ? `${seconds} s` : formatDuration(seconds * 1_000);
}

/** A simulated ledger has dates of its own, so the age of its blocks is not a lag. No real ledger lags for days without slots to catch up. */
function hasOwnClock({ head_lag_seconds: seconds, behind_slots: slots }: DatasetStatus): boolean {
  return (seconds ?? 0) > ownClockSecondsMin && (slots ?? Infinity) <= lagSlotsMax;
}

function isLate(status: DatasetStatus): boolean {
  const { real_time: isLive, head_lag_seconds: seconds } = status;
  return isLive && !hasOwnClock(status) && (seconds ?? 0) > lagSecondsMax;
}

function AlarmList({ alarms }: { readonly alarms: readonly AlarmRow[] }) {
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

const tones: Readonly<Record<SourceRow['state'], string>> = {
  starting: 'warn',
  live: 'ok',
  waiting: 'warn',
  quarantined: 'bad',
  disabled: 'bad',
};

/** The sources of a dataset by name. The service does not send their addresses, which may contain secrets. */
function SourceList({ sources }: { readonly sources: readonly SourceRow[] }) {
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
