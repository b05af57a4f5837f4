/**
 * Keeps the values used last while they weigh no more than the limit. One that is heavier than all of it is not kept. Tells of
 * what it lets go.
 */
export class ByteCache<Key, Value> {
  readonly #bytesMax: number;
  readonly #weigh: (value: Value) => number;
  readonly #onGone: (value: Value) => void;
  readonly #values = new Map<Key, Value>();
  #bytes = 0;

  constructor(
    bytesMax: number,
    weigh: (value: Value) => number,
    onGone: (value: Value) => void = () => undefined,
  ) {
    this.#bytesMax = bytesMax;
    this.#weigh = weigh;
    this.#onGone = onGone;
  }

  get(key: Key): Value | undefined {
    const value = this.#values.get(key);
    if (value === undefined) return undefined;
    this.#values.delete(key);
    this.#values.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.delete(key);
    const bytes = this.#weigh(value);
    if (bytes > this.#bytesMax) {
      this.#onGone(value);
      return;
    }
    this.#values.set(key, value);
    this.#bytes += bytes;
    for (const oldest of this.#values.keys()) {
      if (this.#bytes <= this.#bytesMax) break;
      this.delete(oldest);
    }
  }

  delete(key: Key): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#bytes -= this.#weigh(value);
    this.#onGone(value);
  }
}
