/**
 * Holds a new block back until so many sources show its hash. Without it the first source that shows a block is believed,
 * and out-voted a slot later if it lied; with it a lie is never stored, and every block waits for the second source.
 */
import type { Clock } from '../base/clock.ts';
import { settleWithin } from '../base/settle-within.ts';
import type { BlockRef } from '../ledger/block.ts';
import { agreedFinalSlot, answerMsMax } from './confirm-finality.ts';
import type { FollowedSource } from './followed-source.ts';

export type Agreement = 'reached' | 'missing' | 'contradicted';

export interface TipAgreementModules {
  readonly clock: Clock;
  readonly sources: () => readonly FollowedSource[];
}

/** Other sources show a block within a few of these, as a rule. */
const askEveryMs = 50;
/** Then its source is asked again, in case it has thought better of it. */
const waitMsMax = 2_000;

export class TipAgreement {
  readonly #count: number;
  readonly #modules: TipAgreementModules;

  /** So many sources must show a block, its own source included. */
  constructor(count: number, modules: TipAgreementModules) {
    this.#count = count;
    this.#modules = modules;
  }

  /** Waits until enough others show the block that one source has, or until that is not to be expected. */
  async reach(block: BlockRef, source: FollowedSource, signal: AbortSignal): Promise<Agreement> {
    const { clock, sources } = this.#modules;
    // What most call final was agreed on by the ledger itself; what one source says of its own finality proves nothing.
    if (this.#count <= 1 || block.number <= agreedFinalSlot(sources())) return 'reached';
    const endMs = clock.nowMs() + waitMsMax;
    for (;;) {
      const { same, other } = await this.#ask(block, source, signal);
      if (same + 1 >= this.#count) return 'reached';
      if (other >= this.#count) return 'contradicted';
      if (signal.aborted || clock.nowMs() >= endMs) return 'missing';
      await clock.sleep(askEveryMs, signal);
    }
  }

  /** How many other sources have this block at its slot, and how many have another one there. */
  async #ask(
    block: BlockRef,
    source: FollowedSource,
    signal: AbortSignal,
  ): Promise<{ readonly same: number; readonly other: number }> {
    const { clock, sources } = this.#modules;
    const others = sources().filter((one) => one !== source && one.health.isReady);
    const answers = await settleWithin(
      others.map(({ node }) => node.header(block.number, 'confirmed', signal)),
      answerMsMax,
      clock,
    );
    const hashes = answers.flatMap((answer) => (answer?.kind === 'ok' ? [answer.value.hash] : []));
    const same = hashes.filter((hash) => hash === block.hash).length;
    return { same, other: hashes.length - same };
  }
}
