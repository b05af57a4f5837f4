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
import type { Address } from '../../ledger/primitives.ts';
import type { AddressBook } from './address-book.ts';
import { drawAddress } from './base58-text.ts';
import type { CallDraft } from './call-draft.ts';
import type { Shape } from './call-tree.ts';
import { Bands, buildZipfTable, Quantiles } from './distributions.ts';
import {
  SYSTEM,
  SYSVAR_INSTRUCTIONS,
  SYSVAR_RENT,
  TOKEN,
  WRAPPED_COIN,
} from './ledger-programs.ts';
import type { Program } from './program.ts';
import type { SimulatedLookup } from './simulated-block.ts';

export interface Key {
  readonly address: Address;
  /** Lamports it holds unless the transaction changes them. */
  readonly resting: string;
  /** Whether it may hold tokens, and of which market's vault if it is one. */
  readonly role: 'payer' | 'signer' | 'fresh' | 'market' | 'other' | 'program';
  /** The market's number for a vault, else -1. */
  readonly market: number;
  index: number;
}

export interface KeyList {
  readonly keys: readonly Key[];
  readonly staticCount: number;
  readonly loadedWritableCount: number;
  readonly signatureCount: number;
  readonly readonlySignedCount: number;
  readonly readonlyUnsignedCount: number;
  readonly lookups: readonly SimulatedLookup[];
  /** Writable ones that are no signers, in the order of the list. */
  readonly writable: readonly Key[];
}

const MARKETS_PER_PROGRAM = 256;
const MARKET_ACCOUNTS_MAX = 8;
/** Markets beyond the most popular give way to others after this many slots. */
const MARKET_LIFE_SLOTS = 40_000;
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
  one: new Bands([[4, 8, 1]]),
  few: new Bands([[5, 10, 1]]),
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
    [0.5, 15],
    [0.9, 20],
    [1, 26],
  ]),
  few: new Quantiles([
    [0, 12],
    [0.5, 19],
    [0.9, 26],
    [1, 30],
  ]),
  many: new Quantiles([
    [0, 16],
    [0.5, 24],
    [1, 30],
  ]),
};
const STATIC_COUNT_MAX = 30;
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
const RESTING = [
  '2039280',
  '2039280',
  '2039280',
  '1141440',
  '6124800',
  '3591360',
  '1461600',
  '23357760',
];

export interface KeyListPlan {
  readonly slot: number;
  readonly shape: Shape;
  readonly calls: readonly CallDraft[];
  readonly payer: Key;
  readonly hasLookups: boolean;
}

export class KeyListBuilder {
  readonly #book: AddressBook;

  constructor(book: AddressBook) {
    this.#book = book;
  }

  build(plan: KeyListPlan, random: Random): KeyList {
    const signers = [plan.payer];
    const signerCount = SIGNER_COUNT.draw(random);
    for (let i = 1; i < signerCount; i++) signers.push(freshKey('signer', random));
    const programs = collectPrograms(plan.calls);
    const fresh: Key[] = [];
    const freshCount = FRESH_COUNT[plan.shape].draw(random);
    for (let i = 0; i < freshCount; i++) fresh.push(freshKey('fresh', random));
    const shared = this.#drawShared(programs, plan.slot, random);
    const room = STATIC_COUNT[plan.shape].draw(random) - signers.length - fresh.length;
    const programKeys = programs.map(programKey);
    const known = this.#knownKeys(plan.shape);
    const missing = room - programs.length - shared.length - known.length;
    for (let i = 0; i < missing; i++) this.#addHot(shared, plan.slot, random);
    const draft = { signers, fresh, shared, programKeys, known };
    return plan.hasLookups
      ? this.#loadFromTables(draft, plan, random)
      : arrangeKeys(draft, { tops: plan.calls, loadedCount: 0 }, random);
  }

  /** The accounts of one market of each application, and its configuration. */
  #drawShared(programs: readonly Program[], slot: number, random: Random): Key[] {
    const shared: Key[] = [];
    for (const program of programs) {
      if (program.rank < 0) continue;
      const rank = MARKET_TABLE.draw(random);
      const life = generation(rank, slot, MARKET_LIFE_SLOTS);
      const market = (life * MARKETS_PER_PROGRAM + rank) * 4096 + program.rank;
      const count = 3 + (program.rank % (MARKET_ACCOUNTS_MAX - 3));
      for (let i = 0; i < count; i++) {
        const id = market * MARKET_ACCOUNTS_MAX + i;
        shared.push({
          address: this.#book.address('market', id),
          resting: RESTING[(rank + i) % RESTING.length] as string,
          role: 'market',
          market: i < 2 ? market : -1,
          index: -1,
        });
      }
      shared.push(otherKey(this.#book.address('config', program.rank)));
    }
    return shared;
  }

  #addHot(shared: Key[], slot: number, random: Random): void {
    const rank = HOT_TABLE.draw(random);
    const id = generation(rank, slot, HOT_LIFE_SLOTS) * HOT_COUNT + rank;
    const address = this.#book.address('account', id);
    if (!shared.some((key) => key.address === address)) {
      shared.push(otherKey(address, RESTING[rank % RESTING.length]));
    }
  }

  #knownKeys(shape: Shape): Key[] {
    if (shape === 'infrastructure') return [];
    return [otherKey(WRAPPED_COIN, '482610441034'), otherKey(SYSVAR_RENT, '1009200')];
  }

  #loadFromTables(draft: KeyDraft, plan: KeyListPlan, random: Random): KeyList {
    const wanted = LOADED_COUNT.draw(random);
    while (draft.shared.length < wanted) this.#addHot(draft.shared, plan.slot, random);
    if (draft.known.length > 0 && random.chance(0.5)) {
      draft.known.push(otherKey(SYSVAR_INSTRUCTIONS, '0'));
    }
    const list = arrangeKeys(draft, { tops: plan.calls, loadedCount: wanted }, random);
    const tableCount = TABLE_COUNT.draw(random);
    const lookups: SimulatedLookup[] = [];
    for (let i = 0; i < tableCount; i++) {
      const accountKey = this.#book.address('table', TABLE_IDS.draw(random) * 4 + i);
      lookups.push({ accountKey, writableIndexes: [], readonlyIndexes: [] });
    }
    return { ...list, lookups: fillLookups(lookups, list, random) };
  }
}

interface KeyDraft {
  readonly signers: readonly Key[];
  readonly fresh: readonly Key[];
  readonly shared: Key[];
  readonly programKeys: readonly Key[];
  readonly known: Key[];
}

/** Puts the keys in order. What comes from tables are shared accounts and programs that no top-level instruction names. */
function arrangeKeys(
  draft: KeyDraft,
  plan: { readonly tops: readonly CallDraft[]; readonly loadedCount: number },
  random: Random,
): KeyList {
  const { signers } = draft;
  const loadedWritableCount = Math.round(plan.loadedCount * 0.57);
  const loadedWritable = draft.shared.slice(0, loadedWritableCount);
  const loadedReadonly = draft.shared.slice(loadedWritableCount, plan.loadedCount);
  const rest = draft.shared.slice(plan.loadedCount);
  const writableRestCount = Math.ceil(rest.length * 0.7);
  const writable = [...draft.fresh, ...rest.slice(0, writableRestCount)];
  const topIds = new Set(plan.tops.map((top) => top.programId));
  const readonly = [...rest.slice(writableRestCount), ...draft.known];
  for (const key of draft.programKeys) {
    if (plan.loadedCount === 0 || topIds.has(key.address)) readonly.push(key);
    else loadedReadonly.push(key);
  }
  const surplus = signers.length + writable.length + readonly.length - STATIC_COUNT_MAX;
  if (surplus > 0) writable.length = Math.max(2, writable.length - surplus);
  const keys = [...signers, ...writable, ...readonly, ...loadedWritable, ...loadedReadonly];
  for (let i = 0; i < keys.length; i++) (keys[i] as Key).index = i;
  return {
    keys,
    staticCount: signers.length + writable.length + readonly.length,
    loadedWritableCount: loadedWritable.length,
    signatureCount: signers.length,
    readonlySignedCount: signers.length > 1 && random.chance(0.3) ? 1 : 0,
    readonlyUnsignedCount: readonly.length,
    lookups: [],
    writable: [...writable, ...loadedWritable],
  };
}

/** Deals the loaded keys out to the tables: every table gets one at least, in order. */
function fillLookups(
  lookups: readonly SimulatedLookup[],
  list: KeyList,
  random: Random,
): SimulatedLookup[] {
  const writable = deal(list.loadedWritableCount, lookups.length, random);
  const readonlyCount = list.keys.length - list.staticCount - list.loadedWritableCount;
  const readonly = deal(readonlyCount, lookups.length, random);
  return lookups
    .map(({ accountKey }, table) => ({
      accountKey,
      writableIndexes: writable[table] as number[],
      readonlyIndexes: readonly[table] as number[],
    }))
    .filter((lookup) => lookup.writableIndexes.length + lookup.readonlyIndexes.length > 0);
}

function deal(count: number, tableCount: number, random: Random): number[][] {
  const dealt: number[][] = Array.from({ length: tableCount }, () => []);
  for (let i = 0; i < count; i++) {
    const table = Math.floor((i * tableCount) / count);
    (dealt[table] as number[]).push(random.below(256));
  }
  return dealt;
}

/** Popular places are taken by others as time goes by, each at a moment of its own; the first ones never. */
function generation(rank: number, slot: number, lifeSlots: number): number {
  if (rank < LASTING_RANK_END) return 0;
  const phase = Math.imul(rank, 0x9e3779b1) >>> 0;
  return Math.floor((slot + (phase % lifeSlots)) / lifeSlots);
}

function collectPrograms(calls: readonly CallDraft[], into: Program[] = []): Program[] {
  for (const call of calls) {
    if (!into.includes(call.program)) into.push(call.program);
    if (call.calls.length > 0) collectPrograms(call.calls, into);
  }
  if (into.length > 0 && !into.includes(SYSTEM)) into.push(SYSTEM);
  if (into.some((program) => program.rank >= 0) && !into.includes(TOKEN)) into.push(TOKEN);
  return into;
}

function freshKey(role: 'signer' | 'fresh', random: Random): Key {
  const resting = role === 'signer' ? '0' : random.chance(0.75) ? '2039280' : '0';
  return { address: drawAddress(random), resting, role, market: -1, index: -1 };
}

function otherKey(address: Address, resting = '1461600'): Key {
  return { address, resting, role: 'other', market: -1, index: -1 };
}

function programKey(program: Program): Key {
  const resting = program.isNative ? '1' : '1141440';
  return { address: program.id, resting, role: 'program', market: -1, index: -1 };
}
