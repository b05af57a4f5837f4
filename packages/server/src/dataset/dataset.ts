/**
 * One dataset: its chain, durable in a folder of its own, one writer, any number of readers.
 *
 *   DIR/<dataset>/manifest.json   what it is
 *   DIR/<dataset>/journal/        hot blocks and every change of the chain
 *   DIR/<dataset>/segments/       sealed blocks
 */
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { discard } from '../base/discard.ts';
import { CodedError, isCodedError } from '../base/errors.ts';
import type { ChainSnapshot, HotBlock, SealedSegment } from '../chain/chain-snapshot.ts';
import type { Block, BlockHeader } from '../ledger/block.ts';
import { decodeBlocks } from '../segment/decode-blocks.ts';
import { openSegment } from '../segment/open-segment.ts';
import type { DiskSpace, Fs } from '../storage/fs.ts';
import { AlarmBoard } from './alarm-board.ts';
import { ByteCache } from './byte-cache.ts';
import { ChainWriter, hotPayloads, type NewChange } from './chain-writer.ts';
import { ChangeWaiters } from './change-waiters.ts';
import { chooseSealed } from './choose-sealed.ts';
import { hasBlocks, listIfThere, refuseLostJournal } from './dataset-files.ts';
import { type DatasetLimits, datasetLimits } from './dataset-limits.ts';
import type {
  Allocate,
  DatasetDescription,
  DatasetReader,
  DatasetStatus,
  OptionalKind,
  SnapshotLease,
  StorageStatus,
} from './dataset-reader.ts';
import type { MadeSegment } from './made-segment.ts';
import {
  datasetNamePattern,
  type Manifest,
  manifestName,
  readManifest,
  writeManifest,
} from './manifest.ts';
import { MergeThread, type SegmentRow } from './merge-thread.ts';
import { chooseTrim, type Retention } from './retention.ts';
import { SegmentStore } from './segment-store.ts';

export interface DatasetOptions {
  readonly folder: string;
  /** Whether a live source feeds it. */
  readonly realTime: boolean;
  readonly limits?: Partial<DatasetLimits>;
}

export interface DatasetModules {
  readonly fs: Fs;
  readonly clock: Clock;
  /** Whether this process has owned the data folder ever since the dataset was opened, or the lock was last retaken. */
  readonly isLockHeld: () => boolean;
  /** Takes a lock that was lost again, if nobody else has it; without this it stays lost. */
  readonly retakeLock?: () => Promise<void>;
  /** Makes one segment from several; by default in a thread of its own. */
  readonly merge?: (segments: SegmentRow) => Promise<MadeSegment>;
}

export class Dataset implements DatasetReader {
  readonly alarms: AlarmBoard;
  readonly #folder: string;
  readonly #realTime: boolean;
  readonly #limits: DatasetLimits;
  readonly #modules: DatasetModules;
  readonly #segments: SegmentStore;
  readonly #mergeThread: MergeThread;
  readonly #waiters: ChangeWaiters;
  readonly #payloads: ByteCache<number, Uint8Array>;
  readonly #blocks: ByteCache<number, { readonly block: Block; readonly bytes: number }>;
  readonly #headers: ByteCache<string, readonly BlockHeader[]>;
  readonly #leases = new Map<ChainSnapshot, number>();
  readonly #counters = { commits: 0, forks: 0, replacedBlocks: 0, writeFailures: 0 };
  #manifest: Manifest;
  #writer: ChainWriter | undefined;
  #floor: Extract<StorageStatus, { kind: 'disk-floor' }> | undefined;
  #freeBytes: number | null = null;
  #spaceCheckedMs = Number.NEGATIVE_INFINITY;
  #spaceCheck: Promise<void> | undefined;
  #closed = false;

  private constructor(options: DatasetOptions, modules: DatasetModules, manifest: Manifest) {
    this.#folder = options.folder;
    this.#realTime = options.realTime;
    this.#limits = { ...datasetLimits, ...options.limits };
    this.#modules = modules;
    this.#manifest = manifest;
    this.alarms = new AlarmBoard(modules.clock);
    this.#segments = new SegmentStore(`${options.folder}/segments`, modules.fs);
    this.#mergeThread = new MergeThread(modules.clock);
    this.#waiters = new ChangeWaiters(this.#limits.waiterCountMax);
    this.#payloads = new ByteCache<number, Uint8Array>(
      this.#limits.payloadCacheBytesMax,
      (bytes) => bytes.byteLength,
      (bytes) => discard(bytes),
    );
    this.#blocks = new ByteCache(this.#limits.blockCacheBytesMax, ({ bytes }) => bytes);
    this.#headers = new ByteCache(
      this.#limits.headerCacheBytesMax,
      (headers) => headers.length * headerBytes,
    );
  }

  /** Makes the folder and manifest of a dataset that is not there yet. */
  static async create(folder: string, manifest: Manifest, { fs }: DatasetModules): Promise<void> {
    if (!datasetNamePattern.test(manifest.name)) {
      throw new CodedError('dataset-name-invalid', { name: manifest.name });
    }
    await fs.makeFolder(folder);
    await writeManifest(fs, folder, manifest);
    await fs.syncFolder(folder.slice(0, Math.max(folder.lastIndexOf('/'), 1)));
  }

  /** Also one that has lost its manifest: nothing is made in its place. */
  static async isThere(folder: string, fs: Fs): Promise<boolean> {
    const names = await listIfThere(folder, fs);
    return names.includes(manifestName) || (names.length > 0 && (await hasBlocks(folder, fs)));
  }

  /** Opens a dataset and brings back the last committed state. Refuses, touching nothing, what it cannot read. */
  static async open(options: DatasetOptions, modules: DatasetModules): Promise<Dataset> {
    const manifest = await readManifest(modules.fs, options.folder);
    await refuseLostJournal(options.folder, modules.fs);
    const dataset = new Dataset(options, modules, manifest);
    dataset.#writer = await ChainWriter.open(
      {
        journal: {
          folder: `${options.folder}/journal`,
          fileBytesMax: dataset.#limits.journalFileBytesMax,
        },
        groupBytesMax: dataset.#limits.groupBytesMax,
      },
      {
        ...modules,
        onVisible: (snapshot, payloads) => {
          for (const { id, bytes } of payloads) dataset.#payloads.set(id, bytes);
          dataset.#waiters.announce(snapshot.version);
        },
        leasedPayloads: () => dataset.#leasedPayloads(),
      },
    );
    dataset.#waiters.announce(dataset.snapshot().version);
    try {
      await dataset.collect();
    } catch (error) {
      await dataset.close();
      throw error;
    }
    return dataset;
  }

  get description(): DatasetDescription {
    const { name, aliases, votes, metaOptional, genesisHash, from } = this.#manifest;
    const allowMissing: OptionalKind[] = [...this.#manifest.allowMissing];
    if (metaOptional) allowMissing.push('meta');
    return { name, aliases, realTime: this.#realTime, votes, allowMissing, genesisHash, from };
  }

  snapshot(): ChainSnapshot {
    return this.#openWriter.visible;
  }

  /** The state after all commits that are on their way to the disk. For the writer, which builds on it. */
  pendingSnapshot(): ChainSnapshot {
    return this.#openWriter.pending;
  }

  async changed(sinceVersion: number, signal: AbortSignal): Promise<ChainSnapshot> {
    await this.#waiters.wait(sinceVersion, signal);
    return this.snapshot();
  }

  acquire(): SnapshotLease {
    const snapshot = this.snapshot();
    this.#leases.set(snapshot, (this.#leases.get(snapshot) ?? 0) + 1);
    let held = true;
    return {
      snapshot,
      release: () => {
        if (!held) return;
        held = false;
        const left = (this.#leases.get(snapshot) ?? 1) - 1;
        if (left === 0) this.#leases.delete(snapshot);
        else this.#leases.set(snapshot, left);
      },
    };
  }

  async readHotBlock(
    { payload }: HotBlock,
    allocate: Allocate = (length) => new Uint8Array(length),
  ): Promise<Uint8Array> {
    const cached = this.#payloads.get(payload);
    const bytes = cached ?? (await this.#openWriter.readPayload(payload));
    const copy = allocate(bytes.length);
    copy.set(bytes);
    // What is cached may go before the caller has read it.
    if (bytes !== cached) discard(bytes);
    return copy;
  }

  async decodeHotBlock(hot: HotBlock): Promise<Block> {
    const cached = this.#blocks.get(hot.payload);
    if (cached !== undefined) return cached.block;
    const bytes = await this.readHotBlock(hot);
    const [block] = decodeBlocks(openSegment(bytes));
    assert(block !== undefined, 'a hot block is stored as a segment of one block');
    this.#blocks.set(hot.payload, { block, bytes: bytes.byteLength * decodedGrowth });
    return block;
  }

  readSegment(segment: SealedSegment): Promise<Uint8Array> {
    return this.#segments.read(segment);
  }

  segmentPath(segment: SealedSegment): string {
    return this.#segments.path(segment);
  }

  async readHeaders(segment: SealedSegment): Promise<readonly BlockHeader[]> {
    const cached = this.#headers.get(segment.id);
    if (cached !== undefined) return cached;
    const headers = await this.#segments.readHeaders(segment);
    this.#headers.set(segment.id, headers);
    return headers;
  }

  /**
   * Makes changes durable and visible as one commit. Refused, with nothing changed, where a rule of the chain forbids
   * them, the disk has too little room, or an earlier write failed.
   */
  async commit(changes: readonly NewChange[]): Promise<ChainSnapshot> {
    await this.#checkSpace();
    const before = this.pendingSnapshot();
    const durable = this.#openWriter.commit(changes);
    const after = this.pendingSnapshot();
    try {
      const snapshot = await durable;
      this.#count(before, after, changes);
      return snapshot;
    } catch (error) {
      this.#noteWriteFailure(causeOf(error));
      throw error;
    }
  }

  /**
   * Moves the lowest finalized hot blocks into a segment of their own, if there are enough of them. Tells whether it did;
   * no answer to any query changes by it.
   */
  async seal(): Promise<boolean> {
    const lease = this.acquire();
    try {
      const blocks = chooseSealed(lease.snapshot, this.#limits, (block) =>
        this.#openWriter.payloadLength(block.payload),
      );
      if (blocks.length === 0) return false;
      const headers = blocks.map(({ header }) => header);
      await this.#checkSpace();
      await this.#commitSegment('seal', await this.#merge(this.#payloadsOf(blocks)), headers);
      return true;
    } finally {
      lease.release();
    }
  }

  /**
   * Adds a segment of finalized blocks above a chain without hot ones: what arrives final and in bulk takes no way through
   * the journal.
   */
  appendSealed(made: MadeSegment, headers: readonly BlockHeader[]): Promise<ChainSnapshot> {
    return this.#commitSegment('append-sealed', made, headers);
  }

  /**
   * Adds finalized history whose last block is the anchor, as one segment: the start moves down to its first block. The
   * payloads are handed over.
   */
  async prependSealed(
    payloads: readonly Uint8Array[],
    headers: readonly BlockHeader[],
  ): Promise<ChainSnapshot> {
    await this.#checkSpace();
    return this.#commitSegment('prepend', await this.#merge(payloads), headers);
  }

  async *#payloadsOf(blocks: readonly HotBlock[]): AsyncGenerator<Uint8Array> {
    for (const { payload } of blocks) yield await this.#openWriter.readPayload(payload);
  }

  #merge(payloads: SegmentRow): Promise<MadeSegment> {
    const { merge } = this.#modules;
    return merge === undefined ? this.#mergeThread.merge(payloads) : merge(payloads);
  }

  /** The file is durable before the commit that names it; a crash in between leaves one that nobody names. */
  async #commitSegment(
    kind: 'seal' | 'append-sealed' | 'prepend',
    made: MadeSegment,
    headers: readonly BlockHeader[],
  ): Promise<ChainSnapshot> {
    await this.#checkSpace();
    const segment = await this.#segments.write(made, headers);
    try {
      return await this.commit([{ kind, segments: [segment] }]);
    } finally {
      this.#segments.settle(segment);
    }
  }

  /** Drops what the policy lets go. Tells whether anything went. */
  async trim(retention: Retention): Promise<boolean> {
    const keepFrom = chooseTrim(this.pendingSnapshot(), retention);
    if (keepFrom === undefined) return false;
    await this.commit([{ kind: 'trim', keepFrom }]);
    return true;
  }

  /** Gives back the space of files that neither the state nor a reader needs. */
  async collect(): Promise<void> {
    await this.#openWriter.collect();
    const needed = new Set<string>();
    for (const { segments } of [this.snapshot(), this.pendingSnapshot(), ...this.#leases.keys()]) {
      for (const { id } of segments) needed.add(id);
    }
    await this.#segments.collect(needed);
  }

  /** After `dataset-write-failed`: reads the journal back, so that writing can go on. Throws if the disk still refuses. */
  async reopen(): Promise<void> {
    try {
      // A folder that is gone is not made again: what was in it may come back with its disk.
      await readManifest(this.#modules.fs, this.#folder);
      await this.#openWriter.reopen();
    } catch (error) {
      // What stands in the way now may be something else than what began it.
      if (isCodedError(error)) this.alarms.raise('dataset-write-failed', error);
      throw error;
    }
    this.alarms.clear('dataset-write-failed');
  }

  /** Remembers which ledger this is. Another one is refused from then on. */
  async adoptGenesis(genesisHash: string): Promise<void> {
    const known = this.#manifest.genesisHash;
    if (known === genesisHash) return;
    if (known !== null) throw new CodedError('dataset-genesis-differs', { genesisHash, known });
    const manifest = { ...this.#manifest, genesisHash };
    await writeManifest(this.#modules.fs, this.#folder, manifest);
    this.#manifest = manifest;
  }

  /** Other names from now on, or another beginning before there is one; durable. */
  async restate(changes: Partial<Pick<Manifest, 'aliases' | 'from'>>): Promise<void> {
    const manifest = { ...this.#manifest, ...changes };
    await writeManifest(this.#modules.fs, this.#folder, manifest);
    this.#manifest = manifest;
  }

  reportDamage({ first, last }: SealedSegment, cause: string): void {
    // A thread that could not open the file says where it is, which is for nobody else to see.
    const text = cause.replaceAll(`${this.#folder}/`, '');
    this.alarms.raise('segment-damaged', `slots ${first.number} to ${last.number}: ${text}`);
  }

  status(): DatasetStatus {
    return {
      storage: this.#storageStatus(),
      freeBytes: this.#freeBytes,
      leaseCount: this.#leases.size,
      counters: { ...this.#counters },
      alarms: this.alarms.list(),
    };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#waiters.close();
    await this.#mergeThread.close();
    await this.#openWriter.close();
  }

  get #openWriter(): ChainWriter {
    assert(this.#writer !== undefined, 'a dataset is handed out once it is open');
    return this.#writer;
  }

  #storageStatus(): StorageStatus {
    if (this.#closed) return { kind: 'closed' };
    if (this.#openWriter.isFailed) return { kind: 'failed', code: 'dataset-write-failed' };
    return this.#floor ?? { kind: 'open' };
  }

  #count(before: ChainSnapshot, after: ChainSnapshot, changes: readonly NewChange[]): void {
    if (after === before) return;
    this.#counters.commits++;
    if (!changes.some(({ kind }) => kind === 'replace')) return;
    const kept = new Set(after.hot.map(({ header }) => header.hash));
    const gone = before.hot.filter(({ header }) => !kept.has(header.hash));
    // A branch that grows from the head takes nothing away: that is no fork.
    if (gone.length === 0) return;
    this.#counters.forks++;
    this.#counters.replacedBlocks += gone.length;
  }

  /**
   * Commits that wait for a look wait together, so that they stay in order. While all was well at the last one nobody
   * waits: the next block of a run would otherwise be checked against a chain without the one before it.
   */
  async #checkSpace(): Promise<void> {
    const { spaceCheckEveryMs } = this.#limits;
    const isDue = this.#modules.clock.nowMs() - this.#spaceCheckedMs >= spaceCheckEveryMs;
    if (isDue) {
      this.#spaceCheck ??= this.#readSpace().finally(() => {
        this.#spaceCheck = undefined;
      });
    }
    if (this.#freeBytes === null || this.#floor !== undefined) await this.#spaceCheck;
    if (this.#floor === undefined) return;
    const { freeBytes, floorBytes } = this.#floor;
    const error = new CodedError('disk-floor-reached', { freeBytes, floorBytes });
    this.alarms.raise('disk-floor-reached', error);
    throw error;
  }

  /** Once in a while is enough: a floor that is a little late is still a floor. */
  async #readSpace(): Promise<void> {
    try {
      this.#judgeSpace(await this.#modules.fs.space(this.#folder));
    } catch (error) {
      if (!isCodedError(error)) throw error;
      // An open file can be written to after its folder was deleted; nobody would find it again.
      this.#openWriter.abandon(error);
      this.#noteWriteFailure(error);
    }
    this.#spaceCheckedMs = this.#modules.clock.nowMs();
  }

  #judgeSpace({ freeBytes, totalBytes }: DiskSpace): void {
    this.#freeBytes = freeBytes;
    const { diskFloorBytes, diskFloorShare } = this.#limits;
    const floorBytes = Math.min(diskFloorBytes, totalBytes * diskFloorShare);
    this.#floor = undefined;
    if (freeBytes < floorBytes) this.#floor = { kind: 'disk-floor', freeBytes, floorBytes };
    else this.alarms.clear('disk-floor-reached');
  }

  #noteWriteFailure(cause: string | CodedError): void {
    this.#counters.writeFailures++;
    this.alarms.raise('dataset-write-failed', cause);
  }

  #leasedPayloads(): Set<number> {
    const leased = new Set<number>();
    for (const snapshot of this.#leases.keys()) {
      for (const id of hotPayloads(snapshot)) leased.add(id);
    }
    return leased;
  }
}

/** About what a header takes in memory, and how much a block grows when it becomes objects. */
const headerBytes = 400;
const decodedGrowth = 12;

function causeOf(error: unknown): string | CodedError {
  const cause = error instanceof Error ? error.cause : undefined;
  if (isCodedError(cause)) return cause;
  return error instanceof Error ? error.message : String(error);
}
