/** Token accounts of a transaction before and after it. */
import type { Random } from '../../base/random.ts';
import type { Address } from '../../ledger/primitives.ts';
import type { AddressBook } from './address-book.ts';
import { EXTREMES } from './balances.ts';
import type { Shape } from './call-tree.ts';
import { Bands, buildZipfTable, Quantiles } from './distributions.ts';
import type { Key, KeyList } from './key-list.ts';
import { TOKEN, TOKEN_2022_ID, WRAPPED_COIN } from './ledger-programs.ts';
import type { Holding, HoldingSide } from './simulated-block.ts';

const NO_TOKENS_RATE = 0.115;
const COUNT = new Bands([
  [1, 3, 13],
  [4, 4, 13],
  [5, 5, 46],
  [6, 6, 14],
  [7, 11, 11.5],
  [12, 26, 2.3],
]);
const CHANGED_RATE = 0.34;
const ONE_SIDED_RATE = 0.05;
const MINT_COUNT = 20_000;
const MINTS = buildZipfTable(MINT_COUNT, 1.18);
const OWNER_COUNT = 4000;
const OWNERS = buildZipfTable(OWNER_COUNT, 0.9);
const AMOUNT = new Quantiles([
  [0, 0],
  [0.14, 0],
  [0.3, 1_000_000],
  [0.6, 4_000_000_000],
  [0.85, 900_000_000_000],
  [0.99, 800_000_000_000_000],
  [1, 9_000_000_000_000_000],
]);

interface Token {
  readonly mint: Address;
  readonly decimals: number;
  readonly programId: Address;
}

const WRAPPED: Token = { mint: WRAPPED_COIN, decimals: 9, programId: TOKEN.id };

export class HoldingDrawer {
  readonly #book: AddressBook;
  readonly #random: Random;
  readonly #marketTokens = new Map<number, Token>();

  constructor(random: Random, book: AddressBook) {
    this.#random = random;
    this.#book = book;
  }

  draw(list: KeyList, shape: Shape, random: Random): Holding[] {
    if (shape === 'infrastructure' ? random.chance(0.85) : random.chance(NO_TOKENS_RATE)) return [];
    const count = Math.min(COUNT.draw(random), list.writable.length);
    const first = list.writable.find((key) => key.market >= 0);
    const token = first === undefined ? this.#drawToken(random) : this.#marketToken(first.market);
    // Vaults stand behind the fresh accounts; starting near the end of those takes some of both.
    const start = random.below(Math.max(1, list.writable.length - count + 1));
    const holdings: Holding[] = [];
    for (let i = 0; i < count; i++) {
      const key = list.writable[start + i] as Key;
      holdings.push(this.#drawHolding(key, token, list, random));
    }
    return holdings.sort((a, b) => a.accountIndex - b.accountIndex);
  }

  #drawHolding(key: Key, token: Token, list: KeyList, random: Random): Holding {
    const held = random.chance(0.37)
      ? WRAPPED
      : random.chance(0.75)
        ? token
        : this.#drawToken(random);
    const owner = this.#drawOwner(key, list, random);
    const before = AMOUNT.draw(random);
    const pre: HoldingSide = { ...held, owner, amount: String(before) };
    if (random.chance(ONE_SIDED_RATE)) {
      const isNew = random.chance(0.5);
      return { accountIndex: key.index, pre: isNew ? null : pre, post: isNew ? pre : null };
    }
    if (!random.chance(CHANGED_RATE)) return { accountIndex: key.index, pre, post: pre };
    const change = random.below(1_000_000_000);
    const after = before > change && random.chance(0.5) ? before - change : before + change + 1;
    return { accountIndex: key.index, pre, post: { ...pre, amount: String(after) } };
  }

  #drawOwner(key: Key, list: KeyList, random: Random): Address {
    if (random.chance(0.27)) return this.#book.address('owner', 0);
    if (key.role === 'fresh' && random.chance(0.5)) return (list.keys[0] as Key).address;
    return this.#book.address('owner', 1 + OWNERS.draw(random));
  }

  /** The coin that is traded on a market, always the same one. */
  #marketToken(market: number): Token {
    const known = this.#marketTokens.get(market);
    if (known !== undefined) return known;
    const token = this.#drawToken(this.#random.fork('market', market));
    // Bounded: markets come and go over a long run.
    if (this.#marketTokens.size >= 20_000) this.#marketTokens.clear();
    this.#marketTokens.set(market, token);
    return token;
  }

  #drawToken(random: Random): Token {
    const rank = MINTS.draw(random);
    const programId = rank % 7 === 3 ? TOKEN_2022_ID : TOKEN.id;
    return { mint: this.#book.address('mint', rank), decimals: rank % 4 === 1 ? 9 : 6, programId };
  }
}

/** Sides that differ in everything, and amounts at the ends of their range. */
export function disturbHoldings(holdings: Holding[], book: AddressBook, random: Random): Holding[] {
  return holdings.map((holding) => {
    const { accountIndex, pre, post } = holding;
    if (pre === null || post === null || !random.chance(0.2)) return holding;
    const change = random.below(4);
    return {
      accountIndex,
      pre: { ...pre, amount: random.pick(EXTREMES) },
      post: {
        amount: random.pick(EXTREMES),
        mint: change === 0 ? book.address('mint', 7) : post.mint,
        owner: change === 1 ? book.address('owner', 7) : post.owner,
        programId: change === 2 ? TOKEN_2022_ID : post.programId,
        decimals: change === 3 ? 0 : post.decimals,
      },
    };
  });
}
