import type { Random } from '../../base/random.ts';
import { DigitTape, drawAddress } from './base58-text.ts';
import type { PooledText, TextPool } from './text-pool.ts';

/** Powers of two. At most half the places are taken, so that a free one is near. */
const PLACE_BITS_FIRST = 16;

/** Digits that one address takes from the tape. */
const ADDRESS_DIGITS = 43;

const NOBODY = -1;

/** Kinds of things that have an address of their own and are met again and again. */
const GROUPS = {
  program: 0,
  market: 1,
  config: 2,
  mint: 3,
  owner: 4,
  payer: 5,
  bot: 6,
  validator: 7,
  voteAccount: 8,
  staker: 9,
  table: 10,
  blockhash: 11,
  account: 12,
} as const;
export type AddressGroup = keyof typeof GROUPS;

/** Ids of a group stay below this, so that group and id fit one safe integer. */
const ADDRESS_ID_END = 2 ** 48;

/** The address of anything that recurs: a pure function of the seed, its group and its number. Made when first met and kept. */
export class AddressBook {
  readonly pool: TextPool;
  readonly #random: Random;
  readonly #tape: DigitTape;
  #bits = PLACE_BITS_FIRST;
  #keys = new Float64Array(1 << PLACE_BITS_FIRST).fill(NOBODY);
  #texts = new Int32Array(1 << PLACE_BITS_FIRST);
  #count = 0;

  constructor(random: Random, pool: TextPool) {
    this.pool = pool;
    this.#random = random;
    this.#tape = new DigitTape(random, ADDRESS_DIGITS);
  }

  address(group: AddressGroup, id: number): PooledText {
    const key = GROUPS[group] * ADDRESS_ID_END + id;
    const place = this.#find(key);
    if (this.#keys[place] === key) return this.#texts[place] as PooledText;
    this.#tape.restart(this.#random.fork(group, id), ADDRESS_DIGITS);
    const text = drawAddress(this.#tape, this.pool.lasting);
    this.#keys[place] = key;
    this.#texts[place] = text;
    this.#count++;
    if (this.#count * 2 > this.#keys.length) this.#grow();
    return text;
  }

  /** Where the key stands, or the free place where it belongs. */
  #find(key: number): number {
    const keys = this.#keys;
    const mask = keys.length - 1;
    const high = Math.imul((key / 2 ** 32) | 0, 0x85ebca77);
    let place = Math.imul((key | 0) ^ high, 0x9e3779b1) >>> (32 - this.#bits);
    while (keys[place] !== key && keys[place] !== NOBODY) place = (place + 1) & mask;
    return place;
  }

  #grow(): void {
    const oldKeys = this.#keys;
    const oldTexts = this.#texts;
    this.#bits++;
    this.#keys = new Float64Array(1 << this.#bits).fill(NOBODY);
    this.#texts = new Int32Array(1 << this.#bits);
    for (let old = 0; old < oldKeys.length; old++) {
      const key = oldKeys[old] as number;
      if (key === NOBODY) continue;
      const place = this.#find(key);
      this.#keys[place] = key;
      this.#texts[place] = oldTexts[old] as number;
    }
  }
}
