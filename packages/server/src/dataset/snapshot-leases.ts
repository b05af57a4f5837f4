import type { Clock } from '@sluice/base/clock';
import type { ChainSnapshot } from '../chain/chain-snapshot.ts';
import { hotPayloads } from './chain-writer.ts';
import type { SnapshotLease } from './dataset-reader.ts';

/** Counts the readers of each snapshot. The files and payloads of a leased snapshot must not be removed. */
export class SnapshotLeases {
  /** In the order in which snapshots were acquired first. */
  readonly #readerCounts = new Map<ChainSnapshot, number>();
  readonly #sinceMs = new WeakMap<ChainSnapshot, number>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  acquire(snapshot: ChainSnapshot): SnapshotLease {
    if (!this.#sinceMs.has(snapshot)) this.#sinceMs.set(snapshot, this.#clock.nowMs());
    this.#readerCounts.set(snapshot, (this.#readerCounts.get(snapshot) ?? 0) + 1);
    let isHeld = true;
    return {
      snapshot,
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        const left = (this.#readerCounts.get(snapshot) ?? 1) - 1;
        if (left === 0) this.#readerCounts.delete(snapshot);
        else this.#readerCounts.set(snapshot, left);
      },
    };
  }

  /** The number of different snapshots that are leased. */
  get count(): number {
    return this.#readerCounts.size;
  }

  /** For how long the oldest snapshot that is leased has been in use; 0 if none is. */
  get oldestMs(): number {
    const [oldest] = this.#readerCounts.keys();
    const sinceMs = oldest === undefined ? undefined : this.#sinceMs.get(oldest);
    return sinceMs === undefined ? 0 : this.#clock.nowMs() - sinceMs;
  }

  snapshots(): readonly ChainSnapshot[] {
    return [...this.#readerCounts.keys()];
  }

  /** Returns the payloads of all hot blocks in leased snapshots. */
  payloads(): Set<number> {
    const leased = new Set<number>();
    for (const snapshot of this.#readerCounts.keys()) {
      for (const id of hotPayloads(snapshot)) leased.add(id);
    }
    return leased;
  }
}
