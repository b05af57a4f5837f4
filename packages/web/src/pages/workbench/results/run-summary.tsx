import { formatBytes, formatDuration, formatInteger, formatRate } from '../../../base/format.ts';
import { type QueryRun, type RunState, recordCountMax } from '../run-query.ts';

const states: Readonly<Record<RunState['kind'], readonly [string, string]>> = {
  running: ['accent', 'Running'],
  finished: ['ok', 'Complete'],
  stopped: ['', 'Stopped'],
  full: ['warn', 'Full'],
  failed: ['bad', 'Failed'],
};

/** The counters of a run, while it runs and after it. */
export function RunSummary({ run }: { readonly run: QueryRun }) {
  const { blockCount, recordCount, bytes, firstLineMs, elapsedMs, rollbackCount } = run.figures;
  const [tone, text] = states[run.state.kind];
  const seconds = Math.max(0.001, elapsedMs / 1_000);
  return (
    <div class="run-summary" role="status">
      <span class={`badge ${tone}`}>
        {run.state.kind === 'running' && <span class="dot pulse" />}
        {text}
      </span>
      <Figure label="records" value={formatInteger(recordCount)} />
      <Figure label="blocks" value={formatInteger(blockCount)} />
      <Figure label="read" value={formatBytes(bytes)} />
      <Figure
        label="first line"
        value={firstLineMs === undefined ? '–' : formatDuration(firstLineMs)}
      />
      <Figure label="elapsed" value={formatDuration(elapsedMs)} />
      <Figure label="blocks/s" value={formatRate(blockCount / seconds)} />
      {rollbackCount > 0 && <Figure label="forks" value={formatInteger(rollbackCount)} />}
      {run.state.kind === 'full' && (
        <span class="warn small">
          The page keeps {formatInteger(recordCountMax)} records. Copy the query as a program to
          read more.
        </span>
      )}
    </div>
  );
}

function Figure({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <span class="run-figure">
      <strong>{value}</strong> <span class="muted small">{label}</span>
    </span>
  );
}
