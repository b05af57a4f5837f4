import type { Clock } from '@sluice/base/clock';
import { CodedError, isCodedError } from '@sluice/base/errors';
import type { DiskSpace, Fs } from '../storage/fs.ts';
import type { AlarmBoard } from './alarm-board.ts';
import type { DatasetLimits } from './dataset-limits.ts';
import type { StorageStatus } from './dataset-reader.ts';

export interface FreeSpaceOptions {
  readonly folder: string;
  readonly limits: Pick<DatasetLimits, 'diskFloorBytes' | 'diskFloorShare' | 'spaceCheckEveryMs'>;
}

export interface FreeSpaceDependencies {
  readonly fs: Fs;
  readonly clock: Clock;
  readonly alarms: AlarmBoard;
  /** Called when the free space of the folder cannot be read, for example because the folder was deleted. */
  readonly onUnreadable: (error: CodedError) => void;
}

/** Stops writing while the free disk space is below the configured minimum, and lets it resume afterwards. */
export class FreeSpace {
  readonly #options: FreeSpaceOptions;
  readonly #dependencies: FreeSpaceDependencies;
  #freeBytes: number | null = null;
  #shortage: Extract<StorageStatus, { kind: 'disk-floor' }> | undefined;
  #measuredMs = Number.NEGATIVE_INFINITY;
  #measurement: Promise<void> | undefined;

  constructor(options: FreeSpaceOptions, dependencies: FreeSpaceDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
  }

  /** The last measured value, or null before the first measurement. */
  get freeBytes(): number | null {
    return this.#freeBytes;
  }

  get shortage(): Extract<StorageStatus, { kind: 'disk-floor' }> | undefined {
    return this.#shortage;
  }

  /**
   * Throws `disk-floor-reached` if there is too little space. Measures at an interval. If the last measurement found enough
   * space, the call does not wait for the next one: otherwise the next block of a run would be checked against a chain
   * that lacks its parent. During a shortage all commits wait for the same measurement, so that they stay in order.
   */
  async check(): Promise<void> {
    const { clock, alarms } = this.#dependencies;
    const isDue = clock.nowMs() - this.#measuredMs >= this.#options.limits.spaceCheckEveryMs;
    if (isDue) {
      this.#measurement ??= this.#measure().finally(() => {
        this.#measurement = undefined;
      });
    }
    if (this.#freeBytes === null || this.#shortage !== undefined) await this.#measurement;
    if (this.#shortage === undefined) return;
    const { freeBytes, floorBytes } = this.#shortage;
    const error = new CodedError('disk-floor-reached', { freeBytes, floorBytes });
    alarms.raise('disk-floor-reached', error);
    throw error;
  }

  /** Measures how much more background work may write before there is too little space. */
  async spareBytes(): Promise<number> {
    const space = await this.#dependencies.fs.space(this.#options.folder);
    return Math.max(0, space.freeBytes - this.#floorOf(space));
  }

  async #measure(): Promise<void> {
    const { fs, clock, onUnreadable } = this.#dependencies;
    try {
      this.#update(await fs.space(this.#options.folder));
    } catch (error) {
      if (!isCodedError(error)) throw error;
      onUnreadable(error);
    }
    this.#measuredMs = clock.nowMs();
  }

  #floorOf({ totalBytes }: DiskSpace): number {
    const { diskFloorBytes, diskFloorShare } = this.#options.limits;
    return Math.min(diskFloorBytes, totalBytes * diskFloorShare);
  }

  #update(space: DiskSpace): void {
    const { freeBytes } = space;
    const floorBytes = this.#floorOf(space);
    this.#freeBytes = freeBytes;
    this.#shortage = undefined;
    if (freeBytes < floorBytes) this.#shortage = { kind: 'disk-floor', freeBytes, floorBytes };
    else this.#dependencies.alarms.clear('disk-floor-reached');
  }
}
