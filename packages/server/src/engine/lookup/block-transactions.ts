import { elementAt } from '@sluice/base/element-at';
import type { BlockHeaders } from '../../segment/read/block-table.ts';
import type { Segment } from '../../segment/read/open-segment.ts';
import type { BlockRange } from '../segment-run.ts';

/** Maps the transactions of a segment to their blocks. Both are numbered from the first one of the segment. */
export class BlockTransactions {
  readonly #headers: BlockHeaders;
  /** For each block, its first transaction. Has one more entry, for the end. */
  readonly #starts: Uint32Array;

  constructor(segment: Segment) {
    this.#headers = segment.headers;
    this.#starts = segment.counts.transactions.smallSums();
  }

  /** Returns the blocks and the transactions of a slot range. The ends are exclusive. */
  within({ first, last }: BlockRange) {
    const blockStart = this.#headers.firstAtOrAfter(first);
    const blockEnd = Math.max(blockStart, this.#headers.firstAtOrAfter(last + 1));
    return { blockStart, blockEnd, start: this.startOf(blockStart), end: this.startOf(blockEnd) };
  }

  /** Returns the first transaction of a block, or of the blocks after it if it has none. */
  startOf(block: number): number {
    return elementAt(this.#starts, block);
  }

  /** Returns the block of the first slot at or after this one, or the number of blocks. */
  blockAtOrAfter(slot: number): number {
    return this.#headers.firstAtOrAfter(slot);
  }

  blockOf(transaction: number): number {
    let low = 0;
    let high = this.#headers.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (elementAt(this.#starts, middle) <= transaction) low = middle;
      else high = middle;
    }
    return low;
  }

  slotOf(block: number): number {
    return this.#headers.numberAt(block);
  }
}
