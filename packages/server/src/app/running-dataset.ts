import type { Dataset } from '../dataset/dataset.ts';
import type { IngestStatus } from '../ingest/ingester.ts';
import type { Slot } from '../ledger/primitives.ts';
import type { PlannedDataset } from './plan-datasets.ts';

export interface RunningDataset {
  readonly planned: PlannedDataset;
  readonly dataset: Dataset;
  /** Where it goes on from. */
  readonly openedHead: Slot | null;
  /** What its sources are doing; `null` before they are followed, and without any. */
  ingest: () => IngestStatus | null;
  ledgerUnixMs: (() => number) | undefined;
}
