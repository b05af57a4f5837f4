import { countBlocks, lagSeconds } from '../http/describe-dataset.ts';
import type { Metrics, Sample } from '../http/metrics.ts';
import type { ServedDataset } from '../http/served-dataset.ts';

/** What there is to know of each dataset, read when it is asked for. */
export function addDatasetMetrics(metrics: Metrics, datasets: readonly ServedDataset[]): void {
  const each = (read: (dataset: ServedDataset) => number | null) => (): Sample[] =>
    datasets.flatMap((dataset) => {
      const value = read(dataset);
      const labels = { dataset: dataset.reader.description.name };
      return value === null ? [] : [{ labels, value }];
    });
  metrics.gauge(
    'sluice_dataset_head_slot',
    'Slot of the newest block.',
    each(({ reader }) => reader.snapshot().head?.number ?? null),
  );
  metrics.gauge(
    'sluice_dataset_finalized_slot',
    'Slot of the newest finalized block.',
    each(({ reader }) => reader.snapshot().finalized?.number ?? null),
  );
  metrics.gauge(
    'sluice_dataset_head_lag_seconds',
    "How far the newest block's time is behind the ledger's.",
    each(({ reader, ledgerUnixMs }) => lagSeconds(reader.snapshot(), ledgerUnixMs())),
  );
  metrics.gauge(
    'sluice_dataset_blocks',
    'Stored blocks.',
    each(({ reader }) => countBlocks(reader.snapshot())),
  );
  metrics.gauge(
    'sluice_dataset_waiters',
    'Readers that wait for the next block.',
    each(({ streams }) => streams.waiterCount),
  );
  metrics.gauge('sluice_dataset_alarms', 'Alarms that stand, by code.', () =>
    datasets.flatMap(({ reader }) =>
      reader.status().alarms.map(({ code }) => ({
        labels: { dataset: reader.description.name, code },
        value: 1,
      })),
    ),
  );
  metrics.count('sluice_dataset_events_total', 'What happened to a dataset, by kind.', () =>
    datasets.flatMap(({ reader }) =>
      Object.entries(reader.status().counters).map(([event, value]) => ({
        labels: { dataset: reader.description.name, event },
        value,
      })),
    ),
  );
}
