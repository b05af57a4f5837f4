import { assert } from '../base/assert.ts';
import type { GroupRows } from './row-buffer.ts';

/** Positions, with one more to mean null, are kept in 16 bits. */
const positionMax = 65_534;

/** The key list of the transaction at hand: listed keys first, then whatever else it mentions, each once. */
export class TransactionKeys {
  readonly #ids: number[] = [];
  /** By id: the position in the current list, valid where the stamp is the current one. */
  #positions = new Uint32Array(1024);
  #stamps = new Uint32Array(1024);
  #stamp = 0;
  #listedCount = 0;

  begin(): void {
    this.#ids.length = 0;
    this.#stamp++;
  }

  /** Appends a listed key, also when the list repeats itself; the first position of an id is the one that counts. */
  add(id: number): number {
    this.#reserve(id);
    const position = this.#ids.push(id) - 1;
    assert(position < positionMax, 'a transaction has fewer keys than 16 bits count');
    if (this.#stamps[id] !== this.#stamp) {
      this.#stamps[id] = this.#stamp;
      this.#positions[id] = position;
    }
    return this.#positions[id] as number;
  }

  endOfListed(): void {
    this.#listedCount = this.#ids.length;
  }

  positionOf(id: number): number {
    this.#reserve(id);
    if (this.#stamps[id] === this.#stamp) return this.#positions[id] as number;
    return this.add(id);
  }

  /** Writes the list out once everything of the transaction has been seen. */
  flush(rows: GroupRows): void {
    rows.txOtherCount.push(this.#ids.length - this.#listedCount);
    for (const id of this.#ids) rows.txKeys.push(id);
  }

  #reserve(id: number): void {
    if (id < this.#stamps.length) return;
    const length = Math.max(id + 1, this.#stamps.length * 2);
    const positions = new Uint32Array(length);
    positions.set(this.#positions);
    this.#positions = positions;
    const stamps = new Uint32Array(length);
    stamps.set(this.#stamps);
    this.#stamps = stamps;
  }
}
