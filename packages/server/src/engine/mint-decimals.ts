import type { RowTexts, TableRow } from '@sluice/decode/row-texts';
import type { MintSource } from '../query/query.ts';
import type { TypedRows } from './arrow/typed-columns.ts';
import type { GroupColumns } from './group-columns.ts';

/** Finds the decimals of mints in the token balances of the transaction of a row. */
export class MintDecimals {
  readonly #columns: GroupColumns;
  readonly #rows: RowTexts;
  /** The addresses of the columns of the balances after and before the transaction: mints and decimals, plus one, or 0 for null. */
  readonly #sides: readonly (readonly [mints: number, decimals: number])[];

  constructor(columns: GroupColumns, rows: RowTexts) {
    this.#columns = columns;
    this.#rows = rows;
    this.#sides = [
      [columns.made('tokenPostMint').at, columns.made('tokenPostDecimals').at],
      [columns.stored('tokPreMint').at, columns.stored('tokPreDecimals').at],
    ];
  }

  /** Writes the decimals of the mints of a row. */
  read(typed: TypedRows, i: number, row: TableRow): void {
    for (const [number, source] of typed.decoded.mints.entries()) {
      const found = typed.decimals[number];
      if (found !== undefined)
        found[i] = this.#find(row.transaction, this.#mint(typed, i, row, source));
    }
  }

  /** Returns the id of the key of an account, the text of an argument, or undefined. */
  #mint(
    { accounts, buffers, errors }: TypedRows,
    i: number,
    { transaction, row }: TableRow,
    { head, number }: MintSource,
  ): number | string | undefined {
    if (head === 'args')
      return (errors.texts[i] === null && buffers[number]?.texts[i]) || undefined;
    const position = accounts[number]?.[i] ?? -1;
    return position < 0 ? undefined : this.#rows.accountKey(transaction, row, position);
  }

  /** Searches from the last balance on, as a list of pairs in which a later one replaces those before it. */
  #find(transaction: number, mint: number | string | undefined): number {
    if (mint === undefined) return 0;
    const { ints } = this.#columns.kernel;
    const starts = this.#columns.made('tokenBalanceStarts').at / 4 + transaction;
    for (let row = (ints[starts + 1] ?? 0) - 1; row >= (ints[starts] ?? 0); row--) {
      for (const [mints, decimals] of this.#sides) {
        const position = ints[mints / 4 + row] ?? 0;
        if (position === 0) continue;
        const id = this.#rows.keyId(transaction, position - 1);
        const isSame = mint === (typeof mint === 'number' ? id : this.#rows.keyText(id));
        if (isSame) return ints[decimals / 4 + row] ?? 0;
      }
    }
    return 0;
  }
}
