/** The health of a source: when it may be asked again, and whether it is trusted. */

import type { Clock } from '@sluice/base/clock';
import type { Random } from '@sluice/base/random';
import { backoffMs } from '@sluice/base/retry';
import type { Refusal } from './refusal.ts';

export type SourceState = 'starting' | 'live' | 'waiting' | 'quarantined' | 'disabled';

export interface SourceStatus {
  readonly name: string;
  readonly state: SourceState;
  /** The last fault. It never contains an address. */
  readonly fault: string | null;
  readonly failures: number;
  readonly strikes: number;
}

const backoff = { firstMs: 100, maxMs: 10_000 };
/** A rejected key is rarely accepted a moment later, but the operator of the source may add it. */
const keyBackoff = { firstMs: 1_000, maxMs: 60_000 };
const strikeCountMax = 5;
const quarantineMs = 60_000;
/** A source that responded within this time takes part in votes. */
const healthyMsMax = 10_000;

export class SourceHealth {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #random: Random;
  #state: SourceState = 'starting';
  #fault: string | null = null;
  #failures = 0;
  #failureTotal = 0;
  #strikes = 0;
  #isKeyRejected = false;
  #readyMs = 0;
  #respondedMs = Number.NEGATIVE_INFINITY;

  constructor(name: string, dependencies: { readonly clock: Clock; readonly random: Random }) {
    this.#name = name;
    this.#clock = dependencies.clock;
    this.#random = dependencies.random;
  }

  get status(): SourceStatus {
    return {
      name: this.#name,
      state: this.#state,
      fault: this.#fault,
      failures: this.#failureTotal,
      strikes: this.#strikes,
    };
  }

  get isDisabled(): boolean {
    return this.#state === 'disabled';
  }

  /** Whether the source rejected the key in its last response. */
  get isKeyRejected(): boolean {
    return this.#isKeyRejected;
  }

  /** Whether the source may be asked now. */
  get isReady(): boolean {
    return this.#state !== 'disabled' && this.#clock.nowMs() >= this.#readyMs;
  }

  /** Whether the source is ready, not in quarantine, and has responded recently. */
  get isHealthy(): boolean {
    const isTrusted = this.#state === 'live' || this.#state === 'waiting';
    return isTrusted && this.#clock.nowMs() - this.#respondedMs <= healthyMsMax;
  }

  /** Resolves when the source may be asked again. */
  async ready(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !this.isReady) {
      const leftMs = this.isDisabled ? quarantineMs : this.#readyMs - this.#clock.nowMs();
      await this.#clock.sleep(Math.max(1, leftMs), signal);
    }
  }

  /** Records a valid response. */
  responded(): void {
    this.#respondedMs = this.#clock.nowMs();
    this.#failures = 0;
    if (this.#state === 'disabled') return;
    this.#isKeyRejected = false;
    // After a quarantine, the next strike starts another one.
    if (this.#state === 'quarantined') this.#strikes = strikeCountMax - 1;
    this.#state = 'live';
    this.#fault = null;
  }

  /** Records an accepted block, which cancels one earlier strike. */
  praise(): void {
    this.#strikes = Math.max(0, this.#strikes - 1);
  }

  /** Records that the source did not respond, that it requested a pause, or that it rejected the key, which may be valid later. */
  fail({ reason, cause, retryAfterMs }: Refusal): void {
    this.#failures++;
    this.#failureTotal++;
    this.#isKeyRejected = reason === 'key';
    this.#fault = this.#isKeyRejected ? `the key was rejected: ${cause}` : cause;
    if (this.#state !== 'quarantined') this.#state = 'waiting';
    const limits = this.#isKeyRejected ? keyBackoff : backoff;
    this.#wait(retryAfterMs ?? backoffMs(this.#failures, limits, this.#random));
  }

  /** Records wrong data. Too many strikes start a quarantine. */
  strike(fault: string): void {
    this.#strikes++;
    this.#failureTotal++;
    this.#fault = fault;
    if (this.#strikes < strikeCountMax) {
      this.#failures++;
      this.#wait(backoffMs(this.#failures, backoff, this.#random));
      return;
    }
    this.#state = 'quarantined';
    this.#wait(quarantineMs);
  }

  /** Disables the source permanently: it serves another ledger, or other content. */
  disable(fault: string): void {
    this.#state = 'disabled';
    this.#fault = fault;
  }

  #wait(ms: number): void {
    this.#readyMs = this.#clock.nowMs() + ms;
  }
}
