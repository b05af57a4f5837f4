import { formatBytes, formatDuration, formatInteger, plural } from '../../base/format.ts';
import type { DatasetStatus } from '../../state/dataset-status.ts';
import { pagePath } from '../../state/page-path.ts';
import { AlarmList } from './alarm-list.tsx';
import { RatePanel } from './rate-panel.tsx';
import { SourceList } from './source-list.tsx';

/** With a larger lag the newest block counts as late. */
const lagSecondsMax = 10;

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
          <span class="muted small">{isLive ? 'Follows a ledger' : 'Follows no ledger'}</span>
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
            <dd class={isLate(status) ? 'warn' : ''}>{formatLag(status.head_lag_seconds)}</dd>
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
          <div>
            <dt>Vote transactions</dt>
            <dd>{status.votes === 'keep' ? 'stored' : 'not stored'}</dd>
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
          Contents
        </a>
      </div>
    </section>
  );
}

/** Formats the lag in seconds, or as a duration when it is large. */
function formatLag(seconds: number | null): string {
  if (seconds === null) return '–';
  return seconds < 120 ? `${seconds} s` : formatDuration(seconds * 1_000);
}

function isLate(status: DatasetStatus): boolean {
  return status.real_time && (status.head_lag_seconds ?? 0) > lagSecondsMax;
}
