import type { SimulatedChain } from '@sluice/simulator/chain/chain';

/** The number of requests for the time. At least one of so many is not delayed. */
const attemptCount = 50;

/** Determines when a node started to return a block, by the clock of this process. */
export class LedgerClock {
  readonly chain: SimulatedChain;
  readonly #zeroMs: number;
  /** Cached, because thousands of clients ask for the same block. */
  readonly #confirmedMs = new Map<number, number>();
  readonly #next = new Map<number, number>();

  private constructor(chain: SimulatedChain, zeroMs: number) {
    this.chain = chain;
    this.#zeroMs = zeroMs;
  }

  /** Compares the clocks. The shortest round trip is the most precise. */
  static async read(controlUrl: string, chain: SimulatedChain): Promise<LedgerClock> {
    let best = { tripMs: Number.POSITIVE_INFINITY, zeroMs: 0 };
    for (let attempt = 0; attempt < attemptCount; attempt++) {
      const sentMs = performance.now();
      const answer = await fetch(`${controlUrl}/time`);
      const gotMs = performance.now();
      const { ledgerMs } = (await answer.json()) as { ledgerMs: number };
      const tripMs = gotMs - sentMs;
      if (tripMs < best.tripMs) best = { tripMs, zeroMs: (sentMs + gotMs) / 2 - ledgerMs };
    }
    return new LedgerClock(chain, best.zeroMs);
  }

  /** Returns the newest confirmed block at a time of this process. */
  newestBlock(ms: number): number {
    return this.chain.previousBlock(this.chain.confirmedIndex(ms - this.#zeroMs));
  }

  /** Returns when `getBlock` with commitment `confirmed` would first return this block. */
  confirmedMs(slot: number): number {
    return recall(this.#confirmedMs, slot, () => this.#zeroMs + this.chain.confirmedAtMs(slot));
  }

  /** Returns the next block. */
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
