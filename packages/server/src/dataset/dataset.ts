/**
 * One dataset: a chain in its own folder, with one writer and any number of readers.
 *
 *   DIR/<dataset>/manifest.json   its name and the options it was created with   (DatasetManifest)
 *   DIR/<dataset>/journal/        hot blocks and every change of the chain       (ChainWriter)
 *   DIR/<dataset>/segments/       sealed blocks                                  (SegmentStore)
 *   DIR/<dataset>/lists/          descriptions of older segments                 (SegmentStore)
 *   DIR/<dataset>/indexes/        where keys occur in many segments              (SegmentStore)
 *
 * This class only connects the parts: DatasetWriter commits, SegmentSealer turns hot blocks into segments, BlockReader
 * caches what readers need, SnapshotLeases protects it from removal, and ChangeWaiters wakes the readers.
 */
import type { Clock } from '@sluice/base/clock';
import { isCodedError } from '@sluice/base/errors';
import type { BlockHeader } from '@sluice/ledger/block';
import type { ChainSnapshot, HotBlock, IndexRun, SealedSegment } from '../chain/chain-snapshot.ts';
import { crowdedCount, type ReadList } from '../chain/segment-lists.ts';
import type { ByteRange } from '../object-store/object-store.ts';
import type { Fs } from '../storage/fs.ts';
import { AlarmBoard } from './alarm-board.ts';
import { BlockReader } from './block-reader.ts';
import { ChainWriter, hotPayloads, type NewChange, type PublishCommits } from './chain-writer.ts';
import { ChangeWaiters } from './change-waiters.ts';
import { checkJournalExists, removeUnlistedSegments } from './dataset-files.ts';
import { type DatasetLimits, datasetLimits } from './dataset-limits.ts';
import { DatasetManifest } from './dataset-manifest.ts';
import type {
  Allocate,
  DatasetDescription,
  DatasetReader,
  DatasetStatus,
  RemoteSegment,
  SnapshotLease,
  StorageStatus,
} from './dataset-reader.ts';
import { DatasetWriter } from './dataset-writer.ts';
import { type IndexKey, IndexReader, type SlotRanges } from './history/index-reader.ts';
import type { MakeIndex } from './history/index-thread.ts';
import type { Manifest } from './manifest.ts';
import type { BuiltSegment } from './merge/built-segment.ts';
import { MergeThread, type SegmentSequence } from './merge/merge-thread.ts';
import { chooseTrim, type Retention } from './retention.ts';
import type { SegmentFiles } from './segment-files.ts';
import { SegmentSealer } from './segment-sealer.ts';
import { SegmentStore } from './segment-store.ts';
import { SnapshotLeases } from './snapshot-leases.ts';
import { Upkeep } from './upkeep.ts';

export interface DatasetOptions {
  readonly folder: string;
  /** Whether a live source feeds it. */
  readonly realTime: boolean;
  readonly limits?: Partial<DatasetLimits>;
}

export interface DatasetDependencies {
  readonly fs: Fs;
  readonly clock: Clock;
  /** Whether this process has held the lock continuously since the dataset was opened or `reacquireLock` last succeeded. */
  readonly isLockHeld: () => boolean;
  /** Acquires a lost lock again, if it is free. Without this function a lost lock stays lost. */
  readonly reacquireLock?: () => Promise<void>;
  /** Merges several segments into one; by default in a worker thread. */
  readonly merge?: (segments: SegmentSequence) => Promise<BuiltSegment>;
  /** Receives how long each merge took, the wait for an earlier one included. */
  readonly observeMerge?: (seconds: number) => void;
  /** Makes indexes over segments; without this function there are none. */
  readonly makeIndex?: MakeIndex;
  /** Where sealed segments are; by default in the folder `segments`. */
  readonly segments?: SegmentFiles;
  /** Makes a commit durable elsewhere before it becomes visible here. */
  readonly publish?: PublishCommits;
  /** See `DatasetWriter`. */
  readonly checkGrowth?: () => void;
  /** See `DatasetReader.confirm`. */
  readonly confirm?: () => Promise<boolean>;
  /** Further counts of events for `status`. */
  readonly counters?: () => Readonly<Record<string, number>>;
  /** Called when a segment cannot be read. */
  readonly onDamage?: (segment: SealedSegment) => void;
  /** See `ChainWriterDependencies`. */
  readonly onDiscarded?: (byteLength: number, left: ChainSnapshot) => void;
}

interface DatasetParts {
  readonly manifest: DatasetManifest;
  readonly chain: ChainWriter;
  readonly writer: DatasetWriter;
  readonly sealer: SegmentSealer;
  readonly segments: SegmentFiles;
  readonly blocks: BlockReader;
  readonly leases: SnapshotLeases;
  readonly waiters: ChangeWaiters;
  readonly mergeThreads: readonly MergeThread[];
  readonly indexes: IndexReader;
  readonly upkeep: Upkeep;
  readonly removeUnused: () => Promise<boolean>;
}

/** Faults of the object store and of the disk of its cache. The requests and writes that also fail report them. */
const temporaryFaults: ReadonlySet<string> = new Set(['cache-failed', 'store-unreachable']);

export class Dataset implements DatasetReader {
  readonly alarms: AlarmBoard;
  readonly confirm?: () => Promise<boolean>;
  readonly #options: DatasetOptions;
  readonly #parts: DatasetParts;
  readonly #onDamage: (segment: SealedSegment) => void;
  readonly #counters: () => Readonly<Record<string, number>>;
  #isClosed = false;

  private constructor(
    options: DatasetOptions,
    dependencies: DatasetDependencies,
    alarms: AlarmBoard,
    parts: DatasetParts,
  ) {
    this.alarms = alarms;
    this.#options = options;
    this.#parts = parts;
    this.#onDamage = dependencies.onDamage ?? (() => undefined);
    this.#counters = dependencies.counters ?? (() => ({}));
    if (dependencies.confirm !== undefined) this.confirm = dependencies.confirm;
  }

  /** Opens a dataset in its last committed state. Throws, and changes nothing, if its files cannot be read. */
  static async open(options: DatasetOptions, dependencies: DatasetDependencies): Promise<Dataset> {
    const alarms = new AlarmBoard(dependencies.clock);
    const parts = await openParts(options, dependencies, alarms);
    const dataset = new Dataset(options, dependencies, alarms, parts);
    try {
      await dataset.#upgrade(dependencies.fs);
      await dataset.collect();
    } catch (error) {
      await dataset.close();
      throw error;
    }
    // A dataset of a bucket is improved by its writer only, which begins with its first segment.
    if (dependencies.segments === undefined) parts.upkeep.start();
    return dataset;
  }

  /** Before the first commit of this version. Older segments are moved into lists afterwards. */
  async #upgrade(fs: Fs): Promise<void> {
    const { manifest } = this.#parts;
    if (!manifest.isOlder) return;
    await removeUnlistedSegments(this.#options.folder, this.snapshot().segments, fs);
    await manifest.upgrade();
  }

  get description(): DatasetDescription {
    return this.#parts.manifest.describe(this.#options.realTime);
  }

  snapshot(): ChainSnapshot {
    return this.#parts.chain.visible;
  }

  /** Returns the state after all commits in progress. The writer builds on it. */
  pendingSnapshot(): ChainSnapshot {
    return this.#parts.chain.pending;
  }

  async changed(sinceVersion: number, signal: AbortSignal): Promise<ChainSnapshot> {
    await this.#parts.waiters.wait(sinceVersion, signal);
    return this.snapshot();
  }

  acquire(): SnapshotLease {
    return this.#parts.leases.acquire(this.snapshot());
  }

  readHotBlock(block: HotBlock, allocate?: Allocate): Promise<Uint8Array> {
    return this.#parts.blocks.readHotBlock(block, allocate);
  }

  readSegment(segment: SealedSegment, range?: ByteRange): Promise<Uint8Array> {
    return this.#parts.segments.read(segment, range);
  }

  segmentPath(segment: SealedSegment): string {
    return this.#parts.segments.path(segment);
  }

  remoteSegment(segment: SealedSegment): RemoteSegment | undefined {
    return this.#parts.segments.remote(segment);
  }

  readHeaders(segment: SealedSegment): Promise<readonly BlockHeader[]> {
    return this.#parts.blocks.readHeaders(segment);
  }

  readonly readList: ReadList = (list) => this.#parts.blocks.readList(list);

  /**
   * Makes changes durable and visible as one commit. Throws, and changes nothing, if a rule of the chain forbids them, the
   * free disk space is below the minimum (except for a trim, which frees space), or an earlier write failed.
   */
  commit(changes: readonly NewChange[]): Promise<ChainSnapshot> {
    return this.#parts.writer.commit(changes);
  }

  /**
   * Moves the lowest finalized hot blocks into a segment, if there are enough of them, and returns whether it did. Sealing
   * changes no query result.
   */
  async seal(): Promise<boolean> {
    const lease = this.acquire();
    try {
      const isSealed = await this.#parts.sealer.seal(lease.snapshot);
      if (isSealed) this.#parts.upkeep.start();
      return isSealed;
    } catch (error) {
      // The blocks were sealed meanwhile, so the caller continues with those above.
      if (isCodedError(error, 'chain-segments-changed')) return true;
      throw error;
    } finally {
      lease.release();
    }
  }

  /** Adds a segment of finalized blocks above a chain that has no hot blocks. Bulk imports use it to bypass the journal. */
  appendSealed(built: BuiltSegment, headers: readonly BlockHeader[]): Promise<ChainSnapshot> {
    return this.#added(this.#parts.sealer.append(built, headers));
  }

  /**
   * Adds finalized history as one segment whose last block is the anchor. The start moves down to its first block. Takes
   * ownership of the payloads.
   */
  prependSealed(
    payloads: readonly Uint8Array[],
    headers: readonly BlockHeader[],
  ): Promise<ChainSnapshot> {
    return this.#added(this.#parts.sealer.prepend(payloads, headers));
  }

  /** Adds finalized history as a segment that another service has built. Its last block is the anchor. */
  prependBuilt(built: BuiltSegment, headers: readonly BlockHeader[]): Promise<ChainSnapshot> {
    return this.#added(this.#parts.sealer.prependBuilt(built, headers));
  }

  /** If segments are added faster than they are merged, the caller waits. */
  async #added(adding: Promise<ChainSnapshot>): Promise<ChainSnapshot> {
    const snapshot = await adding;
    const { upkeep } = this.#parts;
    upkeep.start();
    const { front, segments } = snapshot;
    if (Math.max(front.length, segments.length) >= crowdedCount / 2) await upkeep.settled();
    return snapshot;
  }

  /**
   * Removes some of the blocks that the retention policy does not keep. Returns whether it removed any; the caller then removes their
   * files and calls it again.
   */
  async trim(retention: Retention): Promise<boolean> {
    for (;;) {
      const snapshot = this.pendingSnapshot();
      const keepFrom = chooseTrim(snapshot, retention);
      if (keepFrom !== undefined) {
        await this.commit([{ kind: 'trim', keepFrom }]);
        return true;
      }
      const [list] = snapshot.lists;
      // Only segments outside lists are removed.
      if (list === undefined || snapshot.front.length > 0 || retention.kind === 'all') return false;
      await this.commit([{ kind: 'unlist', content: await this.readList(list) }]);
    }
  }

  /**
   * Removes the files that neither the current state nor a leased snapshot needs. Returns false if a leased snapshot still
   * needs a file that the current state does not.
   */
  async collect(): Promise<boolean> {
    const { chain, leases, removeUnused } = this.#parts;
    await chain.collect();
    const isRemoved = await removeUnused();
    const payloads = hotPayloads(this.snapshot());
    const isUsed = (id: number) => payloads.has(id);
    return isRemoved && [...leases.payloads()].every(isUsed);
  }

  /** An index that cannot be read excludes nothing, so that queries are slower but complete. */
  readonly findSlots = async (run: IndexRun, key: IndexKey): Promise<SlotRanges> => {
    try {
      return await this.#parts.indexes.find(run, key);
    } catch (error) {
      if (!isCodedError(error)) throw error;
      // Only upkeep clears this alarm, and a process that does not write has none. So faults that end by themselves do not raise it.
      if (!temporaryFaults.has(error.code)) this.alarms.raise('dataset-upkeep-failed', error);
      return undefined;
    }
  };

  /** Merges, lists and indexes all segments that are due, and waits until that is done. */
  finishUpkeep(): Promise<void> {
    this.#parts.upkeep.start();
    return this.#parts.upkeep.done();
  }

  /** After `dataset-write-failed`: reads the journal again, so that writing can resume. Throws if the disk still fails. */
  reopen(): Promise<void> {
    return this.#parts.writer.reopen();
  }

  /** Stores the genesis hash of the ledger. From then on another ledger is rejected with `dataset-genesis-differs`. */
  adoptGenesis(genesisHash: string): Promise<void> {
    return this.#parts.manifest.adoptGenesis(genesisHash);
  }

  /** Changes the aliases, or the start while the dataset has no blocks. */
  updateManifest(changes: Partial<Pick<Manifest, 'aliases' | 'from'>>): Promise<void> {
    return this.#parts.manifest.update(changes);
  }

  reportDamage(segment: SealedSegment, cause: string): void {
    const { first, last } = segment;
    // An error from a worker thread may contain the path of the file, which clients must not see.
    const text = cause.replaceAll(`${this.#options.folder}/`, '');
    this.alarms.raise('segment-damaged', `slots ${first.number} to ${last.number}: ${text}`);
    this.#onDamage(segment);
  }

  status(): DatasetStatus {
    const { writer, leases } = this.#parts;
    return {
      storage: this.#storageStatus(),
      freeBytes: writer.space.freeBytes,
      leaseCount: leases.count,
      counters: { ...writer.counters, ...this.#counters() },
      alarms: this.alarms.list(),
    };
  }

  /** Ends background work that would last until another process writes the dataset. */
  restUpkeep(): void {
    this.#parts.upkeep.rest();
  }

  /** The files that the newest state does not need, without those that are being written, or read in the background. */
  get unusedFiles(): readonly string[] {
    return unusedFiles(this.#parts);
  }

  /** For how long the oldest state that readers use has been in use, in milliseconds. */
  get oldestLeaseMs(): number {
    return this.#parts.leases.oldestMs;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { waiters, mergeThreads, chain, indexes, upkeep } = this.#parts;
    waiters.close();
    indexes.close();
    const ended = upkeep.close();
    await Promise.all(mergeThreads.map((thread) => thread.close()));
    await ended;
    await chain.close();
  }

  #storageStatus(): StorageStatus {
    const { chain, writer } = this.#parts;
    if (this.#isClosed) return { kind: 'closed' };
    if (chain.isFailed) return { kind: 'failed', code: 'dataset-write-failed' };
    return writer.space.shortage ?? { kind: 'open' };
  }
}

function unusedFiles({ chain, sealer }: Pick<DatasetParts, 'chain' | 'sealer'>): readonly string[] {
  return chain.visible.unused.filter((file) => !sealer.inUse.has(file));
}

/** Removes the unused files that no reader needs. Returns false if a reader still needs one. */
async function removeUnused({
  blocks,
  chain,
  indexes,
  leases,
  sealer,
  segments,
  writer,
}: Pick<
  DatasetParts,
  'blocks' | 'chain' | 'indexes' | 'leases' | 'sealer' | 'segments' | 'writer'
>): Promise<boolean> {
  const candidates = unusedFiles({ chain, sealer });
  const leased = leases.snapshots().map(({ unused }) => new Set(unused));
  const removable = candidates.filter((file) => leased.every((unused) => unused.has(file)));
  blocks.forget(removable);
  indexes.forget(removable);
  const removed = await segments.remove(removable);
  if (removed.length > 0) await writer.commit([{ kind: 'forget', files: removed }]);
  return removable.length === candidates.length;
}

async function openParts(
  options: DatasetOptions,
  dependencies: DatasetDependencies,
  alarms: AlarmBoard,
): Promise<DatasetParts> {
  const { folder } = options;
  const { fs, clock } = dependencies;
  const manifest = await DatasetManifest.open(folder, fs);
  await checkJournalExists(folder, fs);
  const limits = { ...datasetLimits, ...options.limits };
  const leases = new SnapshotLeases(clock);
  const waiters = new ChangeWaiters(limits.waiterCountMax);
  const segments = dependencies.segments ?? new SegmentStore(folder, fs);
  const readPayload = (id: number) => chain.readPayload(id);
  const blocks = new BlockReader(limits, { segments, readPayload });
  const journal = { folder: `${folder}/journal`, fileBytesMax: limits.journalFileBytesMax };
  const chain = await ChainWriter.open(
    { journal, groupBytesMax: limits.groupBytesMax },
    {
      ...dependencies,
      leasedPayloads: () => leases.payloads(),
      onVisible: ({ version }, payloads) => {
        blocks.addPayloads(payloads);
        waiters.notify(version);
      },
    },
  );
  waiters.notify(chain.visible.version);
  // Sealing does not wait for a merge that rests.
  const [mergeThread, restingThread] = [
    new MergeThread(clock),
    new MergeThread(clock, { speed: 'paced' }),
  ];
  const mergeIn = (thread: MergeThread) => async (sequence: SegmentSequence) => {
    const startMs = clock.nowMs();
    const built = await (dependencies.merge?.(sequence) ?? thread.merge(sequence));
    dependencies.observeMerge?.((clock.nowMs() - startMs) / 1000);
    return built;
  };
  const [merge, mergeSlowly] = [mergeIn(mergeThread), mergeIn(restingThread)];
  const { checkGrowth } = dependencies;
  const writer = new DatasetWriter({ folder, limits }, { fs, clock, alarms, chain, checkGrowth });
  const sealer = new SegmentSealer(limits, { chain, writer, segments, merge, mergeSlowly });
  const indexes = new IndexReader((run) => segments.openIndex(run));
  const parts = { manifest, chain, writer, sealer, segments, blocks, leases, indexes };
  const remove = () => removeUnused(parts);
  const upkeep = new Upkeep({
    sealer,
    segments,
    readList: (list) => blocks.readList(list),
    acquire: () => leases.acquire(chain.visible),
    removeUnused: remove,
    makeIndex: dependencies.makeIndex,
    spareBytes: async () =>
      segments.isLocal ? await writer.space.spareBytes() : Number.POSITIVE_INFINITY,
    longMergeBytes: limits.longMergeBytes,
    alarms,
    clock,
  });
  const mergeThreads = [mergeThread, restingThread];
  return { ...parts, waiters, mergeThreads, upkeep, removeUnused: remove };
}
