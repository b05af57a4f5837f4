import type { Block } from '@sluice/ledger/block';
import { discriminator } from '@sluice/ledger/discriminator';
import { event, infrastructure } from './well-known.ts';

/** A program and the start of its instruction data. */
export type Call = readonly [programId: string, start: string];

type Counts = Map<string, number>;

/** How often programs, discriminators, owners and accounts occur in a sample of blocks. */
export class SampleCounts {
  transactionCount = 0;
  readonly #calls: Readonly<Record<'d1' | 'd8', Counts>> = { d1: new Map(), d8: new Map() };
  /** By program, d1 and the account at position 1. */
  readonly #positions: Counts = new Map();
  readonly #preOwners: Counts = new Map();
  readonly #postOwners: Counts = new Map();
  readonly #mints: Counts = new Map();
  readonly #accounts: Counts = new Map();

  constructor(blocks: readonly Block[]) {
    for (const block of blocks) this.#add(block);
  }

  has(name: 'd1' | 'd8', call: Call): boolean {
    return this.#calls[name].has(call.join(' '));
  }

  hasPosition(...position: readonly string[]): boolean {
    return this.#positions.has(position.join(' '));
  }

  hasPreOwner(owner: string): boolean {
    return this.#preOwners.has(owner);
  }

  hasPostOwner(owner: string): boolean {
    return this.#postOwners.has(owner);
  }

  hasMint(mint: string): boolean {
    return this.#mints.has(mint);
  }

  /** Returns the calls of applications, most frequent first. */
  calls(name: 'd1' | 'd8'): Call[] {
    return ranked(this.#calls[name])
      .map((key) => key.split(' ') as unknown as Call)
      .filter(([programId, start]) => !infrastructure.has(programId) && start !== event);
  }

  /** Returns the application's call whose count is closest to this share of the transactions. */
  callNear(name: 'd8', share: number): Call | undefined {
    const distance = (call: Call) =>
      Math.abs(
        Math.log((this.#calls[name].get(call.join(' ')) ?? 0) / this.transactionCount / share),
      );
    return this.calls(name).sort((a, b) => distance(a) - distance(b))[0];
  }

  /** Returns the most frequent program, d1 and account at position 1. */
  topPosition(): readonly string[] {
    return ranked(this.#positions)[0]?.split(' ') ?? [];
  }

  topPreOwner(): string | undefined {
    return ranked(this.#preOwners)[0];
  }

  topPostOwner(): string | undefined {
    return ranked(this.#postOwners)[0];
  }

  topMint(): string | undefined {
    return ranked(this.#mints)[0];
  }

  /** Returns an account with the fewest transactions. */
  rarestAccount(): string | undefined {
    return ranked(this.#accounts).at(-1);
  }

  #add(block: Block): void {
    this.transactionCount += block.transactions.length;
    for (const { programId, data, accounts } of block.instructions) {
      const d8 = discriminator(data, 8);
      const d1 = d8?.slice(0, 4) ?? discriminator(data, 1);
      if (d8 !== null) count(this.#calls.d8, `${programId} ${d8}`);
      if (d1 === null) continue;
      count(this.#calls.d1, `${programId} ${d1}`);
      if (accounts[1] !== undefined) count(this.#positions, `${programId} ${d1} ${accounts[1]}`);
    }
    for (const { preOwner, postOwner, postMint } of block.tokenBalances) {
      if (preOwner !== null) count(this.#preOwners, preOwner);
      if (postOwner !== null) count(this.#postOwners, postOwner);
      if (postMint !== null) count(this.#mints, postMint);
    }
    for (const { accounts } of block.instructions)
      for (const account of accounts) count(this.#accounts, account);
  }
}

function count(counts: Counts, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

/** Returns the keys, most frequent first, equal ones sorted by text, so that the choice is deterministic. */
function ranked(counts: Counts): string[] {
  return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).map(([key]) => key);
}
