import { JetStreamApiError } from '@nats-io/jetstream';
import type { KV, KvEntry } from '@nats-io/kv';
import type { Clock } from '@sluice/base/clock';
import type { Lease } from './feed.ts';

export interface KvLeaseOptions {
  readonly key: string;
  readonly holder: string;
  readonly leaseMs: number;
}

export interface KvLeaseDependencies {
  readonly kv: KV;
  readonly clock: Clock;
  /** Asks the servers to elect another leader of the key's stream. */
  readonly changeLeader: () => Promise<void>;
}

/** How often in the time to live the holder renews the key, and the processes that wait for it read it. */
const stepsPerLease = 4;
/** The holder gives up before the key can expire, by this share of the time to live. */
const safetyShare = 0.25;
/** A key is taken over when it was not renewed for its time to live and this share of that time in addition. */
const overdueShare = 0.25;
/** When the servers respond to no write for this many times to live, they are asked to elect another leader. */
const silentLeases = 3;

/** A key that its holder renews. The server removes the key when it is not renewed. */
export class KvLease implements Lease {
  readonly #options: KvLeaseOptions;
  readonly #dependencies: KvLeaseDependencies;
  readonly #lost = new AbortController();
  readonly #renewing: Promise<void>;
  #revision: number;
  #renewedMs: number;

  private constructor(
    options: KvLeaseOptions,
    dependencies: KvLeaseDependencies,
    revision: number,
    nowMs: number,
  ) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#revision = revision;
    this.#renewedMs = nowMs;
    this.#renewing = this.#renew();
  }

  static async acquire(
    options: KvLeaseOptions,
    dependencies: KvLeaseDependencies,
    signal: AbortSignal,
  ): Promise<KvLease | undefined> {
    const { key, holder, leaseMs } = options;
    const { kv, clock } = dependencies;
    const watch = new KeyWatch(leaseMs);
    while (!signal.aborted) {
      try {
        const revision = watch.findFree(await kv.get(key), clock.nowMs());
        const startMs = clock.nowMs();
        if (revision !== undefined) {
          const taking = revision === 0 ? kv.create(key, holder) : kv.update(key, holder, revision);
          watch.noteWrite(taking, clock);
          return new KvLease(options, dependencies, await taking, startMs);
        }
      } catch {
        // The server does not respond, or another process was faster. Both cases are retried.
      }
      if (watch.isSilent(clock.nowMs())) await dependencies.changeLeader().catch(() => undefined);
      await clock.sleep(leaseMs / stepsPerLease, signal);
    }
    return undefined;
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  async release(): Promise<void> {
    this.#lost.abort();
    await this.#renewing;
    const { key } = this.#options;
    await this.#dependencies.kv.delete(key, { previousSeq: this.#revision }).catch(() => undefined);
  }

  async #renew(): Promise<void> {
    const { key, holder, leaseMs } = this.#options;
    const { kv, clock } = this.#dependencies;
    const deadlineMs = () => this.#renewedMs + leaseMs * (1 - safetyShare);
    while (!this.signal.aborted) {
      await clock.sleep(leaseMs / stepsPerLease, this.signal);
      if (this.signal.aborted) return;
      const nowMs = clock.nowMs();
      try {
        const timeoutMs = Math.max(1, deadlineMs() - nowMs);
        this.#revision = await kv.update(key, holder, this.#revision, timeoutMs);
        this.#renewedMs = nowMs;
      } catch {
        if (clock.nowMs() >= deadlineMs() || !(await this.#isOurs())) this.#lost.abort();
      }
    }
  }

  /** Returns whether the key still has our name after a failed renewal, which may have succeeded although its response was lost. */
  async #isOurs(): Promise<boolean> {
    const { key, holder } = this.#options;
    try {
      const entry = await this.#dependencies.kv.get(key);
      if (entry === null || entry.string() !== holder) return false;
      this.#revision = entry.revision;
      return true;
    } catch {
      // The state is unknown, so the deadline decides.
      return true;
    }
  }
}

/**
 * Watches the key of a lease that another process may hold.
 *
 * A process that waits only reads the key, because every write that the servers refuse is an entry in their log: with NATS 2.9 the copies
 * of the key's stream differed after many refused writes and a restart, and its leader then responded to no write.
 */
class KeyWatch {
  readonly #leaseMs: number;
  #revision = 0;
  #sinceMs = 0;
  #silentSinceMs: number | undefined;

  constructor(leaseMs: number) {
    this.#leaseMs = leaseMs;
  }

  /**
   * Returns the revision at which the key can be taken, 0 if it does not exist, or undefined while another process renews it. A key that
   * the server should have removed long ago can be taken too. Taking it expects the revision, so a holder that renews it keeps it.
   */
  findFree(entry: KvEntry | null, nowMs: number): number | undefined {
    const revision = entry?.revision ?? 0;
    if (revision !== this.#revision) this.#sinceMs = nowMs;
    this.#revision = revision;
    const isHeld = entry !== null && entry.operation === 'PUT';
    const isOverdue = nowMs - this.#sinceMs > this.#leaseMs * (1 + overdueShare);
    return isHeld && !isOverdue ? undefined : revision;
  }

  /** Records whether the servers respond to a write. A refused write counts as a response. */
  noteWrite(writing: Promise<unknown>, clock: Clock): void {
    const noteResponse = () => {
      this.#silentSinceMs = undefined;
    };
    this.#silentSinceMs ??= clock.nowMs();
    writing.then(noteResponse, (error: unknown) => {
      if (error instanceof JetStreamApiError) noteResponse();
    });
  }

  /** Returns whether the servers respond to reads but to no write for longer than an election takes. If so, the next call measures anew. */
  isSilent(nowMs: number): boolean {
    const isSilent =
      this.#silentSinceMs !== undefined &&
      nowMs - this.#silentSinceMs > this.#leaseMs * silentLeases;
    if (isSilent) this.#silentSinceMs = undefined;
    return isSilent;
  }
}
