/**
 * When a block that was announced is worth asking for. A node tells of a slot when it is processed and gives its block some
 * time after; how long that takes is learned from the blocks that came. Inside that span it is asked often, outside of it
 * seldom: a steady beat would either ask far more or find the block later.
 *
 *   announced ──────────── earliest ─ · · · · · · ─ latest ────────────►
 *               seldom                   often               seldom
 */
const seldomMs = 50;
const oftenMs = 15;
/** How far the span moves in with each block that came well inside of it. */
const forgetShare = 1 / 64;
/** What took longer was not waited for, but missed, or fetched as history. */
const delayMsMax = 2_000;

export class DueTimes {
  #earliestMs: number | undefined;
  #latestMs = 0;

  /** A block was given to a question that was asked so long after the announcement. */
  learn(delayMs: number): void {
    if (delayMs < 0 || delayMs > delayMsMax) return;
    const earliestMs = this.#earliestMs ?? delayMs;
    this.#earliestMs = Math.min(delayMs, earliestMs + (delayMs - earliestMs) * forgetShare);
    this.#latestMs = Math.max(delayMs, this.#latestMs - (this.#latestMs - delayMs) * forgetShare);
  }

  /** How long to pause before asking for blocks that were announced so long ago. */
  pauseMs(announcedForMs: readonly number[]): number {
    return Math.min(seldomMs, ...announcedForMs.map((forMs) => this.#pauseFor(forMs)));
  }

  #pauseFor(forMs: number): number {
    if (this.#earliestMs === undefined || forMs > this.#latestMs + oftenMs) return seldomMs;
    return Math.max(oftenMs, this.#earliestMs - oftenMs - forMs);
  }
}
