/** The disk as one process sees it: every operation takes simulated time, and none completes after the process was killed. */
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { Random } from '@sluice/base/random';
import type { MakeIndex } from '../../packages/server/src/dataset/history/index-thread.ts';
import type { Fs, FsFile, OpenMode } from '../../packages/server/src/storage/fs.ts';
import type { SimFs } from '../../packages/server/src/storage/testing/sim-fs.ts';
import { makeIndexInTurn } from './make-index.ts';
import type { Life, Scheduler } from './scheduler.ts';

export interface DiskDependencies {
  readonly disk: SimFs;
  readonly scheduler: Scheduler;
  readonly random: Random;
  readonly life: Life;
  /** How long a slow operation takes at most. */
  readonly slowMs: () => number;
}

export class ProcessDisk implements Fs {
  readonly #dependencies: DiskDependencies;

  constructor(dependencies: DiskDependencies) {
    this.#dependencies = dependencies;
  }

  readonly makeFolder = (path: string) => this.#do((disk) => disk.makeFolder(path));
  readonly list = (path: string) => this.#do((disk) => disk.list(path));
  readonly rename = (from: string, to: string) => this.#do((disk) => disk.rename(from, to));
  readonly remove = (path: string) => this.#do((disk) => disk.remove(path));
  readonly removeFolder = (path: string) => this.#do((disk) => disk.removeFolder(path));
  readonly syncFolder = (path: string) => this.#do((disk) => disk.syncFolder(path));
  readonly space = (path: string) => this.#do((disk) => disk.space(path));

  async openFile(path: string, mode: OpenMode): Promise<FsFile> {
    const file = await this.#do((disk) => disk.openFile(path, mode));
    return {
      size: () => this.#do(() => file.size()),
      read: (offset, length) => this.#do(() => file.read(offset, length)),
      write: (offset, parts) => this.#do(() => file.write(offset, parts)),
      truncate: (length) => this.#do(() => file.truncate(length)),
      sync: () => this.#do(() => file.sync()),
      close: () => this.#do(() => file.close()),
    };
  }

  /** Makes an index as the thread does: its file is durable, or does not exist. */
  readonly makeIndex: MakeIndex = async (files, _signal, transfer) => {
    const { disk } = this.#dependencies;
    await this.#pause();
    const write = async (path: string, bytes: Uint8Array) => disk.writeRaw(path, bytes);
    const reply = await makeIndexInTurn(files, disk, write, transfer).catch((error: unknown) => {
      if (isCodedError(error)) throw error;
      // An error of the operating system ends the thread.
      throw new CodedError('segment-merge-failed', {}, { cause: error });
    });
    await this.#pause();
    if (reply.kind === 'failed') throw new CodedError(reply.code, reply.detail as never);
    return reply.shape;
  };

  /** The effect and its report are separate events, so that a kill can come between them. */
  async #do<Result>(work: (disk: SimFs) => Promise<Result>): Promise<Result> {
    await this.#pause();
    const result = await work(this.#dependencies.disk);
    if (this.#dependencies.random.chance(0.2)) await this.#pause();
    return result;
  }

  #pause(): Promise<void> {
    const { scheduler, random, life, slowMs } = this.#dependencies;
    const ms = random.chance(0.01) ? random.unit() * slowMs() : random.unit() * 3;
    return scheduler.delay(ms, life);
  }
}
