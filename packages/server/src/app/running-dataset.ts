import type { Slot } from '@sluice/ledger/primitives';
import type { Dataset } from '../dataset/dataset.ts';
import type { IngestStatus } from '../ingest/ingester.ts';
import type { PlannedDataset } from './plan-datasets.ts';

/** A dataset, and how it is written if it is shared with other processes. */
export interface OpenedDataset {
  readonly dataset: Dataset;
  /** Lets this process compete for writing: `work` runs whenever it is its turn, until the signal aborts. */
  readonly lead?: (work: (signal: AbortSignal) => Promise<void>) => void;
}

export interface RunningDataset {
  readonly planned: PlannedDataset;
  readonly dataset: Dataset;
  readonly lead: OpenedDataset['lead'] | undefined;
  readonly openedHead: Slot | null;
  /** Returns the status of the sources; `null` before they are followed, or for a dataset without sources. */
  ingest: () => IngestStatus | null;
  ledgerUnixMs: (() => number) | undefined;
}
