/**
 * A seeded random number generator that gives the same numbers on every machine. It uses 32-bit integer arithmetic
 * (sfc32) and IEEE operations that every JavaScript engine rounds identically. It avoids `Math.pow`, `Math.log` and
 * `Math.exp`, whose last digit differs between engines.
 *
 * A generator can be forked by labels. A fork depends only on the seed and the labels, not on how many numbers were
 * drawn before, so that one part of a simulation can change without affecting the others.
 */
import { assert } from './assert.ts';

const UNIT = 1 / 4_294_967_296;
const WARM_UP_COUNT = 12;

export type RandomLabel = string | number;

export class Random {
  /** The key of the generator, from which the keys of its forks are derived. */
  readonly #key0: number;
  readonly #key1: number;
  readonly #key2: number;
  /**
   * Three state words and a counter. They are in a typed array because private fields that hold 32-bit numbers are
   * three times as slow.
   */
  readonly #state: Int32Array;

  private constructor(key0: number, key1: number, key2: number) {
    this.#key0 = key0;
    this.#key1 = key1;
    this.#key2 = key2;
    this.#state = new Int32Array(4);
    this.#state[0] = key0;
    this.#state[1] = key1;
    this.#state[2] = key2;
    this.#state[3] = 1;
    for (let i = 0; i < WARM_UP_COUNT; i++) this.uint32();
  }

  static fromSeed(seed: number): Random {
    assert(Number.isSafeInteger(seed) && seed >= 0, 'a seed is a non-negative safe integer');
    return new Random(0x243f6a88, 0x85a308d3 | 0, 0x13198a2e).fork(seed);
  }

  /** Returns an independent generator that depends on this generator's key and the labels. */
  fork(...labels: readonly RandomLabel[]): Random {
    const keys: ForkKeys = { key0: this.#key0, key1: this.#key1, key2: this.#key2 };
    for (const label of labels) absorbLabel(keys, label);
    return new Random(keys.key0, keys.key1, keys.key2);
  }

  /** Returns an integer from 0 to 2^32 - 1. */
  uint32(): number {
    const state = this.#state;
    const second = state[1] as number;
    const third = state[2] as number;
    const counter = state[3] as number;
    const sum = ((((state[0] as number) + second) | 0) + counter) | 0;
    state[0] = second ^ (second >>> 9);
    state[1] = (third + (third << 3)) | 0;
    state[2] = (((third << 21) | (third >>> 11)) + sum) | 0;
    state[3] = (counter + 1) | 0;
    return sum >>> 0;
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive) with 32 random bits. */
  unit(): number {
    return this.uint32() * UNIT;
  }

  /** Returns an integer from 0 (inclusive) to `end` (exclusive). `end` is at most 2^32. */
  below(end: number): number {
    return Math.floor(this.uint32() * UNIT * end);
  }

  /** Returns an integer from `first` to `last`, both inclusive. */
  between(first: number, last: number): number {
    return first + this.below(last - first + 1);
  }

  chance(probability: number): boolean {
    return this.uint32() * UNIT < probability;
  }

  pick<Value>(values: readonly Value[]): Value {
    assert(values.length > 0, 'the list of values must not be empty');
    return values[this.below(values.length)] as Value;
  }
}

interface ForkKeys {
  key0: number;
  key1: number;
  key2: number;
}

/**
 * Mixes a label into the keys. A number is mixed as a tag and two words, a text as its length and its UTF-16 units, so
 * that no two labels give the same keys.
 */
function absorbLabel(keys: ForkKeys, label: RandomLabel): void {
  if (typeof label === 'number') {
    assert(Number.isSafeInteger(label), 'a label is a text or a safe integer');
    absorb(keys, 0x6e756d);
    absorb(keys, label | 0);
    absorb(keys, Math.floor(label * UNIT) | 0);
    return;
  }
  absorb(keys, 0x746578 + label.length);
  for (let i = 0; i < label.length; i++) absorb(keys, label.charCodeAt(i));
}

function absorb(keys: ForkKeys, word: number): void {
  keys.key0 = mix(keys.key0 ^ word, 0x9e3779b1);
  keys.key1 = mix(keys.key1 + word + keys.key0, 0x85ebca77);
  keys.key2 = mix(keys.key2 ^ keys.key1 ^ word, 0xc2b2ae3d);
}

function mix(value: number, factor: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), factor);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0x27d4eb2f);
  return mixed ^ (mixed >>> 15);
}
