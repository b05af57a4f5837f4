import type { Random } from '../../base/random.ts';
import type { Address } from '../../ledger/primitives.ts';
import { DigitTape, drawAddress } from './base58-text.ts';

/** A power of two; well above the number of addresses that a run of busy blocks meets again. */
const CACHE_BITS = 17;
const CACHE_COUNT = 1 << CACHE_BITS;

/** Digits that one address takes from the tape. */
const ADDRESS_DIGITS = 43;

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
export const ADDRESS_ID_END = 2 ** 48;

/**
 * The address of anything that recurs: a pure function of the seed, its group and its number. The cache only saves time;
 * each place holds the last address asked for there.
 */
export class AddressBook {
  readonly #random: Random;
  readonly #keys = new Float64Array(CACHE_COUNT).fill(-1);
  readonly #texts: Address[] = new Array<Address>(CACHE_COUNT).fill('' as Address);

  constructor(random: Random) {
    this.#random = random;
  }

  address(group: AddressGroup, id: number): Address {
    const groupIndex = GROUPS[group];
    const key = groupIndex * ADDRESS_ID_END + id;
    const place =
      (Math.imul(id | 0, 0x9e3779b1) ^ Math.imul(groupIndex, 0x85ebca77)) >>> (32 - CACHE_BITS);
    if (this.#keys[place] === key) return this.#texts[place] as Address;
    const text = drawAddress(new DigitTape(this.#random.fork(group, id), ADDRESS_DIGITS));
    this.#keys[place] = key;
    this.#texts[place] = text;
    return text;
  }
}
