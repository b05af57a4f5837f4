import { elementAt } from '@sluice/base/element-at';

/** The listed tokens and the pools that trade them: the same on every ledger. */

/** The number of lamports of a coin. */
export const COIN = 1_000_000_000;
/** Returns the minimum lamports of an account of this size, so that it is exempt from rent. */
export function rentOf(byteCount: number): number {
  return (byteCount + 128) * 6960;
}
export const TOKEN_BYTES = 165;
/** Accounts of Token-2022 also have the immutable owner extension. */
export const TOKEN_2022_BYTES = 170;
export const MINT_BYTES = 82;

/** The decimals of the tokens, the most popular first, in the order of docs/simulator.md. The first token is the wrapped coin. */
export const DECIMALS: readonly number[] = [
  9, 6, 9, 6, 5, 6, 6, 6, 6, 6, 8, 8, 6, 6, 5, 8, 8, 6, 6, 6, 8, 5, 9, 6,
];
/** The number of whole tokens that a coin buys at the initial price. */
const PER_COIN: readonly number[] = [
  1, 160, 0.9, 160, 900_000, 320, 90, 64, 420, 52, 0.0016, 0.047, 210, 480, 46_000, 38, 44, 1_400,
  2_600, 240, 980, 54_000, 110, 5_200,
];
/** The tokens whose mints belong to Token-2022. */
export const TOKENS_2022: ReadonlySet<number> = new Set([3, 12, 18, 23]);
export const TOKEN_COUNT = DECIMALS.length;
export const WRAPPED = 0;
export const DOLLAR = 1;
export const STAKED = 2;

/** The two tokens of each pool: every token with the coin, and the most popular ones also with the dollar. */
export const POOLS: readonly (readonly [base: number, quote: number])[] = [
  ...DECIMALS.slice(1).map((_, i) => [i + 1, WRAPPED] as const),
  ...[2, 3, 4, 5, 7, 8, 10, 11].map((base) => [base, DOLLAR] as const),
];
export const POOL_COUNT = POOLS.length;

/** The base tokens of the order book's markets. The quote token is the dollar. */
export const MARKETS: readonly number[] = [2, 5, 10, 11];
export const MARKET_COUNT = MARKETS.length;

const POWERS_OF_TEN: readonly number[] = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/** Returns how many of a token's smallest units make one whole token. */
export function wholeUnits(token: number): number {
  return elementAt(POWERS_OF_TEN, elementAt(DECIMALS, token));
}

/** Returns the value of one coin in the smallest units of a token. */
export function unitsPerCoin(token: number): number {
  return Math.round(elementAt(PER_COIN, token) * wholeUnits(token));
}
