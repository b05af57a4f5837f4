/**
 * The accounts of a transaction and their order.
 *
 *   static: signers (fee payer first) · writable · read-only        loaded: writable · read-only
 *
 * Some accounts are met for the first time (`fresh`), some belong to a market of an application and come together again
 * and again, some are popular with everybody. Which ones are popular drifts with the slot, so that a range of blocks
 * shares accounts and a far one shares fewer.
 */
import type { Random } from '../../base/random.ts';
import type { AddressBook } from './address-book.ts';
import { type DigitTape, drawAddress } from './base58-text.ts';
import type { CallDraft } from './call-draft.ts';
import type { Shape } from './call-tree.ts';
import { Bands, buildZipfTable, Quantiles } from './distributions.ts';
import { SYSVAR_RENT, WRAPPED_COIN } from './ledger-programs.ts';
import type { Program } from './program.ts';
import type { SimulatedLookup } from './simulated-block.ts';
import type { Skeleton } from './skeleton.ts';
import type { PooledText } from './text-pool.ts';

/** An account as it is met; those that are met again are made once. */
export interface Key {
  readonly address: PooledText;
  /** Lamports it holds unless the transaction changes them; the same as a text. */
  readonly lamports: number;
  readonly resting: PooledText;
  readonly role: 'payer' | 'signer' | 'fresh' | 'market' | 'other' | 'program';
  /** The market's number for a vault, else -1. */
  readonly market: number;
  readonly program: Program | undefined;
}

export interface KeyList {
  readonly keys: readonly Key[];
  readonly staticCount: number;
  readonly loadedWritableCount: number;
  readonly signerCount: number;
  readonly readonlySignedCount: number;
  readonly readonlyUnsignedCount: number;
  readonly lookups: readonly SimulatedLookup[];
}

/** How many keys are writable and no signers. */
export function countWritable(list: KeyList): number {
  return (
    list.staticCount - list.readonlyUnsignedCount - list.signerCount + list.loadedWritableCount
  );
}

/** The place in the key list of the n-th writable key that is no signer. */
export function writableIndex(list: KeyList, n: number): number {
  const staticWritable = list.staticCount - list.readonlyUnsignedCount - list.signerCount;
  return n < staticWritable ? list.signerCount + n : list.staticCount + n - staticWritable;
}

const MARKETS_PER_PROGRAM = 256;
const MARKET_ACCOUNTS_MAX = 8;
/** Markets beyond the most popular give way to others after this many slots. */
const MARKET_LIFE_SLOTS = 40_000;
const MARKETS_KEPT_MAX = 20_000;
const HOT_COUNT = 4096;
const HOT_LIFE_SLOTS = 6000;
/** The first of them never change. */
const LASTING_RANK_END = 40;

const MARKET_TABLE = buildZipfTable(MARKETS_PER_PROGRAM, 0.94);
const HOT_TABLE = buildZipfTable(HOT_COUNT, 0.94);
const SIGNER_COUNT = new Bands([
  [1, 1, 91],
  [2, 2, 6],
  [3, 6, 3],
]);
const FRESH_COUNT: Readonly<Record<Shape, Bands>> = {
  infrastructure: new Bands([[1, 3, 1]]),
  one: new Bands([[4, 7, 1]]),
  few: new Bands([[4, 9, 1]]),
  many: new Bands([[6, 12, 1]]),
};
const STATIC_COUNT: Readonly<Record<Shape, Quantiles>> = {
  infrastructure: new Quantiles([
    [0, 3],
    [0.7, 5],
    [1, 12],
  ]),
  one: new Quantiles([
    [0, 10],
    [0.5, 16],
    [0.9, 22],
    [1, 26],
  ]),
  few: new Quantiles([
    [0, 12],
    [0.5, 20],
    [0.9, 27],
    [1, 30],
  ]),
  many: new Quantiles([
    [0, 16],
    [0.5, 22],
    [1, 30],
  ]),
};
const LOADED_COUNT = new Quantiles([
  [0, 6],
  [0.5, 12],
  [0.9, 20],
  [1, 27],
]);
const TABLE_COUNT = new Bands([
  [1, 1, 52],
  [2, 2, 37],
  [3, 3, 7],
  [4, 4, 4],
]);
const TABLE_IDS = buildZipfTable(600, 1);
const TOKEN_ACCOUNT_LAMPORTS = 2_039_280;
const MINT_LAMPORTS = 1_461_600;
const PROGRAM_LAMPORTS = 1_141_440;
const RESTING = [
  TOKEN_ACCOUNT_LAMPORTS,
  TOKEN_ACCOUNT_LAMPORTS,
  TOKEN_ACCOUNT_LAMPORTS,
  PROGRAM_LAMPORTS,
  6_124_800,
  3_591_360,
  MINT_LAMPORTS,
  23_357_760,
];

export interface KeyListPlan {
  readonly slot: number;
  readonly skeleton: Skeleton;
  readonly payer: Key;
  readonly hasLookups: boolean;
}

export class KeyListBuilder {
  readonly #book: AddressBook;
  readonly #markets = new Map<number, readonly Key[]>();
  readonly #programs = new Map<Program, Key>();
  /** Amounts that come again and again. */
  readonly #amounts = new Map<number, PooledText>();
  /** Accounts that every application names. */
  readonly #known: readonly Key[];

  constructor(book: AddressBook) {
    this.#book = book;
    const { lasting } = book.pool;
    this.#known = [
      this.#otherKey(lasting.add(WRAPPED_COIN), 482_610_441_034),
      this.#otherKey(lasting.add(SYSVAR_RENT), 1_009_200),
    ];
  }

  /** Who pays the fee; what it holds is drawn with the balances. */
  payerKey(address: PooledText): Key {
    return this.#key(address, 0, 'payer');
  }

  build(plan: KeyListPlan, tape: DigitTape): KeyList {
    const { random } = tape;
    const { shape, programs } = plan.skeleton;
    const signers = [plan.payer];
    const signerCount = SIGNER_COUNT.draw(random);
    for (let i = 1; i < signerCount; i++) signers.push(this.#freshKey('signer', tape));
    const fresh: Key[] = [];
    const freshCount = FRESH_COUNT[shape].draw(random);
    for (let i = 0; i < freshCount; i++) fresh.push(this.#freshKey('fresh', tape));
    const shared: Key[] = [];
    for (const program of programs) {
      if (program.rank >= 0) this.#addMarket(shared, program, plan.slot, random);
    }
    const known = shape === 'infrastructure' ? [] : this.#known;
    const loadedCount = plan.hasLookups ? LOADED_COUNT.draw(random) : 0;
    const staticCount = STATIC_COUNT[shape].draw(random);
    const room = staticCount - signerCount - freshCount - known.length - programs.length;
    const missing = Math.max(room, loadedCount) - shared.length;
    this.#addHot(shared, missing, plan.slot, random);
    const draft = { signers, fresh, shared, known, loadedCount, staticCount };
    const list = this.#arrange(draft, plan.skeleton, random);
    if (loadedCount > 0) this.#drawLookups(list, random);
    return list;
  }

  /** The accounts of one market of an application, and its configuration. */
  #addMarket(shared: Key[], program: Program, slot: number, random: Random): void {
    const rank = MARKET_TABLE.draw(random);
    const life = generation(rank, slot, MARKET_LIFE_SLOTS);
    const market = (life * MARKETS_PER_PROGRAM + rank) * 4096 + program.rank;
    let keys = this.#markets.get(market);
    if (keys === undefined) {
      keys = this.#buildMarket(market, rank, program);
      if (this.#markets.size >= MARKETS_KEPT_MAX) this.#markets.clear();
      this.#markets.set(market, keys);
    }
    for (const key of keys) shared.push(key);
  }

  #buildMarket(market: number, rank: number, program: Program): Key[] {
    const count = 3 + (program.rank % (MARKET_ACCOUNTS_MAX - 3));
    const keys: Key[] = [];
    for (let i = 0; i < count; i++) {
      const address = this.#book.address('market', market * MARKET_ACCOUNTS_MAX + i);
      const lamports = RESTING[(rank + i) % RESTING.length] as number;
      keys.push({ ...this.#key(address, lamports, 'market'), market: i < 2 ? market : -1 });
    }
    keys.push(this.#otherKey(this.#book.address('config', program.rank), MINT_LAMPORTS));
    return keys;
  }

  /** Up to so many accounts that are popular with everybody; one that is drawn twice counts once. */
  #addHot(shared: Key[], count: number, slot: number, random: Random): void {
    // Numbers are compared faster than addresses.
    const ids: number[] = [];
    for (let i = 0; i < count; i++) {
      const rank = HOT_TABLE.draw(random);
      const id = generation(rank, slot, HOT_LIFE_SLOTS) * HOT_COUNT + rank;
      if (ids.includes(id)) continue;
      ids.push(id);
      const lamports = RESTING[rank % RESTING.length] as number;
      shared.push(this.#otherKey(this.#book.address('account', id), lamports));
    }
  }

  #drawLookups(list: DraftList, random: Random): void {
    const tableCount = TABLE_COUNT.draw(random);
    const readonlyCount = list.keys.length - list.staticCount - list.loadedWritableCount;
    const writable = deal(list.loadedWritableCount, tableCount, random);
    const readonly = deal(readonlyCount, tableCount, random);
    for (let i = 0; i < tableCount; i++) {
      list.lookups.push({
        accountKey: this.#book.address('table', TABLE_IDS.draw(random) * 4 + i),
        writableIndexes: writable[i] as number[],
        readonlyIndexes: readonly[i] as number[],
      });
    }
  }

  /** Puts the keys in order. What comes from tables are shared accounts and programs that no top-level instruction names. */
  #arrange(draft: KeyDraft, skeleton: Skeleton, random: Random): DraftList {
    const { signers, fresh, shared, known } = draft;
    const loadedCount = Math.min(draft.loadedCount, shared.length);
    const loadedWritableCount = Math.round(loadedCount * 0.57);
    const programKeys: Key[] = [];
    const loadedPrograms: Key[] = [];
    for (const program of skeleton.programs) {
      const isLoaded = loadedCount > 0 && !isTop(program, skeleton.calls);
      (isLoaded ? loadedPrograms : programKeys).push(this.#programKey(program));
    }
    const fixedCount = signers.length + known.length + programKeys.length + fresh.length;
    const restCount = Math.min(
      shared.length - loadedCount,
      Math.max(0, draft.staticCount - fixedCount),
    );
    const writableEnd = loadedCount + Math.ceil(restCount * 0.7);
    const restEnd = loadedCount + restCount;
    const keys = signers;
    const signerCount = keys.length;
    for (const key of fresh) keys.push(key);
    for (let i = loadedCount; i < writableEnd; i++) keys.push(shared[i] as Key);
    const writableCount = keys.length;
    for (let i = writableEnd; i < restEnd; i++) keys.push(shared[i] as Key);
    for (const key of known) keys.push(key);
    for (const key of programKeys) keys.push(key);
    const staticCount = keys.length;
    for (let i = 0; i < loadedCount; i++) keys.push(shared[i] as Key);
    for (const key of loadedPrograms) keys.push(key);
    return {
      keys,
      staticCount,
      loadedWritableCount,
      signerCount,
      readonlySignedCount: signerCount > 1 && random.chance(0.3) ? 1 : 0,
      readonlyUnsignedCount: staticCount - writableCount,
      lookups: [],
    };
  }

  #programKey(program: Program): Key {
    let key = this.#programs.get(program);
    if (key === undefined) {
      const lamports = program.isNative ? 1 : PROGRAM_LAMPORTS;
      const address = this.#book.pool.lasting.add(program.id);
      key = { ...this.#key(address, lamports, 'program'), program };
      this.#programs.set(program, key);
    }
    return key;
  }

  #freshKey(role: 'signer' | 'fresh', tape: DigitTape): Key {
    const isEmpty = role === 'signer' || !tape.random.chance(0.75);
    const address = drawAddress(tape, this.#book.pool.passing);
    return this.#key(address, isEmpty ? 0 : TOKEN_ACCOUNT_LAMPORTS, role);
  }

  #otherKey(address: PooledText, lamports: number): Key {
    return this.#key(address, lamports, 'other');
  }

  #key(address: PooledText, lamports: number, role: Key['role']): Key {
    let resting = this.#amounts.get(lamports);
    if (resting === undefined) {
      resting = this.#book.pool.lasting.addNumber(lamports);
      this.#amounts.set(lamports, resting);
    }
    return { address, lamports, resting, role, market: -1, program: undefined };
  }
}

/** A list whose lookups are still to be drawn. */
interface DraftList extends KeyList {
  readonly lookups: SimulatedLookup[];
}

interface KeyDraft {
  readonly signers: Key[];
  readonly fresh: readonly Key[];
  readonly shared: readonly Key[];
  readonly known: readonly Key[];
  readonly loadedCount: number;
  readonly staticCount: number;
}

/** Deals loaded keys out to tables, in order and evenly: there are at least as many keys as tables. */
function deal(count: number, tableCount: number, random: Random): number[][] {
  const dealt: number[][] = [];
  for (let table = 0; table < tableCount; table++) {
    const end = Math.floor(((table + 1) * count) / tableCount);
    const indexes: number[] = [];
    for (let i = Math.floor((table * count) / tableCount); i < end; i++)
      indexes.push(random.below(256));
    dealt.push(indexes);
  }
  return dealt;
}

/** Popular places are taken by others as time goes by, each at a moment of its own; the first ones never. */
function generation(rank: number, slot: number, lifeSlots: number): number {
  if (rank < LASTING_RANK_END) return 0;
  const phase = Math.imul(rank, 0x9e3779b1) >>> 0;
  return Math.floor((slot + (phase % lifeSlots)) / lifeSlots);
}

function isTop(program: Program, tops: readonly CallDraft[]): boolean {
  for (const top of tops) if (top.program === program) return true;
  return false;
}
