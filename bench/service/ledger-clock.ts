import type { SimulatedChain } from '@sluice/server/dist/simulator/chain.js';

/** As many looks as it takes to see one without a wait in it. */
const lookCount = 50;

/** When, by the clock of this process, a node began to answer for a block. */
export class LedgerClock {
  readonly chain: SimulatedChain;
  readonly #zeroMs: number;
  /** Thousands ask for the same block. */
  readonly #confirmedMs = new Map<number, number>();
  readonly #next = new Map<number, number>();

  private constructor(chain: SimulatedChain, zeroMs: number) {
    this.chain = chain;
    this.#zeroMs = zeroMs;
  }

  /** Compares the clocks: the shortest exchange says it best. */
  static async read(controlUrl: string, chain: SimulatedChain): Promise<LedgerClock> {
    let best = { tripMs: Number.POSITIVE_INFINITY, zeroMs: 0 };
    for (let look = 0; look < lookCount; look++) {
      const sentMs = performance.now();
      const answer = await fetch(`${controlUrl}/time`);
      const gotMs = performance.now();
      const { ledgerMs } = (await answer.json()) as { ledgerMs: number };
      const tripMs = gotMs - sentMs;
      if (tripMs < best.tripMs) best = { tripMs, zeroMs: (sentMs + gotMs) / 2 - ledgerMs };
    }
    return new LedgerClock(chain, best.zeroMs);
  }

  /** The newest confirmed block at a time of this process. */
  newestBlock(ms: number): number {
    return this.chain.previousBlock(this.chain.confirmedIndex(ms - this.#zeroMs));
  }

  /** When `getBlock` at `confirmed` would first give this block. */
  confirmedMs(slot: number): number {
    return recall(this.#confirmedMs, slot, () => this.#zeroMs + this.chain.confirmedAtMs(slot));
  }

  /** The block that follows one. */
  after(slot: number): number {
    return recall(this.#next, slot, () => this.chain.nextBlock(slot + 1));
  }
}

function recall(known: Map<number, number>, slot: number, find: () => number): number {
  let value = known.get(slot);
  if (value === undefined) {
    value = find();
    known.set(slot, value);
  }
  return value;
}
