import type { AlarmCode } from '../dataset/alarm-codes.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import { countBlocks, lagSeconds } from '../http/describe-dataset.ts';
import type { Metrics, Sample } from '../http/metrics.ts';
import type { ServedDataset } from '../http/served-dataset.ts';
import type { IngestStatus } from '../ingest/ingester.ts';

/** Returns the open datasets, which change while the service starts. */
interface OpenDatasets {
  readonly all: readonly ServedDataset[];
  /** The names of the datasets that could not be opened. */
  readonly refused: readonly string[];
}

/** Registers the metrics of each dataset. Their values are read on each scrape. */
export function addDatasetMetrics(metrics: Metrics, directory: OpenDatasets): void {
  const each = (read: (dataset: ServedDataset) => number | null) => (): Sample[] =>
    directory.all.flatMap((dataset) => {
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
  metrics.gauge(
    'sluice_dataset_start_slot',
    'The lowest slot that can be asked for.',
    each(({ reader }) => reader.snapshot().start),
  );
  metrics.gauge(
    'sluice_dataset_sealed_bytes',
    'Bytes of the sealed segments.',
    each(({ reader }) =>
      reader.snapshot().segments.reduce((sum, { byteLength }) => sum + byteLength, 0),
    ),
  );
  metrics.gauge(
    'sluice_dataset_hot_blocks',
    'Blocks that are in the journal and not in a segment yet.',
    each(({ reader }) => reader.snapshot().hot.length),
  );
  metrics.gauge(
    'sluice_dataset_leases',
    'States that readers hold; their files stay until they are let go.',
    each(({ reader }) => reader.status().leaseCount),
  );
  metrics.gauge(
    'sluice_dataset_disk_free_bytes',
    'What was free on the disk at the last look, which every write brings about once a second.',
    each(({ reader }) => reader.status().freeBytes),
  );
  metrics.gauge('sluice_dataset_alarms', '1 for every alarm that stands.', () =>
    listAlarms(directory),
  );
  metrics.count('sluice_dataset_events_total', 'What happened to the chain, by event.', () =>
    directory.all.flatMap(({ reader }) => countEvents(reader, reader.status().counters)),
  );
  addIngestMetrics(metrics, directory);
}

function listAlarms({ all, refused }: OpenDatasets): Sample[] {
  const raised = (dataset: string, code: AlarmCode) => ({ labels: { dataset, code }, value: 1 });
  return [
    ...refused.map((name) => raised(name, 'dataset-unavailable')),
    ...all.flatMap(({ reader }) =>
      reader.status().alarms.map(({ code }) => raised(reader.description.name, code)),
    ),
  ];
}

function countEvents(
  { description }: DatasetReader,
  counters: Readonly<Record<string, number>>,
): Sample[] {
  return Object.entries(counters).map(([event, value]) => ({
    labels: { dataset: description.name, event },
    value,
  }));
}

function addIngestMetrics(metrics: Metrics, directory: OpenDatasets): void {
  const each = (read: (ingest: IngestStatus, reader: DatasetReader) => Sample[]) => () =>
    directory.all.flatMap(({ ingest, reader }) => {
      const status = ingest();
      return status === null ? [] : read(status, reader);
    });
  metrics.count(
    'sluice_ingest_events_total',
    'What ingestion met, by event.',
    each(({ counters }, reader) => countEvents(reader, counters)),
  );
  metrics.gauge(
    'sluice_ingest_stall_seconds',
    'For how long blocks have been offered and none was added.',
    each(({ stallMs }, { description }) => [
      { labels: { dataset: description.name }, value: stallMs / 1000 },
    ]),
  );
  metrics.gauge(
    'sluice_ingest_behind_slots',
    'How many slots the furthest source is ahead of the newest block.',
    each(({ behindSlots }, { description }) =>
      behindSlots === null ? [] : [{ labels: { dataset: description.name }, value: behindSlots }],
    ),
  );
  metrics.gauge(
    'sluice_source_state',
    '1 for the state a source is in.',
    each(({ sources }, { description }) =>
      sources.map(({ name, state }) => ({
        labels: { dataset: description.name, source: name, state },
        value: 1,
      })),
    ),
  );
  metrics.count(
    'sluice_source_failures_total',
    'Calls that failed and answers that were refused.',
    each(({ sources }, { description }) =>
      sources.map(({ name, failures }) => ({
        labels: { dataset: description.name, source: name },
        value: failures,
      })),
    ),
  );
}
