import type { GroupRows } from './row-buffer.ts';

/** The repeated texts of a row group, each stored once as output JSON. Code 0 is always `null`. */
export class TextTable {
  readonly #codes = new Map<string, number>();
  readonly #rows: GroupRows;

  constructor(rows: GroupRows) {
    this.#rows = rows;
    this.codeOf('null');
  }

  codeOf(json: string): number {
    const known = this.#codes.get(json);
    if (known !== undefined) return known;
    const code = this.#codes.size;
    this.#codes.set(json, code);
    this.#rows.textLength.push(this.#rows.textBytes.appendText(json));
    return code;
  }
}
