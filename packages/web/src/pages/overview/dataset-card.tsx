import { formatBytes, formatDuration, formatInteger } from '../../base/format.ts';
import type { DatasetStatus } from '../../state/dataset-status.ts';
import { pagePath } from '../../state/page-path.ts';
import { AlarmList } from './alarm-list.tsx';
import { RatePanel } from './rate-panel.tsx';
import { SourceList } from './source-list.tsx';

/** Beyond this the newest block counts as late. */
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
          {status.alarms.length > 0 ? (
            <span class="badge bad">
              <span class="dot" />
              {status.alarms.length === 1 ? 'Alarm' : `${status.alarms.length} alarms`}
            </span>
          ) : (
            <span class="badge ok">
              <span class="dot" />
              Healthy
            </span>
          )}
          <span class={isLive ? 'badge accent' : 'badge'}>
            {isLive ? 'Follows a ledger' : 'Not fed'}
          </span>
        </div>
      </div>
      <div class="panel-body stack">
        <dl class="figures">
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
            <dt>First slot</dt>
            <dd>{formatInteger(status.start_block)}</dd>
          </div>
          <div>
            <dt>Blocks</dt>
            <dd>{formatInteger(status.block_count)}</dd>
          </div>
          <div>
            <dt>Sealed on disk</dt>
            <dd>{formatBytes(status.sealed_bytes)}</dd>
          </div>
          <div>
            <dt>Behind its sources</dt>
            <dd>
              {status.behind_slots === null ? '–' : `${formatInteger(status.behind_slots)} slots`}
            </dd>
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
        <div class="row">
          <a class="button" href={pagePath.live(dataset)}>
            Watch live
          </a>
          <a class="button" href={pagePath.activity(dataset)}>
            What is in it
          </a>
          <a class="button" href={pagePath.workbench(dataset)}>
            Query
          </a>
        </div>
      </div>
    </section>
  );
}

/** Seconds while that is a readable number. */
function formatLag(seconds: number | null): string {
  if (seconds === null) return '–';
  return seconds < 120 ? `${seconds} s` : formatDuration(seconds * 1_000);
}

function isLate(status: DatasetStatus): boolean {
  return status.real_time && (status.head_lag_seconds ?? 0) > lagSecondsMax;
}
