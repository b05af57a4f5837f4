/**
 * Numbers that depend on nothing but where they are drawn: (seed, stream, key). The chain's shape asks for the draws of
 * any slot at any time, so nothing here remembers the slots before it.
 */
export class Draws {
  #state: number;
  readonly #step: number;

  constructor(seed: number, stream: string, key: number) {
    let state = mix(low(seed) ^ 0x9e3779b9, high(seed));
    for (let index = 0; index < stream.length; index++)
      state = mix(state, stream.charCodeAt(index));
    state = mix(mix(state, low(key)), high(key));
    this.#state = state;
    this.#step = mix(state, 0x51ed270b) | 1;
  }

  /** An integer of 32 random bits. */
  bits(): number {
    this.#state = (this.#state + this.#step) | 0;
    return scramble(this.#state) >>> 0;
  }

  /** In [0, 1). */
  fraction(): number {
    return this.bits() / 0x1_0000_0000;
  }

  /** An integer in [0, end). */
  below(end: number): number {
    return Math.floor(this.fraction() * end);
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** 1, 2, 3 … : the try that succeeds first, or the last one allowed. By trials, since logarithms differ by engine. */
  firstSuccess(probability: number, max: number): number {
    let tries = 1;
    while (tries < max && !this.chance(probability)) tries += 1;
    return tries;
  }
}

function low(value: number): number {
  return value >>> 0;
}

function high(value: number): number {
  return Math.floor(value / 0x1_0000_0000) >>> 0;
}

function mix(state: number, value: number): number {
  return scramble(Math.imul(state ^ value, 0x2c1b3c6d) + 0x6d2b79f5);
}

function scramble(value: number): number {
  let bits = value | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  bits = Math.imul(bits ^ (bits >>> 15), 0x846ca68b);
  return (bits ^ (bits >>> 16)) | 0;
}
