import type { Style } from '@sluice/base/terminal';
import type { BlockRef } from '@sluice/ledger/block';
import { toExactJson } from './query/exact-json.ts';

export interface TailBlock {
  readonly header: {
    readonly number: number;
    readonly hash: string;
    readonly timestamp: bigint | null;
    readonly recordCounts: Readonly<Record<string, number>>;
    readonly finalizedHead?: { readonly number: number; readonly hash: string } | null;
  };
}

export interface TailLines {
  block(block: TailBlock, nowMs: number): string;
  rollback(
    to: Pick<BlockRef, 'number'> | { readonly number: number; readonly hash: string },
  ): string;
}

export interface TailOptions {
  readonly isForPeople: boolean;
  readonly style: (style: Style, text: string) => string;
}

/** The time over which rates are measured. */
const rateMs = 10_000;

export function createTailLines({ isForPeople, style }: TailOptions): TailLines {
  if (!isForPeople) {
    return {
      block: ({ header }) => `${toExactJson({ kind: 'block', ...header })}\n`,
      rollback: (to) => `${toExactJson({ kind: 'rollback', to })}\n`,
    };
  }
  const rates = new Rates();
  let lastSlot: number | undefined;
  return {
    block: (block, nowMs) => {
      const { number, hash, timestamp, recordCounts, finalizedHead } = block.header;
      lastSlot = number;
      const transactions = recordCounts['transactions'] ?? 0;
      rates.add(nowMs, transactions);
      const cells = [
        style('dim', clockTime(timestamp)),
        style('bold', String(number)),
        style('dim', hash.slice(0, 8)),
        `${String(transactions).padStart(5)} transactions`,
        `${String(recordCounts['instructions'] ?? 0).padStart(6)} instructions`,
        style('green', finality(number, finalizedHead?.number)),
      ];
      const rate = rates.describe(nowMs);
      return `${cells.join('  ')}${rate === '' ? '' : `  ${style('dim', rate)}`}\n`;
    },
    rollback: ({ number }) => {
      const count = lastSlot === undefined ? '' : ` up to ${lastSlot}`;
      lastSlot = number;
      return `${style('yellow', `fork: the blocks above slot ${number}${count} were replaced`)}\n`;
    },
  };
}

function finality(slot: number, finalized: number | undefined): string {
  if (finalized === undefined) return 'none finalized'.padEnd(24);
  const text = finalized >= slot ? 'finalized' : `finalized ${finalized} (-${slot - finalized})`;
  return text.padEnd(24);
}

function clockTime(seconds: bigint | null): string {
  const ms = Number(seconds ?? 0n) * 1_000;
  const isShown = seconds !== null && Number.isFinite(ms) && Math.abs(ms) <= 8.64e15;
  return isShown ? new Date(ms).toISOString().slice(11, 19) : '--:--:--';
}

/** Measures blocks and transactions per second by their time of arrival. */
class Rates {
  #arrivals: { readonly atMs: number; readonly transactions: number }[] = [];

  add(atMs: number, transactions: number): void {
    this.#arrivals.push({ atMs, transactions });
    this.#arrivals = this.#arrivals.filter((arrival) => arrival.atMs >= atMs - rateMs);
  }

  /** Returns nothing during the first second, because stored blocks arrive all at once. */
  describe(nowMs: number): string {
    const [first, ...later] = this.#arrivals;
    const seconds = (nowMs - (first?.atMs ?? nowMs)) / 1_000;
    const followed = later.filter(({ atMs }) => atMs > (first?.atMs ?? 0));
    if (seconds < 1 || followed.length === 0) return '';
    const transactions = followed.reduce((sum, arrival) => sum + arrival.transactions, 0);
    const perSecond = (count: number) => (count / seconds).toFixed(1);
    return `${perSecond(followed.length)} blocks/s  ${perSecond(transactions)} tx/s`;
  }
}
