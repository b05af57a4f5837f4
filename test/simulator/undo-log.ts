/** An undo log: it restores the values that the checks had before the blocks of an orphaned branch. */
import assert from 'node:assert/strict';

/** A rollback reaches at most this many blocks back, far more than any fork. */
const BLOCK_COUNT_MAX = 256;

type Undo = () => void;

export class UndoLog {
  readonly #blocks: { readonly slot: number; readonly undo: Undo[] }[] = [];
  #forgottenSlot = -1;

  /** Starts the next block. */
  begin(slot: number): void {
    this.#blocks.push({ slot, undo: [] });
    if (this.#blocks.length > BLOCK_COUNT_MAX) {
      this.#forgottenSlot = this.#blocks.shift()?.slot ?? -1;
    }
  }

  add(undo: Undo): void {
    this.#blocks.at(-1)?.undo.push(undo);
  }

  /** Undoes all blocks above a slot. */
  rollBackTo(slot: number): void {
    assert(slot >= this.#forgottenSlot, 'a rollback stays within the remembered blocks');
    while ((this.#blocks.at(-1)?.slot ?? -1) > slot) {
      for (const put of this.#blocks.pop()?.undo.reverse() ?? []) put();
    }
  }
}

/** A map that follows the rollbacks of an undo log. */
export class UndoableMap<Value> {
  readonly #values = new Map<string, Value>();
  readonly #log: UndoLog;

  constructor(log: UndoLog) {
    this.#log = log;
  }

  get(key: string): Value | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: Value): void {
    const before = this.#values.get(key);
    this.#log.add(() => {
      if (before === undefined) this.#values.delete(key);
      else this.#values.set(key, before);
    });
    this.#values.set(key, value);
  }

  entries(): IterableIterator<[string, Value]> {
    return this.#values.entries();
  }
}
