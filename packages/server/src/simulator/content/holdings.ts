/** Token accounts of a transaction before and after it. */
import type { Random } from '../../base/random.ts';
import type { AddressBook } from './address-book.ts';
import { AmountPrinter, type Token } from './amount-printer.ts';
import { EXTREMES } from './balances.ts';
import type { Shape } from './call-tree.ts';
import { Bands, buildZipfTable, Quantiles } from './distributions.ts';
import { countWritable, type Key, type KeyList, writableIndex } from './key-list.ts';
import { TOKEN, TOKEN_2022_ID, WRAPPED_COIN } from './ledger-programs.ts';
import type { Holding, HoldingSide } from './simulated-block.ts';
import type { PooledText } from './text-pool.ts';

const NO_TOKENS_RATE = 0.165;
const COUNT = new Bands([
  [1, 3, 10],
  [4, 4, 12],
  [5, 5, 46],
  [6, 6, 15],
  [7, 11, 13],
  [12, 26, 4.5],
]);
/** With those that have one side only a third of all. */
const CHANGED_RATE = 0.305;
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

export class HoldingDrawer {
  readonly #book: AddressBook;
  readonly #random: Random;
  readonly #marketTokens = new Map<number, Token>();
  readonly #amounts: AmountPrinter;
  readonly #tokenId: PooledText;
  readonly #token2022Id: PooledText;
  readonly #wrapped: Token;

  constructor(random: Random, book: AddressBook) {
    this.#random = random;
    this.#book = book;
    const { lasting } = book.pool;
    this.#amounts = new AmountPrinter(book.pool);
    this.#tokenId = lasting.add(TOKEN.id);
    this.#token2022Id = lasting.add(TOKEN_2022_ID);
    this.#wrapped = { mint: lasting.add(WRAPPED_COIN), decimals: 9, programId: this.#tokenId };
  }

  draw(list: KeyList, shape: Shape, random: Random): Holding[] {
    if (shape === 'infrastructure' ? random.chance(0.85) : random.chance(NO_TOKENS_RATE)) return [];
    const writableCount = countWritable(list);
    const count = Math.min(COUNT.draw(random), writableCount);
    const market = findMarket(list);
    const token = market === -1 ? this.#drawToken(random) : this.#marketToken(market);
    // Vaults stand behind the fresh accounts, so that most runs take some of both.
    const start = random.below(Math.max(1, writableCount - count + 1));
    const holdings: Holding[] = [];
    for (let i = start; i < start + count; i++) {
      holdings.push(this.#drawHolding(writableIndex(list, i), token, list, random));
    }
    return holdings;
  }

  #drawHolding(accountIndex: number, token: Token, list: KeyList, random: Random): Holding {
    const held = random.chance(0.37)
      ? this.#wrapped
      : random.chance(0.75)
        ? token
        : this.#drawToken(random);
    const owner = this.#drawOwner(accountIndex, list, random);
    const before = AMOUNT.draw(random);
    const pre = this.#sideOf(held, owner, before);
    if (random.chance(ONE_SIDED_RATE)) {
      const isNew = random.chance(0.5);
      return { accountIndex, pre: isNew ? null : pre, post: isNew ? pre : null };
    }
    if (!random.chance(CHANGED_RATE)) return { accountIndex, pre, post: pre };
    const change = random.below(1_000_000_000);
    const after = before > change && random.chance(0.5) ? before - change : before + change + 1;
    return { accountIndex, pre, post: this.#sideOf(held, owner, after) };
  }

  #drawOwner(accountIndex: number, { keys }: KeyList, random: Random): PooledText {
    if (random.chance(0.27)) return this.#book.address('owner', 0);
    const isFresh = keys[accountIndex]?.role === 'fresh';
    if (isFresh && random.chance(0.5)) return (keys[0] as Key).address;
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
    const programId = rank % 7 === 3 ? this.#token2022Id : this.#tokenId;
    return { mint: this.#book.address('mint', rank), decimals: rank % 4 === 1 ? 9 : 6, programId };
  }

  #sideOf(token: Token, owner: PooledText, amount: number): HoldingSide {
    return this.#amounts.show(token, owner, this.#book.pool.passing.addNumber(amount));
  }

  /** Sides that differ in everything, and amounts at the ends of their range. */
  disturb(holdings: readonly Holding[], random: Random): Holding[] {
    const book = this.#book;
    const drawExtreme = () => book.pool.passing.add(random.pick(EXTREMES));
    return holdings.map((holding) => {
      const { accountIndex, pre, post } = holding;
      if (pre === null || post === null || !random.chance(0.2)) return holding;
      const change = random.below(4);
      return {
        accountIndex,
        pre: this.#amounts.show(pre, pre.owner, drawExtreme()),
        post: this.#amounts.show(
          {
            mint: change === 0 ? book.address('mint', 7) : post.mint,
            programId: change === 2 ? this.#token2022Id : post.programId,
            decimals: change === 3 ? 0 : post.decimals,
          },
          change === 1 ? book.address('owner', 7) : post.owner,
          drawExtreme(),
        ),
      };
    });
  }
}

/** The market of the first vault among the keys; -1 if there is none. */
function findMarket({ keys, keyCount }: KeyList): number {
  for (let i = 0; i < keyCount; i++) {
    const { market } = keys[i] as Key;
    if (market >= 0) return market;
  }
  return -1;
}
