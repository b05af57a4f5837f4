/**
 * The address of every account: a function of its number, the seed and, for accounts of one window, the window. An address is derived at
 * its first use and stored as text, followed by its 32 bytes.
 */

import { createHash } from 'node:crypto';
import { assert } from '@sluice/base/assert';
import { decodeBase58 } from '@sluice/base/base58';
import { isOnCurve } from '@sluice/base/ed25519';
import { elementAt } from '@sluice/base/element-at';
import { Random } from '@sluice/base/random';
import {
  HEADER_BYTES,
  NO_TEXT,
  type PooledText,
  pooledTextAt,
  type TextPool,
  type TextRegion,
} from '../text/text-pool.ts';
import { ID, KNOWN_COUNT, KNOWN_TEXTS } from './known-addresses.ts';
import { WHALE_COUNT, type World } from './world.ts';

const KEY_BYTES = 32;
const TEXT_BYTES = 44;
/** The offset of the 32 bytes from the start of a stored address. */
const BYTES_OFFSET = HEADER_BYTES + TEXT_BYTES;
/** The seed of the addresses of the cast, which are the same on every ledger. */
const CAST_SEED = 0;

export class AddressBook {
  readonly pool: TextPool;
  readonly #world: World;
  readonly #random: Random;
  readonly #cast = Random.fromSeed(CAST_SEED).fork('cast');
  readonly #texts: Int32Array;
  readonly #tables = new Map<number, PooledText>();
  readonly #derivesAll: boolean;
  #window = -1;

  /**
   * The token accounts of the cast have the addresses that the associated token program derives. Deriving is the most expensive part of a
   * transaction, so the addresses of users' token accounts are derived only with `derivesAll`, and random otherwise.
   */
  constructor(
    random: Random,
    dependencies: { readonly pool: TextPool; readonly world: World },
    options: { readonly derivesAll: boolean },
  ) {
    this.#derivesAll = options.derivesAll;
    this.pool = dependencies.pool;
    this.#world = dependencies.world;
    this.#random = random;
    this.#texts = new Int32Array(dependencies.world.accountCount);
  }

  /** From now on, accounts of one window have the addresses of this window. */
  enterWindow(window: number): void {
    if (window === this.#window) return;
    this.#window = window;
    this.#texts.fill(0, this.#world.launchMints);
  }

  address(account: number): PooledText {
    const known = pooledTextAt(this.#texts, account);
    if (known !== NO_TEXT) return known;
    const text = this.#make(account);
    this.#texts[account] = text;
    return text;
  }

  /** Gives a random address to an account that is used by one transaction only. */
  drawScratch(account: number, random: Random): void {
    this.#texts[account] = drawAddress(random, this.pool.passing);
  }

  /** Gives an account that only one transaction uses the address that follows from a base account, a seed and a program. */
  deriveScratch(account: number, base: number, seed: Uint8Array, program: number): void {
    const hash = createHash('sha256');
    hash.update(this.#keyBytes(base)).update(seed).update(this.#keyBytes(program));
    this.#texts[account] = addAddress(hash.digest(), this.pool.passing);
  }

  /** Returns the offset of the 32 bytes of an address. */
  bytesAt(account: number): number {
    return this.address(account) + BYTES_OFFSET;
  }

  /** Returns the address of a lookup table, which has 256 accounts. */
  table(number: number): PooledText {
    let text = this.#tables.get(number);
    if (text === undefined) {
      text = drawAddress(this.#cast.fork('table', number), this.pool.lasting);
      this.#tables.set(number, text);
    }
    return text;
  }

  #derive(account: number): PooledText {
    const world = this.#world;
    const parts = [world.ownerAt(account), world.programAt(account), world.mintAt(account)];
    // The bytes are copied, because the next address may move the memory.
    const seeds = parts.map((part) => Uint8Array.from(this.#keyBytes(part)));
    const address = deriveAddress(seeds, this.#keyBytes(ID.associated));
    return addAddress(address, this.pool.lasting);
  }

  #keyBytes(account: number): Uint8Array {
    const at = this.bytesAt(account);
    return this.pool.bytes.subarray(at, at + KEY_BYTES);
  }

  #make(account: number): PooledText {
    const { lasting } = this.pool;
    if (account < KNOWN_COUNT) return addAddress(decodeKnown(account), lasting);
    const { users, launchMints } = this.#world;
    if (this.#world.isAssociated(account) && (account < users || this.#derivesAll)) {
      return this.#derive(account);
    }
    // The first users are the whales, whose addresses are the same on every ledger.
    if (account < users + WHALE_COUNT) return drawAddress(this.#cast.fork(account), lasting);
    if (account < launchMints) return drawAddress(this.#random.fork(account), lasting);
    return drawAddress(this.#random.fork('window', this.#window, account), lasting);
  }
}

function decodeKnown(account: number): Uint8Array {
  const bytes = decodeBase58(elementAt(KNOWN_TEXTS, account));
  assert(bytes?.length === KEY_BYTES, 'a known address has 32 bytes');
  return bytes;
}

/** Draws as many random numbers as `drawAddress`. */
export function skipAddress(random: Random): void {
  for (let i = 0; i < KEY_BYTES / 4; i++) random.uint32();
}

export function drawAddress(random: Random, region: TextRegion): PooledText {
  const text = region.open(TEXT_BYTES + KEY_BYTES);
  const { words } = region.pool;
  const start = (text + BYTES_OFFSET) >> 2;
  for (let i = 0; i < KEY_BYTES / 4; i++) words[start + i] = random.uint32();
  return encode(text, region.pool);
}

function addAddress(bytes: Uint8Array, region: TextRegion): PooledText {
  const text = region.open(TEXT_BYTES + KEY_BYTES);
  region.pool.bytes.set(bytes, text + BYTES_OFFSET);
  return encode(text, region.pool);
}

function encode(text: PooledText, pool: TextPool): PooledText {
  const start = text + HEADER_BYTES;
  const end = pool.kernel.exports.encodeBase58(text + BYTES_OFFSET, KEY_BYTES, start);
  pool.words[text >> 2] = end - start;
  return text;
}

/** The end of what is hashed to derive an address. */
const derivedMark = 'ProgramDerivedAddress';
const bumpFirst = 255;

/** Returns an address that a program derives: the first hash that is not a point of the curve, so that no key can sign for it. The bump counts down from 255. */
function deriveAddress(seeds: readonly Uint8Array[], program: Uint8Array): Uint8Array {
  for (let bump = bumpFirst; bump >= 0; bump--) {
    const hash = createHash('sha256');
    for (const seed of seeds) hash.update(seed);
    const address = hash.update(Uint8Array.of(bump)).update(program).update(derivedMark).digest();
    if (!isOnCurve(address)) return address;
  }
  assert(false, 'half of all hashes are off the curve');
}
