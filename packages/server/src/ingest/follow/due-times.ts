/**
 * Predicts when an announced block can be requested. A node announces a slot when it is processed and has its block some time
 * later. The delay is learned from earlier blocks. Requests are frequent within the learned range and rare outside of it,
 * because a fixed interval would either send more requests or find the block later.
 *
 *   announced ──────────── earliest ─ · · · · · · ─ latest ────────────►
 *               rare                   frequent              rare
 */
const rareMs = 50;
const frequentMs = 15;
/** The range shrinks by this share of the distance with each block inside of it. */
const forgetShare = 1 / 64;
/** A longer delay is ignored: the block was missed, or loaded as history. */
const delayMsMax = 2_000;

export class DueTimes {
  #earliestMs: number | undefined;
  #latestMs = 0;

  /** Records that a block was returned to a request which was sent this long after the announcement. */
  learn(delayMs: number): void {
    if (delayMs < 0 || delayMs > delayMsMax) return;
    const earliestMs = this.#earliestMs ?? delayMs;
    this.#earliestMs = Math.min(delayMs, earliestMs + (delayMs - earliestMs) * forgetShare);
    this.#latestMs = Math.max(delayMs, this.#latestMs - (this.#latestMs - delayMs) * forgetShare);
  }

  /** Returns the wait before the next request for blocks that were announced this long ago. */
  pauseMs(announcedForMs: readonly number[]): number {
    return Math.min(rareMs, ...announcedForMs.map((forMs) => this.#pauseFor(forMs)));
  }

  #pauseFor(forMs: number): number {
    if (this.#earliestMs === undefined || forMs > this.#latestMs + frequentMs) return rareMs;
    return Math.max(frequentMs, this.#earliestMs - frequentMs - forMs);
  }
}
