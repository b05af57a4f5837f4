import { crc32 } from 'node:zlib';
import type { Clock } from '@sluice/base/clock';
import { type CodedError, isCodedError } from '@sluice/base/errors';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { indexFile, type ReadList, segmentFile } from '../chain/segment-lists.ts';
import { indexByteLength } from '../segment/history/layout.ts';
import type { AlarmBoard } from './alarm-board.ts';
import type { SnapshotLease } from './dataset-reader.ts';
import { chooseIndex, type IndexJob } from './history/choose-index.ts';
import type { MakeIndex } from './history/index-thread.ts';
import { LongMerge } from './long-merge.ts';
import type { SegmentFiles } from './segment-files.ts';
import type { SegmentSealer } from './segment-sealer.ts';

export interface UpkeepDependencies {
  readonly sealer: SegmentSealer;
  readonly segments: SegmentFiles;
  readonly readList: ReadList;
  readonly acquire: () => SnapshotLease;
  /** Removes files that no state needs any more. */
  readonly removeUnused: () => Promise<unknown>;
  /** Without this function there are no indexes over segments. */
  readonly makeIndex: MakeIndex | undefined;
  /** Measures how much a merge of indexes may write. */
  readonly spareBytes: () => Promise<number>;
  readonly longMergeBytes: number;
  readonly alarms: AlarmBoard;
  readonly clock: Clock;
}

/** After a failure, the work is repeated after this time, or with the next segment. */
const retryMs = 30_000;
const alarm = 'dataset-upkeep-failed';

/**
 * Improves how sealed segments are stored, in the background: moves older ones into lists, merges small ones and indexes them. It works
 * after each new segment until there is nothing left to do. No query result changes.
 */
export class Upkeep {
  readonly #dependencies: UpkeepDependencies;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #isDue = false;
  /** Whether a failed work is repeated later. */
  #isWaiting = false;
  /** Ends the making of indexes. */
  #making = new AbortController();
  readonly #longMerge: LongMerge;

  constructor(dependencies: UpkeepDependencies) {
    this.#dependencies = dependencies;
    const { clock } = dependencies;
    const { signal } = this.#stop;
    this.#longMerge = new LongMerge({ clock, signal, onReady: () => this.start() });
  }

  /** Starts to work, or lets the work in progress look for more. */
  start(): void {
    this.#isDue = true;
    if (this.#stop.signal.aborted) return;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Resolves when there is nothing left to do but a long merge, or the work has failed. */
  async settled(): Promise<void> {
    await this.#running;
  }

  /** Resolves when there is nothing left to do, or the work has failed. */
  async done(): Promise<void> {
    for (;;) {
      const work = this.#running ?? this.#longMerge.working;
      if (work === undefined) return;
      await work;
    }
  }

  /** Ends an index in progress, because another process may write now. */
  rest(): void {
    this.#making.abort();
    this.#making = new AbortController();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#making.abort();
    await this.done();
  }

  async #run(): Promise<void> {
    const { alarms } = this.#dependencies;
    try {
      while (this.#isDue && !this.#stop.signal.aborted) {
        this.#isDue = false;
        // After each piece of work, an earlier step may have some again.
        if ((await this.#list()) || (await this.#merge()) || (await this.#index()))
          this.#isDue = true;
      }
      if (!this.#longMerge.hasFailed) alarms.clear(alarm);
    } catch (error) {
      if (this.#report(error)) void this.#retry();
    }
  }

  /** Raises the alarm, unless the work ends for another reason than a failure. Returns whether it is repeated. */
  #report(error: unknown): boolean {
    const { alarms } = this.#dependencies;
    if (!isCodedError(error)) throw error;
    if (this.#stop.signal.aborted) return false;
    // Another process writes the dataset now, and does this work.
    if (isFenced(error)) alarms.clear(alarm);
    else alarms.raise(alarm, error);
    return !isFenced(error);
  }

  async #retry(): Promise<void> {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    await this.#dependencies.clock.sleep(retryMs, this.#stop.signal);
    this.#isWaiting = false;
    this.start();
  }

  #list(): Promise<boolean> {
    return unlessChanged(() => this.#dependencies.sealer.list());
  }

  async #merge(): Promise<boolean> {
    const { sealer, acquire, removeUnused } = this.#dependencies;
    const { snapshot, release } = acquire();
    try {
      if (!(await unlessChanged(() => sealer.merge(snapshot)))) return false;
    } finally {
      release();
    }
    await removeUnused();
    return true;
  }

  async #index(): Promise<boolean> {
    const { acquire, readList, makeIndex, spareBytes, longMergeBytes } = this.#dependencies;
    if (makeIndex === undefined) return false;
    const { runs: busy } = this.#longMerge;
    const limits = { spareBytes: await spareBytes(), busy };
    const lease = acquire();
    let job: IndexJob | undefined;
    let work: Promise<void>;
    try {
      job = await chooseIndex(lease.snapshot, limits, readList);
      if (job === undefined && busy.length === 0) this.#longMerge.forgetFailure();
      if (job === undefined || this.#stop.signal.aborted) return false;
      // From now on its inputs are protected, so that a long merge does not keep all files of the snapshot.
      work = this.#make(job, lease.snapshot, makeIndex);
    } finally {
      lease.release();
    }
    const bytes = job.runs.reduce((sum, { byteLength }) => sum + byteLength, 0);
    // Only one goes on beside other work. The next ones are done in turn, or there would be more and more indexes.
    if (bytes > longMergeBytes && busy.length === 0)
      this.#longMerge.start(job.runs, work, (error) => this.#report(error));
    else await work;
    return true;
  }

  async #make(job: IndexJob, { version }: ChainSnapshot, makeIndex: MakeIndex): Promise<void> {
    const { sealer, segments: files } = this.#dependencies;
    const { segments, runs } = job;
    const first = runs[0]?.first ?? segments[0]?.first ?? 0;
    const last = runs.at(-1)?.last ?? segments.at(-1)?.last ?? 0;
    // A state has at most one index of each name. Another writer of a bucket may have reached this version with other inputs.
    const ids = [...runs, ...segments.map(({ segment }) => segment)].map((input) => input.id);
    const checksum = crc32(ids.join()).toString(16).padStart(8, '0');
    const id = `${first}-${last}-${version}-${checksum}.index`;
    const inputs = [...runs.map(indexFile), ...segments.map(({ segment }) => segmentFile(segment))];
    const { signal } = this.#making;
    const adding = sealer.addIndex(id, inputs, async () => {
      const shape = await files.makeIndex({ id, segments, runs }, makeIndex, signal);
      return { id, first, last, ...shape, byteLength: indexByteLength(shape) };
    });
    await unlessChanged(async () => {
      await adding.catch((error: unknown) => {
        // Its writer rests, or is closed.
        if (!signal.aborted) throw error;
      });
      return true;
    });
    await this.#dependencies.removeUnused();
  }
}

function isFenced(error: CodedError): boolean {
  return isCodedError(error, 'feed-fenced') || isCodedError(error.cause, 'feed-fenced');
}

/** Returns true if retention or another writer has replaced its inputs meanwhile, so that the work is repeated with the others. */
async function unlessChanged(work: () => Promise<boolean>): Promise<boolean> {
  try {
    return await work();
  } catch (error) {
    if (!isCodedError(error, 'chain-segments-changed')) throw error;
    return true;
  }
}
