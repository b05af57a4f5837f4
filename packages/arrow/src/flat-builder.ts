/**
 * Builds a FlatBuffer, the format of Arrow's message headers: tables with optional fields, vectors and texts that refer to each other by
 * offset. It is built from the end to the start, because an offset refers to something that comes later in the buffer. Positions are
 * therefore distances from the end. https://flatbuffers.dev/internals
 */

/** A field of a table: its number in the schema, its size, and the function that writes it. */
export interface FlatField {
  readonly id: number;
  readonly byteCount: 1 | 2 | 4 | 8;
  readonly write: (builder: FlatBuilder) => void;
}

/** The memory of the last finished builder, which the next one uses. */
let spare: Uint8Array<ArrayBuffer> | undefined;
const firstBytes = 4_096;

export class FlatBuilder {
  #bytes: Uint8Array<ArrayBuffer>;
  #view: DataView;
  #used = 0;

  constructor() {
    this.#bytes = spare ?? new Uint8Array(firstBytes);
    this.#view = new DataView(this.#bytes.buffer);
    spare = undefined;
  }

  /** Returns the finished buffer, whose length is a multiple of 8. */
  finish(root: number): Uint8Array {
    this.#prepare(4, 8);
    this.reference(root);
    const finished = this.#bytes.slice(this.#bytes.length - this.#used);
    spare = this.#bytes;
    this.#bytes = new Uint8Array(0);
    return finished;
  }

  byte(value: number): void {
    this.#view.setUint8(this.#take(1), value);
  }

  short(value: number): void {
    this.#view.setInt16(this.#take(2), value, true);
  }

  int(value: number): void {
    this.#view.setInt32(this.#take(4), value, true);
  }

  /** A length or offset, which is not negative and fits a number. */
  long(value: number): void {
    const at = this.#take(8);
    this.#view.setUint32(at, value >>> 0, true);
    this.#view.setUint32(at + 4, Math.floor(value / 2 ** 32), true);
  }

  /** Writes the offset of something that was built before. */
  reference(position: number): void {
    const at = this.#take(4);
    this.#view.setUint32(at, this.#used - position, true);
  }

  text(text: string): number {
    const bytes = Buffer.from(text);
    // A zero byte follows the text.
    this.#prepare(bytes.length + 1, 4);
    this.byte(0);
    this.#bytes.set(bytes, this.#take(bytes.length));
    this.int(bytes.length);
    return this.#used;
  }

  references(positions: readonly number[]): number {
    this.#prepare(positions.length * 4, 4);
    for (const position of positions.toReversed()) this.reference(position);
    this.int(positions.length);
    return this.#used;
  }

  /** A vector of structs that consist of 64-bit integers. */
  structs(rows: readonly (readonly number[])[]): number {
    const byteCount = rows.reduce((sum, row) => sum + row.length * 8, 0);
    this.#prepare(byteCount, 8);
    for (const row of rows.toReversed()) for (const value of row.toReversed()) this.long(value);
    this.int(rows.length);
    return this.#used;
  }

  table(fields: readonly FlatField[]): number {
    const end = this.#used;
    const positions: number[] = [];
    for (const { id, byteCount, write } of fields.toSorted((a, b) => a.byteCount - b.byteCount)) {
      this.#prepare(byteCount, byteCount);
      write(this);
      positions[id] = this.#used;
    }
    this.#prepare(4, 4);
    const at = this.#take(4);
    const table = this.#used;
    // The offset of each field in the table, the last one first; 0 for a field that is absent.
    for (let id = positions.length - 1; id >= 0; id--) {
      const position = positions[id];
      this.short(position === undefined ? 0 : table - position);
    }
    this.short(table - end);
    this.short(4 + positions.length * 2);
    // The buffer may have been moved, so the position is computed again.
    const moved = this.#bytes.length - table;
    this.#view.setInt32(at === moved ? at : moved, this.#used - table, true);
    return table;
  }

  /** Adds padding, so that what comes after these bytes is aligned. */
  #prepare(byteCount: number, alignment: number): void {
    while ((this.#used + byteCount) % alignment !== 0) this.byte(0);
  }

  /** Returns the index of new bytes in front of the used ones. */
  #take(byteCount: number): number {
    while (this.#used + byteCount > this.#bytes.length) this.#grow();
    this.#used += byteCount;
    return this.#bytes.length - this.#used;
  }

  #grow(): void {
    const grown = new Uint8Array(this.#bytes.length * 2);
    grown.set(this.#bytes, this.#bytes.length);
    this.#bytes = grown;
    this.#view = new DataView(grown.buffer);
  }
}
