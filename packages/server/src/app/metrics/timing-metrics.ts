/** Histograms of durations that components of lower layers report. */

import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import { lagSeconds } from '../../http/describe-dataset.ts';
import type { Metrics } from '../../http/metrics/metrics.ts';

export interface TimingMetrics {
  readonly observeSync: (seconds: number) => void;
  readonly observeMerge: (dataset: string) => (seconds: number) => void;
  readonly observeSourceCall: (
    dataset: string,
  ) => (source: string, call: string, seconds: number) => void;
  readonly observeEngineWait: (queue: 'history' | 'urgent', seconds: number) => void;
  readonly observeVisibleLag: (dataset: string) => (seconds: number) => void;
}

/** The range is from less than one sync of a disk to the timeouts of calls. */
const shortBuckets = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
const mergeBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
/** Block times are whole seconds. */
const lagBuckets = [1, 2, 3, 4, 5, 7, 10, 15, 30, 60, 300, 3_600];

export function addTimingMetrics(metrics: Metrics): TimingMetrics {
  const sync = metrics.histogram(
    { name: 'sluice_storage_sync_seconds', help: 'Time to make written data durable.' },
    shortBuckets,
  );
  const merge = metrics.histogram(
    {
      name: 'sluice_dataset_merge_seconds',
      help: 'Time to seal blocks into a segment or to merge segments, including the wait for an earlier one and the rests.',
      labels: ['dataset'],
    },
    mergeBuckets,
  );
  const sourceCall = metrics.histogram(
    {
      name: 'sluice_source_call_seconds',
      help: 'Time from a call to a source to its reply, or to its failure.',
      labels: ['dataset', 'source', 'call'],
    },
    shortBuckets,
  );
  const engineWait = metrics.histogram(
    {
      name: 'sluice_engine_wait_seconds',
      help: 'Time that a query waited before it ran.',
      labels: ['queue'],
    },
    shortBuckets,
  );
  for (const queue of ['history', 'urgent']) engineWait.zero({ queue });
  const visibleLag = metrics.histogram(
    {
      name: 'sluice_dataset_visible_lag_seconds',
      help: 'The difference between the current time of the ledger and the time of the newest block when it became visible.',
      labels: ['dataset'],
    },
    lagBuckets,
  );
  return {
    observeSync: (seconds) => sync.observe(seconds),
    observeMerge: (dataset) => {
      merge.zero({ dataset });
      return (seconds) => merge.observe({ dataset }, seconds);
    },
    observeSourceCall: (dataset) => (source, call, seconds) =>
      sourceCall.observe({ dataset, source, call }, seconds),
    observeEngineWait: (queue, seconds) => engineWait.observe({ queue }, seconds),
    observeVisibleLag: (dataset) => {
      visibleLag.zero({ dataset });
      return (seconds) => visibleLag.observe({ dataset }, seconds);
    },
  };
}

interface VisibleLagDependencies {
  readonly ledgerUnixMs: () => number;
  readonly observe: (seconds: number) => void;
}

/** Reports the lag of each new head when readers can see it, until the signal aborts. */
export async function watchVisibleLag(
  reader: DatasetReader,
  { ledgerUnixMs, observe }: VisibleLagDependencies,
  signal: AbortSignal,
): Promise<void> {
  let { version, head } = reader.snapshot();
  while (!signal.aborted) {
    const snapshot = await reader.changed(version, signal);
    // A closed dataset changes no more.
    if (snapshot.version === version) return;
    const lag = snapshot.head?.hash === head?.hash ? null : lagSeconds(snapshot, ledgerUnixMs());
    if (lag !== null) observe(Math.max(0, lag));
    ({ version, head } = snapshot);
  }
}
