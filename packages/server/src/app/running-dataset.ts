import type { Dataset } from '../dataset/dataset.ts';
import type { IngestStatus } from '../ingest/ingester.ts';
import type { Slot } from '../ledger/primitives.ts';
import type { PlannedDataset } from './plan-datasets.ts';

export interface RunningDataset {
  readonly planned: PlannedDataset;
  readonly dataset: Dataset;
  /** The head at the start. */
  readonly openedHead: Slot | null;
  /** Returns the status of the sources; `null` before they are followed, or if there are none. */
  ingest: () => IngestStatus | null;
  ledgerUnixMs: (() => number) | undefined;
}
