/**
 * Seeded randomness that gives the same numbers on every machine: 32-bit integer arithmetic (the sfc32 generator) and
 * IEEE operations that every engine rounds alike; never `Math.pow`, `Math.log` or `Math.exp`, whose last digit is the
 * engine's own choice.
 *
 * A generator can be forked by labels. A fork depends on the seed and the labels only, not on how many numbers were
 * drawn before, so that one part of a simulation can change without moving the others.
 */
import { assert } from './assert.ts';

const UNIT = 1 / 4_294_967_296;
const WARM_UP_COUNT = 12;

export type RandomLabel = string | number;

export class Random {
  /** What the generator was made from; forks grow from it. */
  readonly #key0: number;
  readonly #key1: number;
  readonly #key2: number;
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  private constructor(key0: number, key1: number, key2: number) {
    this.#key0 = key0;
    this.#key1 = key1;
    this.#key2 = key2;
    this.#a = key0;
    this.#b = key1;
    this.#c = key2;
    for (let i = 0; i < WARM_UP_COUNT; i++) this.uint32();
  }

  static fromSeed(seed: number): Random {
    assert(Number.isSafeInteger(seed) && seed >= 0, 'a seed is a non-negative safe integer');
    return new Random(0x243f6a88, 0x85a308d3 | 0, 0x13198a2e).fork(seed);
  }

  /** An independent generator, determined by this one's origin and the labels. */
  fork(...labels: readonly RandomLabel[]): Random {
    let key0 = this.#key0;
    let key1 = this.#key1;
    let key2 = this.#key2;
    const absorb = (word: number): void => {
      key0 = mix(key0 ^ word, 0x9e3779b1);
      key1 = mix(key1 + word + key0, 0x85ebca77);
      key2 = mix(key2 ^ key1 ^ word, 0xc2b2ae3d);
    };
    for (const label of labels) absorbLabel(label, absorb);
    return new Random(key0, key1, key2);
  }

  /** A whole number from 0 to 2^32 - 1. */
  uint32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum;
    this.#c |= 0;
    return sum >>> 0;
  }

  /** From 0 up to, not including, 1; 32 bits of it are random. */
  unit(): number {
    return this.uint32() * UNIT;
  }

  /** A whole number from 0 up to, not including, `end`, which is at most 2^32. */
  below(end: number): number {
    return Math.floor(this.uint32() * UNIT * end);
  }

  /** A whole number, both ends included. */
  between(first: number, last: number): number {
    return first + this.below(last - first + 1);
  }

  chance(probability: number): boolean {
    return this.uint32() * UNIT < probability;
  }

  pick<Value>(values: readonly Value[]): Value {
    assert(values.length > 0, 'there is something to pick from');
    return values[this.below(values.length)] as Value;
  }
}

/** A number enters as two words behind a mark, a text as its length and its UTF-16 units: no two labels look alike. */
function absorbLabel(label: RandomLabel, absorb: (word: number) => void): void {
  if (typeof label === 'number') {
    assert(Number.isSafeInteger(label), 'a label is a text or a safe integer');
    absorb(0x6e756d);
    absorb(label | 0);
    absorb(Math.floor(label * UNIT) | 0);
    return;
  }
  absorb(0x746578 + label.length);
  for (let i = 0; i < label.length; i++) absorb(label.charCodeAt(i));
}

function mix(value: number, factor: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), factor);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0x27d4eb2f);
  return mixed ^ (mixed >>> 15);
}
