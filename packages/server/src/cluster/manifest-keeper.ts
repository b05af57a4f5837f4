/** Advances the manifest in the bucket whenever the segments of a dataset change. Only the writer of a dataset runs it. */
import type { Clock } from '@sluice/base/clock';
import { isCodedError } from '@sluice/base/errors';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { Manifest } from '../dataset/manifest.ts';
import { type FeedPosition, type ManifestLog, sealedPart } from './bucket-manifest.ts';

export interface ManifestKeeperOptions {
  readonly writer: string;
  /** The number of the newest manifest; 0 when the bucket has no manifest. */
  readonly number: number;
}

export interface ManifestKeeperDependencies {
  readonly dataset: Dataset;
  readonly log: ManifestLog;
  readonly clock: Clock;
  /** Returns the position of the feed at a state. Undefined for a dataset without a feed. */
  readonly position?: (snapshot: ChainSnapshot) => FeedPosition;
  /** Called after a manifest was created. */
  readonly onAdvanced?: () => void;
}

/** The delay after a failure. New segments are minutes apart, so an immediate retry has no advantage. */
const retryMs = 2_000;

export class ManifestKeeper {
  readonly #dependencies: ManifestKeeperDependencies;
  readonly #writer: string;
  #number: number;
  #written: ChainSnapshot | undefined;

  constructor(options: ManifestKeeperOptions, dependencies: ManifestKeeperDependencies) {
    this.#writer = options.writer;
    this.#number = options.number;
    this.#dependencies = dependencies;
  }

  get number(): number {
    return this.#number;
  }

  /** Runs until the signal aborts. Throws `store-fenced` if another writer has advanced the manifest. */
  async run(signal: AbortSignal): Promise<void> {
    const { dataset, clock } = this.#dependencies;
    let version = -1;
    while (!signal.aborted) {
      const snapshot = await dataset.changed(version, signal);
      if (signal.aborted) return;
      version = snapshot.version;
      try {
        await this.advance();
        dataset.alarms.clear('store-unreachable');
      } catch (error) {
        if (!isCodedError(error) || error.code === 'store-fenced') throw error;
        dataset.alarms.raise('store-unreachable', error);
        version = -1;
        await clock.sleep(retryMs, signal);
      }
    }
  }

  /** Creates a manifest of the current state, if its segments differ from those of the last one. */
  async advance(): Promise<void> {
    const { dataset, log, position, onAdvanced } = this.#dependencies;
    const snapshot = dataset.snapshot();
    if (this.#written !== undefined && isSame(this.#written, snapshot)) return;
    if (snapshot.start === null) return;
    const feed = position?.(snapshot) ?? null;
    const chain = feed === null ? sealedPart(snapshot) : withFeedPositions(snapshot);
    const number = this.#number + 1;
    const content = { number, writer: this.#writer, dataset: manifestOf(dataset), chain, feed };
    await log.create(content);
    this.#number = number;
    this.#written = snapshot;
    onAdvanced?.();
  }
}

function isSame(written: ChainSnapshot, snapshot: ChainSnapshot): boolean {
  const isSealedSame =
    written.segments === snapshot.segments &&
    written.lists === snapshot.lists &&
    written.front === snapshot.front &&
    written.indexes === snapshot.indexes;
  return isSealedSame && written.start === snapshot.start;
}

/** Replaces the payload of each hot block by its index, which is also its index in the list of messages. */
function withFeedPositions(snapshot: ChainSnapshot): ChainSnapshot {
  return { ...snapshot, hot: snapshot.hot.map(({ header }, payload) => ({ header, payload })) };
}

function manifestOf({ description }: Dataset): Manifest {
  const { name, aliases, votes, allowMissing, genesisHash, from } = description;
  return {
    name,
    aliases,
    votes,
    genesisHash,
    metaOptional: allowMissing.includes('meta'),
    allowMissing: allowMissing.filter((kind) => kind !== 'meta'),
    ...(from === undefined ? {} : { from }),
  };
}
