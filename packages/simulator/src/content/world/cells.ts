/**
 * The mutable state of the simulated world: numbered cells, each with a whole number below 2^53, and a journal of the values that writes
 * replaced. Rewinding the journal undoes a failed transaction, an orphaned block or a whole window.
 *
 *   journal   | block 1000 | block 1001 | block 1002: tx 0 | tx 1 | …
 *             ^ mark                                 ^ mark        a rewind to a mark undoes everything after it
 */
import { assert } from '@sluice/base/assert';

const ENTRY_COUNT_FIRST = 1 << 14;
/** A window writes far fewer entries. Reaching this limit means that a window never ends. */
const ENTRY_COUNT_MAX = 1 << 25;

export class Cells {
  readonly values: Float64Array;
  #changed = new Int32Array(ENTRY_COUNT_FIRST);
  #replaced = new Float64Array(ENTRY_COUNT_FIRST);
  #count = 0;

  constructor(count: number) {
    this.values = new Float64Array(count);
  }

  /** The current end of the journal. */
  get mark(): number {
    return this.#count;
  }

  set(cell: number, value: number): void {
    if (this.#count === this.#changed.length) this.#grow();
    this.#changed[this.#count] = cell;
    this.#replaced[this.#count] = this.values[cell] as number;
    this.#count++;
    this.values[cell] = value;
  }

  add(cell: number, change: number): void {
    this.set(cell, (this.values[cell] as number) + change);
  }

  /** Undoes all writes since the mark, newest first. */
  rewind(mark: number): void {
    assert(mark <= this.#count, 'a mark lies within the journal');
    for (let i = this.#count - 1; i >= mark; i--) {
      this.values[this.#changed[i] as number] = this.#replaced[i] as number;
    }
    this.#count = mark;
  }

  #grow(): void {
    const count = this.#changed.length * 2;
    assert(count <= ENTRY_COUNT_MAX, 'a window of the world ends before its journal is full');
    const changed = new Int32Array(count);
    changed.set(this.#changed);
    this.#changed = changed;
    const replaced = new Float64Array(count);
    replaced.set(this.#replaced);
    this.#replaced = replaced;
  }
}
