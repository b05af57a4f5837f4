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
import { HEADER_BYTES, type NumberList, type PooledText, type TextRegion } from './text-pool.ts';

/** Lamports, as a number and as a text. */
interface Amount {
  readonly lamports: number;
  readonly text: PooledText;
}

/** An account as it is met; those that are met again are made once. */
export interface Key {
  readonly address: PooledText;
  /** What it holds unless the transaction changes it. */
  readonly resting: Amount;
  readonly role: 'payer' | 'signer' | 'fresh' | 'market' | 'other' | 'program';
  /** The market's number for a vault, else -1. */
  readonly market: number;
  readonly program: Program | undefined;
}

/** Good until the next one is built: keys beyond `keyCount` are those of another transaction. */
export interface KeyList {
  readonly keys: readonly Key[];
  readonly keyCount: number;
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
/** More than a transaction ever lacks: it has at most 30 keys of its own. */
const HOT_IN_TRANSACTION_MAX = 64;
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
  readonly payer: PooledText;
  readonly hasLookups: boolean;
}

/** Keys one after the other, in an array that is filled again for every transaction and never made anew. */
class KeyRow {
  readonly keys: Key[] = [];
  count = 0;

  clear(): void {
    this.count = 0;
  }

  add(key: Key): void {
    this.keys[this.count++] = key;
  }

  addAll(keys: readonly Key[], start: number, end: number): void {
    for (let i = start; i < end; i++) this.keys[this.count++] = keys[i] as Key;
  }
}

/** The account of a rank in the time of its life. */
interface HotKey {
  readonly id: number;
  readonly key: Key;
}

export class KeyListBuilder {
  readonly #book: AddressBook;
  readonly #markets = new Map<number, readonly Key[]>();
  readonly #programs = new Map<Program, Key>();
  readonly #hot: (HotKey | undefined)[] = new Array(HOT_COUNT).fill(undefined);
  readonly #resting: readonly Amount[];
  readonly #nothing: Amount;
  readonly #tokenAccount: Amount;
  readonly #mint: Amount;
  /** Accounts that every application names. */
  readonly #known: readonly Key[];
  readonly #row = new KeyRow();
  readonly #shared = new KeyRow();
  /** Which accounts of `#shared` are popular ones. */
  readonly #hotIds = new Float64Array(HOT_IN_TRANSACTION_MAX);

  constructor(book: AddressBook) {
    this.#book = book;
    const { lasting } = book.pool;
    const amount = (lamports: number) => ({ lamports, text: lasting.addNumber(lamports) });
    this.#resting = RESTING.map(amount);
    this.#nothing = amount(0);
    this.#tokenAccount = amount(TOKEN_ACCOUNT_LAMPORTS);
    this.#mint = amount(MINT_LAMPORTS);
    this.#known = [
      makeKey(lasting.add(WRAPPED_COIN), amount(482_610_441_034), 'other'),
      makeKey(lasting.add(SYSVAR_RENT), amount(1_009_200), 'other'),
    ];
  }

  build(plan: KeyListPlan, tape: DigitTape): KeyList {
    const { random } = tape;
    const { shape, programs } = plan.skeleton;
    const row = this.#row;
    row.clear();
    // What the payer holds is drawn with the balances.
    row.add(makeKey(plan.payer, this.#nothing, 'payer'));
    const signerCount = SIGNER_COUNT.draw(random);
    for (let i = 1; i < signerCount; i++) row.add(this.#freshKey('signer', tape));
    const freshCount = FRESH_COUNT[shape].draw(random);
    for (let i = 0; i < freshCount; i++) row.add(this.#freshKey('fresh', tape));
    this.#shared.clear();
    for (let i = 0; i < programs.length; i++) {
      const program = programs[i] as Program;
      if (program.rank >= 0) this.#addMarket(program, plan.slot, random);
    }
    const knownCount = shape === 'infrastructure' ? 0 : this.#known.length;
    const loadedCount = plan.hasLookups ? LOADED_COUNT.draw(random) : 0;
    const staticCount = STATIC_COUNT[shape].draw(random);
    const room = staticCount - row.count - knownCount - programs.length;
    this.#addHot(Math.max(room, loadedCount) - this.#shared.count, plan.slot, random);
    const draft = { signerCount, knownCount, loadedCount, staticCount };
    return this.#arrange(draft, plan.skeleton, random);
  }

  /** The accounts of one market of an application, and its configuration. */
  #addMarket(program: Program, slot: number, random: Random): void {
    const rank = MARKET_TABLE.draw(random);
    const life = generation(rank, slot, MARKET_LIFE_SLOTS);
    const market = (life * MARKETS_PER_PROGRAM + rank) * 4096 + program.rank;
    let keys = this.#markets.get(market);
    if (keys === undefined) {
      keys = this.#buildMarket(market, rank, program);
      if (this.#markets.size >= MARKETS_KEPT_MAX) this.#markets.clear();
      this.#markets.set(market, keys);
    }
    this.#shared.addAll(keys, 0, keys.length);
  }

  #buildMarket(market: number, rank: number, program: Program): Key[] {
    const count = 3 + (program.rank % (MARKET_ACCOUNTS_MAX - 3));
    const keys: Key[] = [];
    for (let i = 0; i < count; i++) {
      const address = this.#book.address('market', market * MARKET_ACCOUNTS_MAX + i);
      const resting = this.#resting[(rank + i) % RESTING.length] as Amount;
      keys.push({ ...makeKey(address, resting, 'market'), market: i < 2 ? market : -1 });
    }
    keys.push(makeKey(this.#book.address('config', program.rank), this.#mint, 'other'));
    return keys;
  }

  /** Up to so many accounts that are popular with everybody; one that is drawn twice counts once. */
  #addHot(count: number, slot: number, random: Random): void {
    const ids = this.#hotIds;
    let idCount = 0;
    for (let i = 0; i < count; i++) {
      const rank = HOT_TABLE.draw(random);
      const id = generation(rank, slot, HOT_LIFE_SLOTS) * HOT_COUNT + rank;
      if (isAmong(ids, idCount, id)) continue;
      ids[idCount++] = id;
      this.#shared.add(this.#hotKey(rank, id));
    }
  }

  #hotKey(rank: number, id: number): Key {
    const known = this.#hot[rank];
    if (known !== undefined && known.id === id) return known.key;
    const resting = this.#resting[rank % RESTING.length] as Amount;
    const key = makeKey(this.#book.address('account', id), resting, 'other');
    this.#hot[rank] = { id, key };
    return key;
  }

  /** Puts the keys in order. What comes from tables are shared accounts and programs that no top-level instruction names. */
  #arrange(draft: KeyDraft, { programs, calls }: Skeleton, random: Random): KeyList {
    const row = this.#row;
    const { keys: shared, count: sharedCount } = this.#shared;
    const loadedCount = Math.min(draft.loadedCount, sharedCount);
    const loadedWritableCount = Math.round(loadedCount * 0.57);
    const tops = loadedCount > 0 ? calls : null;
    const fixedCount = row.count + draft.knownCount + countOwn(programs, tops);
    const restCount = Math.min(
      sharedCount - loadedCount,
      Math.max(0, draft.staticCount - fixedCount),
    );
    const writableEnd = loadedCount + Math.ceil(restCount * 0.7);
    row.addAll(shared, loadedCount, writableEnd);
    const writableCount = row.count;
    row.addAll(shared, writableEnd, loadedCount + restCount);
    row.addAll(this.#known, 0, draft.knownCount);
    this.#addPrograms(programs, tops, true);
    const staticCount = row.count;
    row.addAll(shared, 0, loadedCount);
    if (loadedCount > 0) this.#addPrograms(programs, tops, false);
    const readonlySignedCount = draft.signerCount > 1 && random.chance(0.3) ? 1 : 0;
    const readonlyCount = row.count - staticCount - loadedWritableCount;
    return {
      keys: row.keys,
      keyCount: row.count,
      staticCount,
      loadedWritableCount,
      signerCount: draft.signerCount,
      readonlySignedCount,
      readonlyUnsignedCount: staticCount - writableCount,
      lookups:
        draft.loadedCount > 0 ? this.#drawLookups(loadedWritableCount, readonlyCount, random) : [],
    };
  }

  #addPrograms(
    programs: readonly Program[],
    tops: readonly CallDraft[] | null,
    own: boolean,
  ): void {
    for (let i = 0; i < programs.length; i++) {
      const program = programs[i] as Program;
      if (isOwn(program, tops) === own) this.#row.add(this.#programKey(program));
    }
  }

  #drawLookups(writableCount: number, readonlyCount: number, random: Random): SimulatedLookup[] {
    const { passing } = this.#book.pool;
    const tableCount = TABLE_COUNT.draw(random);
    const writable = deal(writableCount, tableCount, { random, region: passing });
    const readonly = deal(readonlyCount, tableCount, { random, region: passing });
    return writable.map((writableIndexes, i) => ({
      accountKey: this.#book.address('table', TABLE_IDS.draw(random) * 4 + i),
      writableIndexes,
      readonlyIndexes: readonly[i] as NumberList,
    }));
  }

  #programKey(program: Program): Key {
    let key = this.#programs.get(program);
    if (key === undefined) {
      const { lasting } = this.#book.pool;
      const lamports = program.isNative ? 1 : PROGRAM_LAMPORTS;
      const resting = { lamports, text: lasting.addNumber(lamports) };
      key = { ...makeKey(lasting.add(program.id), resting, 'program'), program };
      this.#programs.set(program, key);
    }
    return key;
  }

  #freshKey(role: 'signer' | 'fresh', tape: DigitTape): Key {
    const isEmpty = role === 'signer' || !tape.random.chance(0.75);
    const address = drawAddress(tape, this.#book.pool.passing);
    return makeKey(address, isEmpty ? this.#nothing : this.#tokenAccount, role);
  }
}

interface KeyDraft {
  readonly signerCount: number;
  readonly knownCount: number;
  readonly loadedCount: number;
  readonly staticCount: number;
}

function makeKey(address: PooledText, resting: Amount, role: Key['role']): Key {
  return { address, resting, role, market: -1, program: undefined };
}

/** Deals loaded keys out to tables, in order and evenly: there are at least as many keys as tables. */
function deal(
  count: number,
  tableCount: number,
  { random, region }: { readonly random: Random; readonly region: TextRegion },
): NumberList[] {
  const dealt: NumberList[] = [];
  for (let table = 0; table < tableCount; table++) {
    const start = Math.floor((table * count) / tableCount);
    const end = Math.floor(((table + 1) * count) / tableCount);
    const indexes = region.openNumbers(end - start);
    const { bytes } = region.pool;
    for (let i = 0; i < end - start; i++) bytes[indexes + HEADER_BYTES + i] = random.below(256);
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

/** Whether a program is among the transaction's own keys: if there are tables, only those of top-level instructions are. */
function isOwn(program: Program, tops: readonly CallDraft[] | null): boolean {
  if (tops === null) return true;
  for (let i = 0; i < tops.length; i++) if ((tops[i] as CallDraft).program === program) return true;
  return false;
}

function countOwn(programs: readonly Program[], tops: readonly CallDraft[] | null): number {
  if (tops === null) return programs.length;
  let count = 0;
  for (const program of programs) if (isOwn(program, tops)) count++;
  return count;
}

function isAmong(ids: Float64Array, count: number, id: number): boolean {
  for (let i = 0; i < count; i++) if (ids[i] === id) return true;
  return false;
}
