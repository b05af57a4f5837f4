/**
 * Delays a new block until enough sources report its hash. Without it the first source is believed, and a wrong block is
 * replaced by a fork one slot later. With it a wrong block is never stored, but every block waits for the other sources.
 */
import type { Clock } from '@sluice/base/clock';
import { settleWithin } from '@sluice/base/settle-within';
import type { BlockRef } from '@sluice/ledger/block';
import { agreedFinalSlot, responseMsMax } from './confirm-finality.ts';
import type { FollowedSource } from './followed-source.ts';

export type Agreement = 'reached' | 'missing' | 'contradicted';

export interface TipAgreementDependencies {
  readonly clock: Clock;
  readonly sources: () => readonly FollowedSource[];
}

/** How often the other sources are asked. */
const askEveryMs = 50;
/** After this time the source of the block is asked again, because it may have switched to another block. */
const waitMsMax = 2_000;

export class TipAgreement {
  readonly #count: number;
  readonly #dependencies: TipAgreementDependencies;

  /** `count` sources must have a block, its own source included. */
  constructor(count: number, dependencies: TipAgreementDependencies) {
    this.#count = count;
    this.#dependencies = dependencies;
  }

  /** Waits until enough sources have the block, until enough have another one, or until the time is over. */
  async reach(block: BlockRef, source: FollowedSource, signal: AbortSignal): Promise<Agreement> {
    const { clock, sources } = this.#dependencies;
    // A block that most sources report as final needs no further check. The report of a single source is not enough.
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

  /** Returns how many other sources have this block at its slot, and how many have another one. */
  async #ask(
    block: BlockRef,
    source: FollowedSource,
    signal: AbortSignal,
  ): Promise<{ readonly same: number; readonly other: number }> {
    const { clock, sources } = this.#dependencies;
    const others = sources().filter((other) => other !== source && other.health.isReady);
    const responses = await settleWithin(
      others.map(({ remote }) => remote.header(block.number, 'confirmed', signal)),
      responseMsMax,
      clock,
    );
    const hashes = responses.flatMap((response) =>
      response?.kind === 'ok' ? [response.value.hash] : [],
    );
    const same = hashes.filter((hash) => hash === block.hash).length;
    return { same, other: hashes.length - same };
  }
}
