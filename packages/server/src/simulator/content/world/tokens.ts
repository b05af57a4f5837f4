import { elementAt } from '../../../base/element-at.ts';

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

export interface TokenRow {
  readonly symbol: string;
  readonly decimals: number;
  readonly isToken2022: boolean;
  /** The number of whole tokens that a coin buys at the initial price. */
  readonly perCoin: number;
}

function row(symbol: string, decimals: number, perCoin: number, isToken2022 = false): TokenRow {
  return { symbol, decimals, perCoin, isToken2022 };
}

/** The tokens by popularity. The first is the wrapped coin. */
export const TOKENS: readonly TokenRow[] = [
  row('SOL', 9, 1),
  row('USD', 6, 160),
  row('STK', 9, 0.9),
  row('PUSD', 6, 160, true),
  row('BNK', 5, 900_000),
  row('JUP', 6, 320),
  row('WIF', 6, 90),
  row('RAY', 6, 64),
  row('PYT', 6, 420),
  row('ORC', 6, 52),
  row('BTC', 8, 0.0016),
  row('ETH', 8, 0.047),
  row('FART', 6, 210, true),
  row('POP', 6, 480),
  row('MEW', 5, 46_000),
  row('RNDR', 8, 38),
  row('HNT', 8, 44),
  row('W', 6, 1_400),
  row('KMN', 6, 2_600, true),
  row('DRF', 6, 240),
  row('TNS', 8, 980),
  row('SAM', 5, 54_000),
  row('GRASS', 9, 110),
  row('PENG', 6, 5_200, true),
];
export const TOKEN_COUNT = TOKENS.length;
export const WRAPPED = 0;
export const DOLLAR = 1;
export const STAKED = 2;

/** The two tokens of each pool: every token with the coin, and the most popular ones also with the dollar. */
export const POOLS: readonly (readonly [base: number, quote: number])[] = [
  ...TOKENS.slice(1).map((_, i) => [i + 1, WRAPPED] as const),
  ...[2, 3, 4, 5, 7, 8, 10, 11].map((base) => [base, DOLLAR] as const),
];
export const POOL_COUNT = POOLS.length;

/** The base tokens of the order book's markets. The quote token is the dollar. */
export const MARKETS: readonly number[] = [2, 5, 10, 11];
export const MARKET_COUNT = MARKETS.length;

const POWERS_OF_TEN: readonly number[] = [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/** The smallest units of one whole token. */
export function wholeUnits(token: number): number {
  return elementAt(POWERS_OF_TEN, elementAt(TOKENS, token).decimals);
}

/** Returns the value of one coin in the smallest units of a token. */
export function unitsPerCoin(token: number): number {
  return Math.round(elementAt(TOKENS, token).perCoin * wholeUnits(token));
}
