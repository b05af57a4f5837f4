import type { Dialect } from '@sluice/protocol/dialect';
import { assert } from '../base/assert.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { IngestStatus } from '../ingest/ingester.ts';
import type { DatasetStreams } from '../stream/dataset-streams.ts';

/** A dataset as the interface offers it. */
export interface ServedDataset {
  readonly reader: DatasetReader;
  readonly streams: DatasetStreams;
  readonly dialects: readonly Dialect[];
  /** The time by which the ledger dates its newest block: the calendar's, but for a simulated one. */
  readonly ledgerUnixMs: () => number;
  /** How its sources are, without their addresses, and what they brought; `null` where nothing feeds it. */
  readonly ingest: () => IngestStatus | null;
}

export const DATASET_NAME_PATTERN = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** Datasets by name and alias. A name from a client is looked up here and goes nowhere else. */
export class DatasetDirectory {
  readonly #byName = new Map<string, ServedDataset>();
  readonly all: readonly ServedDataset[];

  constructor(datasets: readonly ServedDataset[]) {
    this.all = datasets;
    for (const dataset of datasets) {
      const { name, aliases } = dataset.reader.description;
      for (const key of [name, ...aliases]) {
        assert(DATASET_NAME_PATTERN.test(key), 'names of datasets are checked where they are made');
        assert(!this.#byName.has(key), 'names and aliases of datasets are unique');
        this.#byName.set(key, dataset);
      }
    }
  }

  find(name: string): ServedDataset | undefined {
    return this.#byName.get(name);
  }
}
