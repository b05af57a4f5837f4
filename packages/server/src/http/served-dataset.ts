import type { Dialect } from '@sluice/protocol/dialect';
import { assert } from '../base/assert.ts';
import { CodedError } from '../base/errors.ts';
import type { DatasetReader } from '../dataset/dataset-reader.ts';
import type { IngestStatus } from '../ingest/ingester.ts';
import type { DatasetStreams } from '../stream/dataset-streams.ts';
import type { DatasetLookups } from '../stream/lookups/dataset-lookups.ts';

/** A dataset as the interface offers it. */
export interface ServedDataset {
  readonly reader: DatasetReader;
  readonly streams: DatasetStreams;
  readonly lookups: DatasetLookups;
  readonly dialects: readonly Dialect[];
  /** The time by which the ledger dates its newest block: the calendar's, but for a simulated one. */
  readonly ledgerUnixMs: () => number;
  /** How its sources are, without their addresses, and what they brought; `null` where nothing feeds it. */
  readonly ingest: () => IngestStatus | null;
}

export const DATASET_NAME_PATTERN = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** What is known of a dataset before it is open. */
export interface DatasetNames {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly dialects: readonly Dialect[];
}

/** A dataset in the directory: opening, then served, or refused for good. */
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

  /** The dataset, if it is open. */
  get opened(): ServedDataset | undefined {
    return typeof this.#state === 'string' ? undefined : this.#state;
  }

  /** The dataset, or the refusal that a client gets instead. */
  get served(): ServedDataset {
    if (this.#state === 'opening') throw new CodedError('dataset-opening');
    if (this.#state === 'refused') throw new CodedError('dataset-unavailable');
    return this.#state;
  }

  become(state: ServedDataset | 'refused'): void {
    this.#state = state;
  }
}

/** Datasets by name and alias. A name from a client is looked up here and goes nowhere else. */
export class DatasetDirectory {
  readonly #byName = new Map<string, DatasetEntry>();
  readonly #entries: DatasetEntry[] = [];

  /** Makes a dataset known that is yet to be opened. */
  expect(names: DatasetNames): DatasetEntry {
    const entry = new DatasetEntry(names);
    this.#entries.push(entry);
    for (const key of [names.name, ...names.aliases]) {
      assert(DATASET_NAME_PATTERN.test(key), 'names of datasets are checked where they are made');
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

  /** Names of those that could not be opened. */
  get refused(): readonly string[] {
    return this.#entries.flatMap(({ isRefused, names }) => (isRefused ? [names.name] : []));
  }

  /** Those that are open. */
  get all(): readonly ServedDataset[] {
    return this.#entries.flatMap(({ opened }) => opened ?? []);
  }
}
