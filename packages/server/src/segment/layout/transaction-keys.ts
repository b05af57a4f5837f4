import { assert } from '@sluice/base/assert';
import type { GroupRows } from './row-buffer.ts';

/** A position plus one (0 means null) is stored in 16 bits. */
const positionMax = 65_534;

/** The key list of the current transaction: listed keys first, then all other mentioned keys, each once. */
export class TransactionKeys {
  readonly #ids: number[] = [];
  /** For each id its position in the current list. Valid only if its stamp is the current one. */
  #positions = new Uint32Array(1024);
  #stamps = new Uint32Array(1024);
  #stamp = 0;
  #listedCount = 0;

  begin(): void {
    this.#ids.length = 0;
    this.#stamp++;
  }

  /** Appends a listed key, even if it is repeated. The first position of an id is the valid one. */
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

  /** Writes the list after everything of the transaction was added. */
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
