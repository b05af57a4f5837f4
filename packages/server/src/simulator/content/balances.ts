/** Lamports before and after a transaction, one pair per key. */
import type { Random } from '../../base/random.ts';
import { Bands, Quantiles } from './distributions.ts';
import { countWritable, type Key, type KeyList, writableIndex } from './key-list.ts';
import { HEADER_BYTES, type TextList, type TextRegion } from './text-pool.ts';

/** Of transactions that succeed; one that fails only pays its fee. */
const CHANGED_COUNT = new Bands([
  [1, 1, 17],
  [2, 2, 66],
  [3, 3, 7.2],
  [4, 8, 8.7],
  [9, 22, 1.1],
]);
const PAYER_LAMPORTS = new Quantiles([
  [0, 3_000_000],
  [0.3, 80_000_000],
  [0.6, 1_500_000_000],
  [0.9, 60_000_000_000],
  [1, 4_000_000_000_000],
]);
const MOVED_LAMPORTS = new Quantiles([
  [0, 1],
  [0.3, 100_000],
  [0.5, 2_039_280],
  [0.9, 900_000_000],
  [1, 30_000_000_000],
]);
/** A few accounts hold more than a double can count. */
const WHALE_RATE = 0.004;
const WHALE_LAMPORTS = 9_007_199_254_740_993n;

/** The ends of what 64 bits can hold, and the first number that a double cannot. */
export const EXTREMES: readonly string[] = [
  '0',
  '9007199254740991',
  '9007199254740993',
  '18446744073709551615',
];

export interface Balances {
  readonly pre: TextList;
  readonly post: TextList;
}

/** What a transaction does to balances: it takes the fee, and if it succeeds it moves lamports from the payer on. */
export interface BalancePlan {
  readonly fee: number;
  readonly isFailed: boolean;
  readonly isStress: boolean;
}

export function drawBalances(
  list: KeyList,
  plan: BalancePlan,
  { random, texts }: { readonly random: Random; readonly texts: TextRegion },
): Balances {
  const { keys, keyCount } = list;
  const { words } = texts.pool;
  const pre = texts.openList(keyCount);
  const post = texts.openList(keyCount);
  const preStart = (pre + HEADER_BYTES) >> 2;
  const postStart = (post + HEADER_BYTES) >> 2;
  for (let i = 0; i < keyCount; i++) {
    const { text } = (keys[i] as Key).resting;
    words[preStart + i] = text;
    words[postStart + i] = text;
  }
  const changedCount = plan.isFailed ? 1 : CHANGED_COUNT.draw(random);
  const payer = PAYER_LAMPORTS.draw(random);
  let moved = 0;
  const otherCount = Math.min(changedCount - 1, countWritable(list));
  for (let i = 0; i < otherCount; i++) {
    const index = writableIndex(list, i);
    const held = (keys[index] as Key).resting.lamports;
    const lamports = MOVED_LAMPORTS.draw(random) + 1;
    // Every other change is what was there coming back to the payer, as when an account is closed.
    const change = random.chance(0.3) && held > 0 ? -held : lamports;
    words[postStart + index] = texts.addNumber(held + change);
    moved += change;
  }
  const before = payer + plan.fee + Math.max(0, moved);
  const after = before - plan.fee - moved;
  const isWhale = random.chance(WHALE_RATE);
  words[preStart] = isWhale ? texts.add(printWhale(before)) : texts.addNumber(before);
  words[postStart] = isWhale ? texts.add(printWhale(after)) : texts.addNumber(after);
  if (plan.isStress) disturb({ pre, post }, random, texts);
  return { pre, post };
}

function printWhale(more: number): string {
  return String(WHALE_LAMPORTS + BigInt(more));
}

function disturb({ pre, post }: Balances, random: Random, texts: TextRegion): void {
  const { words } = texts.pool;
  const count = texts.pool.listCount(pre);
  for (let i = 1; i <= count; i++) {
    if (random.chance(0.05)) words[(pre >> 2) + i] = texts.add(random.pick(EXTREMES));
    if (random.chance(0.05)) words[(post >> 2) + i] = texts.add(random.pick(EXTREMES));
  }
}
