/** Reads FlatBuffers as `flat-builder.ts` writes them. An absent field reads as 0 or undefined. */
export class FlatTable {
  readonly #view: DataView;
  readonly #at: number;

  constructor(view: DataView, at: number) {
    this.#view = view;
    this.#at = at;
  }

  static root(view: DataView): FlatTable {
    return new FlatTable(view, view.getUint32(0, true));
  }

  byte(id: number): number {
    const at = this.#find(id);
    return at === undefined ? 0 : this.#view.getUint8(at);
  }

  int(id: number): number {
    const at = this.#find(id);
    return at === undefined ? 0 : this.#view.getInt32(at, true);
  }

  long(id: number): number {
    const at = this.#find(id);
    return at === undefined ? 0 : Number(this.#view.getBigInt64(at, true));
  }

  text(id: number): string {
    const at = this.#follow(id);
    if (at === undefined) return '';
    const { buffer, byteOffset } = this.#view;
    return Buffer.from(buffer, byteOffset + at + 4, this.#view.getUint32(at, true)).toString();
  }

  table(id: number): FlatTable | undefined {
    const at = this.#follow(id);
    return at === undefined ? undefined : new FlatTable(this.#view, at);
  }

  tables(id: number): FlatTable[] {
    const at = this.#follow(id);
    if (at === undefined) return [];
    return Array.from({ length: this.#view.getUint32(at, true) }, (_, i) => {
      const element = at + 4 + i * 4;
      return new FlatTable(this.#view, element + this.#view.getUint32(element, true));
    });
  }

  /** A vector of structs of two 64-bit integers. */
  pairs(id: number): (readonly [number, number])[] {
    const at = this.#follow(id);
    if (at === undefined) return [];
    return Array.from({ length: this.#view.getUint32(at, true) }, (_, i) => {
      const element = at + 4 + i * 16;
      const read = (offset: number) => Number(this.#view.getBigInt64(element + offset, true));
      return [read(0), read(8)] as const;
    });
  }

  #find(id: number): number | undefined {
    const directory = this.#at - this.#view.getInt32(this.#at, true);
    if (4 + id * 2 >= this.#view.getUint16(directory, true)) return undefined;
    const offset = this.#view.getUint16(directory + 4 + id * 2, true);
    return offset === 0 ? undefined : this.#at + offset;
  }

  #follow(id: number): number | undefined {
    const at = this.#find(id);
    return at === undefined ? undefined : at + this.#view.getUint32(at, true);
  }
}
