import type { Random } from '../../base/random.ts';
import type { Address } from '../../ledger/primitives.ts';
import { drawAddress } from './base58-text.ts';

const CACHE_COUNT = 1 << 16;

/** Kinds of things that have an address of their own and are met again and again. */
const GROUPS = [
  'program',
  'market',
  'config',
  'mint',
  'owner',
  'payer',
  'bot',
  'validator',
  'vote-account',
  'staker',
  'table',
  'blockhash',
  'account',
] as const;
export type AddressGroup = (typeof GROUPS)[number];

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
    const groupIndex = GROUPS.indexOf(group);
    const key = groupIndex * ADDRESS_ID_END + id;
    const place = (Math.imul(id | 0, 0x9e3779b1) ^ Math.imul(groupIndex, 0x85ebca77)) >>> 16;
    if (this.#keys[place] === key) return this.#texts[place] as Address;
    const text = drawAddress(this.#random.fork(group, id));
    this.#keys[place] = key;
    this.#texts[place] = text;
    return text;
  }
}
