/** Finds the decimals of mints in the token balances of a transaction. */
import type { RowTexts } from './row-texts.ts';

/** The addresses of columns in the memory of a kernel. Mints and decimals are stored plus one, and 0 is null. */
export interface BalanceColumns {
  /** Where the balances of each transaction start. */
  readonly starts: number;
  readonly preMints: number;
  readonly preDecimals: number;
  readonly postMints: number;
  readonly postDecimals: number;
}

export class MintDecimals {
  readonly #rows: RowTexts;
  readonly #columns: BalanceColumns;

  constructor(rows: RowTexts, columns: BalanceColumns) {
    this.#rows = rows;
    this.#columns = columns;
  }

  /**
   * Returns the decimals of a mint, given by the id of its key or as text; -1 if they are not known. The last balance decides, as in a map to
   * which all are added in order.
   */
  find(transaction: number, mint: number | string): number {
    const { ints } = this.#rows.kernel;
    const { starts, preMints, preDecimals, postMints, postDecimals } = this.#columns;
    const first = ints[starts / 4 + transaction] ?? 0;
    for (let row = (ints[starts / 4 + transaction + 1] ?? 0) - 1; row >= first; row--) {
      if (this.#isMint(transaction, ints[postMints / 4 + row] ?? 0, mint))
        return (ints[postDecimals / 4 + row] ?? 0) - 1;
      if (this.#isMint(transaction, ints[preMints / 4 + row] ?? 0, mint))
        return (ints[preDecimals / 4 + row] ?? 0) - 1;
    }
    return -1;
  }

  #isMint(transaction: number, stored: number, mint: number | string): boolean {
    if (stored === 0) return false;
    const id = this.#rows.keyId(transaction, stored - 1);
    return mint === (typeof mint === 'number' ? id : this.#rows.keyText(id));
  }
}
