import type { Clock } from '@sluice/base/clock';
import { totalSealed } from '../../chain/segment-lists.ts';
import type { AlarmCode } from '../../dataset/alarm-codes.ts';
import type { DatasetReader } from '../../dataset/dataset-reader.ts';
import { countBlocks, lagSeconds } from '../../http/describe-dataset.ts';
import type { Metrics, Sample } from '../../http/metrics/metrics.ts';
import type { ServedDataset } from '../../http/served-dataset.ts';
import type { IngestStatus } from '../../ingest/ingester.ts';
import type { Fs, FsFile } from '../../storage/fs.ts';
import type { AnswerCache } from '../../stream/answer-cache.ts';

/** The datasets at the moment of a scrape: they open one after another. */
interface OpenDatasets {
  readonly all: readonly ServedDataset[];
  /** The names of the datasets that could not be opened. */
  readonly refused: readonly string[];
}

/** Adds the metrics of each dataset. They are read at every scrape. */
export function addDatasetMetrics(metrics: Metrics, directory: OpenDatasets): void {
  const each = (read: (dataset: ServedDataset) => number | null) => (): Sample[] =>
    directory.all.flatMap((dataset) => {
      const value = read(dataset);
      const labels = { dataset: dataset.reader.description.name };
      return value === null ? [] : [{ labels, value }];
    });
  const gauge = (name: string, help: string, read: (dataset: ServedDataset) => number | null) =>
    metrics.gauge({ name, help, labels: ['dataset'] }, each(read));
  gauge(
    'sluice_dataset_head_slot',
    'Slot of the newest block.',
    ({ reader }) => reader.snapshot().head?.number ?? null,
  );
  gauge(
    'sluice_dataset_finalized_slot',
    'Slot of the newest finalized block.',
    ({ reader }) => reader.snapshot().finalized?.number ?? null,
  );
  gauge(
    'sluice_dataset_head_lag_seconds',
    'The difference between the current time, or that of a built-in simulator, and the time of the newest block.',
    ({ reader, ledgerUnixMs }) => lagSeconds(reader.snapshot(), ledgerUnixMs()),
  );
  gauge('sluice_dataset_blocks', 'Stored blocks.', ({ reader }) => countBlocks(reader.snapshot()));
  gauge(
    'sluice_dataset_waiters',
    'Readers that wait for the next block.',
    ({ streams }) => streams.waiterCount,
  );
  gauge(
    'sluice_dataset_start_slot',
    'The lowest slot that can be requested.',
    ({ reader }) => reader.snapshot().start,
  );
  gauge(
    'sluice_dataset_sealed_bytes',
    'Bytes of the sealed segments.',
    ({ reader }) => totalSealed(reader.snapshot()).byteLength,
  );
  gauge(
    'sluice_dataset_hot_blocks',
    'Blocks that are in the journal and not in a segment yet.',
    ({ reader }) => reader.snapshot().hot.length,
  );
  gauge(
    'sluice_dataset_leases',
    'Snapshots that readers hold; their files are kept until they are released.',
    ({ reader }) => reader.status().leaseCount,
  );
  gauge(
    'sluice_dataset_disk_free_bytes',
    'Free bytes on the disk at the last check, which is made about once a second while blocks are written.',
    ({ reader }) => reader.status().freeBytes,
  );
  metrics.gauge(
    {
      name: 'sluice_dataset_alarms',
      help: '1 for every active alarm.',
      labels: ['dataset', 'code'],
    },
    () => listAlarms(directory),
  );
  metrics.count(
    {
      name: 'sluice_dataset_events_total',
      help: 'Events of the chain, by kind.',
      labels: ['dataset', 'event'],
    },
    () => directory.all.flatMap(({ reader }) => countEvents(reader, reader.status().counters)),
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
    {
      name: 'sluice_ingest_events_total',
      help: 'Events of ingestion, by kind.',
      labels: ['dataset', 'event'],
    },
    each(({ counters }, reader) => countEvents(reader, counters)),
  );
  metrics.gauge(
    {
      name: 'sluice_ingest_stall_seconds',
      help: 'How long sources have offered blocks without any being added.',
      labels: ['dataset'],
    },
    each(({ stallMs }, { description }) => [
      { labels: { dataset: description.name }, value: stallMs / 1000 },
    ]),
  );
  metrics.gauge(
    {
      name: 'sluice_ingest_behind_slots',
      help: 'How many slots the furthest source is ahead of the newest block.',
      labels: ['dataset'],
    },
    each(({ behindSlots }, { description }) =>
      behindSlots === null ? [] : [{ labels: { dataset: description.name }, value: behindSlots }],
    ),
  );
  metrics.gauge(
    {
      name: 'sluice_source_state',
      help: '1 for the current state of a source.',
      labels: ['dataset', 'source', 'state'],
    },
    each(({ sources }, { description }) =>
      sources.map(({ name, state }) => ({
        labels: { dataset: description.name, source: name, state },
        value: 1,
      })),
    ),
  );
  metrics.count(
    {
      name: 'sluice_source_failures_total',
      help: 'Calls that failed and replies that were rejected.',
      labels: ['dataset', 'source'],
    },
    each(({ sources }, { description }) =>
      sources.map(({ name, failures }) => ({
        labels: { dataset: description.name, source: name },
        value: failures,
      })),
    ),
  );
}

/** Returns a file system that reports how long each sync of a file or folder took, in seconds. */
export function meterSyncs(fs: Fs, clock: Clock, observe: (seconds: number) => void): Fs {
  const timed = async (sync: () => Promise<void>) => {
    const startMs = clock.nowMs();
    await sync();
    observe((clock.nowMs() - startMs) / 1000);
  };
  const meterFile = (file: FsFile): FsFile => ({
    size: () => file.size(),
    read: (offset, length) => file.read(offset, length),
    write: (offset, parts) => file.write(offset, parts),
    truncate: (length) => file.truncate(length),
    sync: () => timed(() => file.sync()),
    close: () => file.close(),
  });
  return {
    makeFolder: (path) => fs.makeFolder(path),
    list: (path) => fs.list(path),
    openFile: async (path, mode) => meterFile(await fs.openFile(path, mode)),
    rename: (from, to) => fs.rename(from, to),
    remove: (path) => fs.remove(path),
    removeFolder: (path) => fs.removeFolder(path),
    syncFolder: (path) => timed(() => fs.syncFolder(path)),
    space: (path) => fs.space(path),
  };
}

export function addAnswerCacheMetrics(metrics: Metrics, answers: AnswerCache): void {
  metrics.gauge(
    { name: 'sluice_answer_cache_bytes', help: 'The size of the cached answers.' },
    () => [{ value: answers.bytes }],
  );
  metrics.count(
    {
      name: 'sluice_answer_cache_segments_total',
      help: 'Whole sealed segments that queries asked for, by whether the cache had the answer.',
      labels: ['result'],
    },
    () => [
      { labels: { result: 'hit' }, value: answers.hitCount },
      { labels: { result: 'miss' }, value: answers.missCount },
    ],
  );
}
