import type { KV } from '@nats-io/kv';
import type { Clock } from '../base/clock.ts';
import type { Lease } from './feed.ts';

export interface KvLeaseOptions {
  readonly key: string;
  readonly holder: string;
  /** The time to live of the key. */
  readonly leaseMs: number;
}

export interface KvLeaseModules {
  readonly kv: KV;
  readonly clock: Clock;
}

/** How often in the time to live the holder renews the key, and the others try to create it. */
const stepsPerLease = 4;
/** The holder gives up before the key can expire, by this share of the time to live. */
const safetyShare = 0.25;

/** A key that its holder renews. The server removes the key when it is not renewed. */
export class KvLease implements Lease {
  readonly #options: KvLeaseOptions;
  readonly #modules: KvLeaseModules;
  readonly #lost = new AbortController();
  readonly #renewing: Promise<void>;
  #revision: number;
  #renewedMs: number;

  private constructor(
    options: KvLeaseOptions,
    modules: KvLeaseModules,
    revision: number,
    nowMs: number,
  ) {
    this.#options = options;
    this.#modules = modules;
    this.#revision = revision;
    this.#renewedMs = nowMs;
    this.#renewing = this.#renew();
  }

  static async acquire(
    options: KvLeaseOptions,
    modules: KvLeaseModules,
    signal: AbortSignal,
  ): Promise<KvLease | undefined> {
    const { key, holder, leaseMs } = options;
    const { kv, clock } = modules;
    while (!signal.aborted) {
      const nowMs = clock.nowMs();
      try {
        return new KvLease(options, modules, await kv.create(key, holder), nowMs);
      } catch {
        // Another process holds the lease, or the server does not respond. Both cases are retried.
        await clock.sleep(leaseMs / stepsPerLease, signal);
      }
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
    await this.#modules.kv.delete(key, { previousSeq: this.#revision }).catch(() => undefined);
  }

  async #renew(): Promise<void> {
    const { key, holder, leaseMs } = this.#options;
    const { kv, clock } = this.#modules;
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
      const entry = await this.#modules.kv.get(key);
      if (entry === null || entry.string() !== holder) return false;
      this.#revision = entry.revision;
      return true;
    } catch {
      // The state is unknown, so the deadline decides.
      return true;
    }
  }
}
