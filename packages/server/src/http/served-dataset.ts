import { assert } from '@sluice/base/assert';
import { CodedError } from '@sluice/base/errors';
import { datasetNamePattern } from '@sluice/protocol/dataset-name';
import type { Dialect } from '@sluice/protocol/dialect';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { IngestStatus } from '../ingest/ingester.ts';
import type { DatasetStreams } from '../stream/dataset-streams.ts';
import type { DatasetLookups } from '../stream/lookups/dataset-lookups.ts';

/** An open dataset with everything that the routes need. */
export interface ServedDataset {
  readonly reader: DatasetReader;
  readonly streams: DatasetStreams;
  readonly lookups: DatasetLookups;
  readonly dialects: readonly Dialect[];
  /** Returns the current time of the ledger: wall-clock time, except for a simulated ledger. */
  readonly ledgerUnixMs: () => number;
  /** Returns the state of its sources, without their addresses; `null` if it has none. */
  readonly ingest: () => IngestStatus | null;
}

/** The properties of a dataset that are known before it is open. */
export interface DatasetNames {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly dialects: readonly Dialect[];
}

/** A dataset in the directory: first opening, then served or permanently refused. */
export class DatasetEntry {
  readonly names: DatasetNames;
  #state: ServedDataset | 'opening' | 'refused' = 'opening';

  constructor(names: DatasetNames) {
    this.names = names;
  }

  get isOpening(): boolean {
    return this.#state === 'opening';
  }

  get isRefused(): boolean {
    return this.#state === 'refused';
  }

  /** The dataset, or `undefined` if it is not open. */
  get opened(): ServedDataset | undefined {
    return typeof this.#state === 'string' ? undefined : this.#state;
  }

  /** The dataset. Throws the error that a client gets if it is not open. */
  get served(): ServedDataset {
    if (this.#state === 'opening') throw new CodedError('dataset-opening');
    if (this.#state === 'refused') throw new CodedError('dataset-unavailable');
    return this.#state;
  }

  become(state: ServedDataset | 'refused'): void {
    this.#state = state;
  }
}

/** Datasets by name and alias. Names from clients are used for this lookup only. */
export class DatasetDirectory {
  readonly #byName = new Map<string, DatasetEntry>();
  readonly #entries: DatasetEntry[] = [];

  /** Adds a dataset that will be opened later. */
  expect(names: DatasetNames): DatasetEntry {
    const entry = new DatasetEntry(names);
    this.#entries.push(entry);
    for (const key of [names.name, ...names.aliases]) {
      assert(datasetNamePattern.test(key), 'names of datasets are checked where they are made');
      assert(!this.#byName.has(key), 'names and aliases of datasets are unique');
      this.#byName.set(key, entry);
    }
    return entry;
  }

  find(name: string): DatasetEntry | undefined {
    return this.#byName.get(name);
  }

  get entries(): readonly DatasetEntry[] {
    return this.#entries;
  }

  /** The names of the datasets that could not be opened. */
  get refused(): readonly string[] {
    return this.#entries.flatMap(({ isRefused, names }) => (isRefused ? [names.name] : []));
  }

  /** The open datasets. */
  get all(): readonly ServedDataset[] {
    return this.#entries.flatMap(({ opened }) => opened ?? []);
  }
}
