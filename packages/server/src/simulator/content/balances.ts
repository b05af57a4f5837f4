/** Lamports before and after a transaction, one pair per key. */
import type { Random } from '../../base/random.ts';
import { Bands, Quantiles } from './distributions.ts';
import { countWritable, type KeyList, writableIndex } from './key-list.ts';

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
  readonly pre: string[];
  readonly post: string[];
}

/** What a transaction does to balances: it takes the fee, and if it succeeds it moves lamports from the payer on. */
export interface BalancePlan {
  readonly fee: number;
  readonly isFailed: boolean;
  readonly isStress: boolean;
}

export function drawBalances(list: KeyList, plan: BalancePlan, random: Random): Balances {
  const pre: string[] = [];
  for (const key of list.keys) pre.push(key.resting);
  const post = pre.slice();
  const changedCount = plan.isFailed ? 1 : CHANGED_COUNT.draw(random);
  const payer = PAYER_LAMPORTS.draw(random);
  let moved = 0;
  const otherCount = Math.min(changedCount - 1, countWritable(list));
  for (let i = 0; i < otherCount; i++) {
    const index = writableIndex(list, i);
    const lamports = MOVED_LAMPORTS.draw(random) + 1;
    // Every other change is what was there coming back to the payer, as when an account is closed.
    if (random.chance(0.3) && pre[index] !== '0') {
      post[index] = '0';
      moved -= Number(pre[index]);
    } else {
      post[index] = String(Number(pre[index]) + lamports);
      moved += lamports;
    }
  }
  const before = payer + plan.fee + Math.max(0, moved);
  const after = before - plan.fee - moved;
  const isWhale = random.chance(WHALE_RATE);
  pre[0] = isWhale ? String(WHALE_LAMPORTS + BigInt(before)) : String(before);
  post[0] = isWhale ? String(WHALE_LAMPORTS + BigInt(after)) : String(after);
  if (plan.isStress) disturb(pre, post, random);
  return { pre, post };
}

function disturb(pre: string[], post: string[], random: Random): void {
  for (let i = 0; i < pre.length; i++) {
    if (random.chance(0.05)) pre[i] = random.pick(EXTREMES);
    if (random.chance(0.05)) post[i] = random.pick(EXTREMES);
  }
}
