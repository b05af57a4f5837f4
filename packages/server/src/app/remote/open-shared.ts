/** Opens a dataset that several processes share: a replica of its feed, with the sealed segments in the bucket. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Clock } from '@sluice/base/clock';
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { SealedSegment } from '../../chain/chain-snapshot.ts';
import type { Bucket } from '../../cluster/bucket.ts';
import type { Feed } from '../../cluster/feed.ts';
import { FeedTrimmer } from '../../cluster/feed-trimmer.ts';
import { JetStreamFeed } from '../../cluster/jetstream-feed.ts';
import { ManifestKeeper } from '../../cluster/manifest-keeper.ts';
import { prepareReplica } from '../../cluster/prepare-replica.ts';
import { Replica } from '../../cluster/replica.ts';
import { takeTurns } from '../../cluster/take-turns.ts';
import { DamageWatch } from '../../cluster/watch-damage.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import type { StorageStatus } from '../../dataset/dataset-reader.ts';
import type { Config } from '../config/config-schema.ts';
import type { FeedConfig, StoreConfig } from '../config/remote-schema.ts';
import { type OpenDatasetDependencies, openPlanned } from '../open-dataset.ts';
import type { PlannedDataset } from '../plan-datasets.ts';
import type { OpenedDataset } from '../running-dataset.ts';
import {
  collectRegularly,
  countersOf,
  openBucketOf,
  type RemoteDependencies,
  runReader,
} from './bucket-tasks.ts';

interface SharedConfig {
  readonly store: StoreConfig;
  readonly feed: FeedConfig;
  readonly role: Config['role'];
}

/** The interval between two removals of unused local files. */
const tidyEveryMs = 30_000;
/** How long a disk may fail before another process writes, and how often it is checked. */
const diskMsMax = 5_000;
const diskEveryMs = 500;
const storeRetryMs = 1_000;

export async function openShared(
  planned: PlannedDataset,
  { store: storeConfig, feed: feedConfig, role }: SharedConfig,
  dependencies: RemoteDependencies,
): Promise<OpenedDataset> {
  const { clock, closers } = dependencies;
  const { name } = planned.names;
  const member = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const bucket = await openBucketOf(planned, storeConfig, dependencies);
  const feed = await JetStreamFeed.open({ ...feedConfig, dataset: name }, { clock });
  closers.add(() => feed.close());
  const open = (remote: RemoteParts) => openPlanned(planned, { ...dependencies, remote });
  const { segmentBlockCount } = storeConfig;
  const options = { folder: planned.folder, member, role, segmentBlockCount };
  return openReplica(options, { ...dependencies, bucket, feed, open });
}

type RemoteParts = NonNullable<OpenDatasetDependencies['remote']>;

export interface ReplicaOptions {
  readonly folder: string;
  /** The name of this process among the others. */
  readonly member: string;
  readonly role: Config['role'];
  readonly segmentBlockCount: number;
}

export interface OpenReplicaDependencies
  extends Pick<RemoteDependencies, 'fs' | 'clock' | 'tasks' | 'log'> {
  readonly bucket: Bucket;
  readonly feed: Feed;
  readonly open: (remote: RemoteParts) => Promise<Dataset>;
}

/** Opens the dataset in a folder as a copy of a feed, and starts its background tasks. */
export async function openReplica(
  { folder, member, role, segmentBlockCount }: ReplicaOptions,
  dependencies: OpenReplicaDependencies,
): Promise<OpenedDataset> {
  const { fs, clock, tasks, bucket, feed, open } = dependencies;
  const prepared = { writer: member, mayWrite: role !== 'read' };
  const manifest = await prepareReplica(folder, prepared, { fs, bucket, feed });
  const named = { dataset: bucket.dataset, feed, store: bucket.store, clock };
  const replica = new Replica(named, manifest);
  const damage = new DamageWatch(bucket.segments);
  const dataset = await open({
    segments: bucket.segments,
    publish: replica.publish,
    checkGrowth: replica.checkGrowth,
    confirm: () => replica.confirm(),
    counters: () => countersOf(bucket),
    onDamage: (segment: SealedSegment) => damage.report(segment),
    limits: {
      groupBytesMax: Math.floor(feed.messageBytesMax * groupShare),
      sealBlockCount: segmentBlockCount,
    },
  });
  try {
    replica.attach(dataset);
    if (manifest !== undefined) await replica.restoreHot(manifest);
    await replica.catchUp(new AbortController().signal);
  } catch (error) {
    await dataset.close();
    throw error;
  }
  // While this process is behind the feed, it still needs the segments of its own older state.
  const oldestAgeMs = () => Math.max(dataset.oldestLeaseMs, replica.behindMs);
  runReader(dataset, bucket, damage, { clock, tasks, reader: member, oldestAgeMs });
  tasks.run((signal) => tidy(dataset, dependencies, signal));
  if (role === 'read') tasks.run((signal) => replica.follow(signal));
  const parts = { dataset, bucket, feed, replica, member };
  return {
    dataset,
    lead: (work) => {
      if (role !== 'read') tasks.run((signal) => compete(parts, { ...dependencies, work }, signal));
    },
  };
}

/** Commits are grouped up to this share of a message, so that blocks of usual size need no object of their own. */
const groupShare = 0.7;

interface SharedParts {
  readonly dataset: Dataset;
  readonly bucket: Bucket;
  readonly feed: Feed;
  readonly replica: Replica;
  readonly member: string;
}

interface TurnDependencies extends Pick<RemoteDependencies, 'clock' | 'log'> {
  readonly work: (signal: AbortSignal) => Promise<void>;
}

/** Follows the feed, and writes whenever this process has the lease. */
async function compete(
  parts: SharedParts,
  dependencies: TurnDependencies,
  signal: AbortSignal,
): Promise<void> {
  const { dataset, feed, replica, member } = parts;
  const { clock, log, work } = dependencies;
  const { name } = dataset.description;
  await takeTurns(
    member,
    {
      replica,
      feed,
      clock,
      work: (turn) => runTurn(parts, { ...dependencies, work }, turn),
      onTurn: (isLeading) => log.info({ dataset: name }, isLeading ? 'writing' : 'standing by'),
      onFault: (error) => log.warn({ dataset: name, code: error.code }, error.message),
    },
    signal,
  );
}

/** One term of a writer: follows the sources, advances the manifest, and removes unused objects. */
async function runTurn(
  parts: SharedParts,
  dependencies: TurnDependencies,
  turn: AbortSignal,
): Promise<void> {
  const stop = new AbortController();
  const end = () => stop.abort();
  turn.addEventListener('abort', end, { once: true });
  if (turn.aborted) stop.abort();
  const trimmer = new FeedTrimmer({ ...dependencies, feed: parts.feed });
  const { signal } = stop;
  const { bucket, dataset } = parts;
  const running = [
    keepManifests(parts, { ...dependencies, trimmer }, stop.signal),
    trimmer.run(stop.signal),
    dependencies.work(stop.signal),
    watchDisk(parts.dataset, dependencies.clock, stop.signal),
    collectRegularly(bucket, { ...dependencies, writer: parts.member, dataset, signal }),
  ];
  try {
    await Promise.all(running);
  } finally {
    // If one task fails, the others are stopped, and all have ended before another process may write.
    stop.abort();
    dataset.restUpkeep();
    await Promise.allSettled(running);
  }
}

/** Creates manifests until the signal aborts. While the store cannot be reached, it retries, and blocks are still written to the feed. */
async function keepManifests(
  parts: SharedParts,
  { clock, trimmer }: Pick<RemoteDependencies, 'clock'> & { readonly trimmer: FeedTrimmer },
  signal: AbortSignal,
): Promise<void> {
  const { alarms } = parts.dataset;
  while (!signal.aborted) {
    try {
      const keeper = await openKeeper(parts, trimmer, clock);
      return await keeper.run(signal);
    } catch (error) {
      if (!isCodedError(error, 'store-unreachable')) throw error;
      alarms.raise('store-unreachable', error);
      await clock.sleep(storeRetryMs, signal);
    }
  }
}

async function openKeeper(
  { dataset, bucket, replica, member }: SharedParts,
  trimmer: FeedTrimmer,
  clock: Clock,
): Promise<ManifestKeeper> {
  const latest = await bucket.log.readLatest();
  const position = latest?.manifest.feed ?? undefined;
  if (position !== undefined) trimmer.advance(position);
  let written = position;
  return new ManifestKeeper(
    { writer: member, number: latest?.number ?? 0 },
    {
      dataset,
      log: bucket.log,
      clock,
      position: (snapshot) => {
        written = replica.position(snapshot);
        return written;
      },
      onAdvanced: () => {
        if (written !== undefined) trimmer.advance(written);
      },
    },
  );
}

/** Throws after the local disk has been full or failing for a while, so that another process can write. */
async function watchDisk(dataset: Dataset, clock: Clock, signal: AbortSignal): Promise<void> {
  let openMs = clock.nowMs();
  while (!signal.aborted) {
    const { storage } = dataset.status();
    // Writes to a full feed fail too, and would fail in every process.
    if (storage.kind === 'open' || dataset.alarms.has('feed-full')) openMs = clock.nowMs();
    if (clock.nowMs() - openMs > diskMsMax) throw diskFault(storage);
    await clock.sleep(diskEveryMs, signal);
  }
}

function diskFault(storage: StorageStatus): CodedError {
  if (storage.kind !== 'disk-floor') return new CodedError('dataset-write-failed', {});
  const { freeBytes, floorBytes } = storage;
  return new CodedError('disk-floor-reached', { freeBytes, floorBytes });
}

async function tidy(
  dataset: Dataset,
  { clock }: Pick<RemoteDependencies, 'clock'>,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(tidyEveryMs, signal);
    if (signal.aborted) return;
    await dataset.collect().catch((error: unknown) => {
      // A failing disk raises alarms when it is written to. This task retries later.
      if (!isCodedError(error)) throw error;
    });
  }
}
