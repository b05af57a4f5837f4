/** Builds the record of the transaction that the machine has just run: message, balances, token balances, calls. */

import { elementAt } from '@sluice/base/element-at';
import { valueOfKey } from '@sluice/base/value-of-key';
import type { Call, Holding, SimulatedLookup, SimulatedTransaction } from '../simulated-block.ts';
import { drawSignature } from '../text/base58-text.ts';
import {
  type AmountList,
  HEADER_BYTES,
  type NumberList,
  type TextList,
} from '../text/text-pool.ts';
import { ID } from '../world/known-addresses.ts';
import { NO_ACCOUNT } from '../world/world.ts';
import { KEY_COUNT_MAX, type Machine } from './machine.ts';
import { SIGNER, WRITABLE } from './ref-list.ts';

const NONE: never[] = [];
const SIGNATURE_COST = 720;
const WRITABLE_KEY_COST = 300;

export interface TransactionForm {
  readonly version: 'legacy' | 0 | 1;
  /** Whether accounts of the cast are loaded from lookup tables. */
  readonly hasLookups: boolean;
}

export const LEGACY_FORM = { version: 'legacy', hasLookups: false } as const;

export class TransactionBuilder {
  readonly #machine: Machine;
  /** The accounts in the order of the message, and for every key of the machine its position in this order. */
  readonly #ids = new Int32Array(KEY_COUNT_MAX);
  readonly #indexes = new Uint8Array(KEY_COUNT_MAX);
  #count = 0;
  /** Whether a key of the machine is loaded from a lookup table. */
  readonly #isLoaded = new Uint8Array(KEY_COUNT_MAX);

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  build({ version, hasLookups }: TransactionForm, recentBlockhash: string): SimulatedTransaction {
    const machine = this.#machine;
    machine.settle();
    this.#count = 0;
    this.#isLoaded.fill(0, 0, machine.keyCount);
    const tables = hasLookups ? this.#markLoaded() : NONE;
    this.#assign(SIGNER | WRITABLE);
    const readonlySignedCount = this.#assign(SIGNER);
    const requiredSignatureCount = this.#count;
    const writableCount = requiredSignatureCount + this.#assign(WRITABLE);
    const readonlyUnsignedCount = this.#assign(0);
    const staticCount = this.#count;
    const lookups = tables.length === 0 ? NONE : this.#buildLookups(tables);
    const loadedWritableCount = lookups.reduce((sum, { writableIndexes }) => {
      return sum + machine.pool.byteCount(writableIndexes);
    }, 0);
    const transaction: SimulatedTransaction = {
      version,
      signatures: this.#drawSignatures(requiredSignatureCount),
      keys: this.#listKeys(),
      keyCount: this.#count,
      staticCount,
      loadedWritableCount,
      requiredSignatureCount,
      readonlySignedCount,
      readonlyUnsignedCount,
      recentBlockhash,
      lookups,
      calls: this.#buildCalls(),
      error: machine.error,
      fee: machine.fee,
      computeUnits: machine.units,
      costUnits:
        machine.units + SIGNATURE_COST * requiredSignatureCount + WRITABLE_KEY_COST * writableCount,
      preBalances: this.#buildBalances(machine.preLamports),
      postBalances: this.#buildBalances(null),
      holdings: this.#buildHoldings(),
      log: machine.log,
    };
    machine.clear();
    return transaction;
  }

  /** Marks the keys that are loaded, and returns their tables. Signers and top-level programs must be static keys of the message. */
  #markLoaded(): number[] {
    const machine = this.#machine;
    // Accounts with lower ids than the users are the same on every ledger and are in lookup tables.
    const { users } = machine.world;
    for (let key = 1; key < machine.keyCount; key++) {
      const isSigner = ((machine.keyFlags[key] ?? 0) & SIGNER) !== 0;
      if (!isSigner && machine.accountAt(key) < users) this.#isLoaded[key] = 1;
    }
    for (let call = 0; call < machine.callCount; call++) {
      if (machine.callDepths[call] !== 1) continue;
      this.#isLoaded[machine.keyOf(machine.programAt(call))] = 0;
    }
    const tables = new Set<number>();
    for (let key = 0; key < machine.keyCount; key++) {
      if (this.#isLoaded[key] === 1) tables.add(machine.accountAt(key) >> 8);
    }
    return [...tables];
  }

  /** Appends keys with these flags to the order: the ones in the message, or the ones in a lookup table. Returns their number. */
  #assign(flags: number, table?: number): number {
    const machine = this.#machine;
    const first = this.#count;
    const isLoaded = table === undefined ? 0 : 1;
    for (let key = 0; key < machine.keyCount; key++) {
      if (machine.keyFlags[key] !== flags || this.#isLoaded[key] !== isLoaded) continue;
      const id = machine.accountAt(key);
      if (table !== undefined && id >> 8 !== table) continue;
      this.#indexes[key] = this.#count;
      this.#ids[this.#count++] = id;
    }
    return this.#count - first;
  }

  #indexOf(key: number): number {
    return this.#indexes[key] as number;
  }

  /** Appends the loaded keys: the writable ones of every table, then the others. */
  #buildLookups(tables: readonly number[]): SimulatedLookup[] {
    const load = (flags: number) => tables.map((table) => this.#loadIndexes(table, flags));
    const [writableIndexes, readonlyIndexes] = [load(WRITABLE), load(0)];
    return tables.map((table, i) => ({
      accountKey: this.#machine.book.table(table),
      writableIndexes: elementAt(writableIndexes, i),
      readonlyIndexes: elementAt(readonlyIndexes, i),
    }));
  }

  /** Returns the indexes of the loaded keys in their table. */
  #loadIndexes(table: number, flags: number): NumberList {
    const { pool } = this.#machine;
    const count = this.#assign(flags, table);
    const indexes = pool.passing.openNumbers(count);
    const first = this.#count - count;
    for (let i = 0; i < count; i++) {
      pool.bytes[indexes + HEADER_BYTES + i] = (this.#ids[first + i] as number) & 255;
    }
    return indexes;
  }

  #drawSignatures(count: number): TextList {
    const { pool, random } = this.#machine;
    const list = pool.passing.openList(count);
    const start = (list + HEADER_BYTES) >> 2;
    for (let i = 0; i < count; i++) pool.words[start + i] = drawSignature(random, pool.passing);
    return list;
  }

  #listKeys(): TextList {
    const { book, pool } = this.#machine;
    const list = pool.passing.openList(this.#count);
    const start = (list + HEADER_BYTES) >> 2;
    for (let i = 0; i < this.#count; i++) {
      // The first use of an address may move the memory.
      const text = book.address(this.#ids[i] as number);
      pool.words[start + i] = text;
    }
    return list;
  }

  /** Returns the recorded calls as a tree. */
  #buildCalls(): Call[] {
    const machine = this.#machine;
    const top: Call[] = [];
    /** The list of the calls made by the newest call of each depth. */
    const lists: Call[][] = [top];
    for (let i = 0; i < machine.callCount; i++) {
      const depth = machine.callDepths[i] ?? 0;
      const isParent = i + 1 < machine.callCount && (machine.callDepths[i + 1] ?? 0) > depth;
      const calls: Call[] = isParent ? [] : NONE;
      lists[depth] = calls;
      lists[depth - 1]?.push({
        programIndex: this.#indexOf(machine.keyOf(machine.programAt(i))),
        accounts: this.#listAccounts(i),
        data: machine.dataAt(i),
        depth,
        calls,
        ran: machine.callRan[i] === 1,
      });
    }
    return top;
  }

  #listAccounts(call: number): NumberList {
    const { callStarts, callKeys, pool } = this.#machine;
    const start = callStarts[call] ?? 0;
    const count = (callStarts[call + 1] ?? 0) - start;
    const list = pool.passing.openNumbers(count);
    for (let i = 0; i < count; i++) {
      const key = callKeys[start + i] ?? 0;
      pool.bytes[list + HEADER_BYTES + i] = this.#indexOf(key);
    }
    return list;
  }

  /** Returns the lamports of all keys: those given in the order of the machine's keys, or the current ones. */
  #buildBalances(lamports: Float64Array | null): AmountList {
    const machine = this.#machine;
    const list = machine.pool.passing.openAmounts(this.#count);
    for (let key = 0; key < this.#count; key++) {
      const id = machine.accountAt(key);
      const amount = lamports === null ? machine.world.lamports(id) : (lamports[key] ?? 0);
      this.#setAmount(list, this.#indexOf(key), id, amount);
    }
    return list;
  }

  /** Returns the token accounts. A node lists them for transactions that name a token program. */
  #buildHoldings(): Holding[] {
    const machine = this.#machine;
    if (machine.keyOf(ID.token) < 0 && machine.keyOf(ID.token2022) < 0) return NONE;
    const { world, book } = machine;
    const holdings: Holding[] = [];
    for (let key = 0; key < this.#count; key++) {
      const id = machine.accountAt(key);
      const mint = world.mintAt(id);
      if (mint === NO_ACCOUNT) continue;
      const existed = (machine.preLamports[key] ?? 0) > 0;
      const exists = world.exists(id);
      if (!existed && !exists) continue;
      holdings.push({
        accountIndex: this.#indexOf(key),
        mint: book.address(mint),
        decimals: world.decimalsAt(mint),
        owner: book.address(world.ownerAt(id)),
        programId: book.address(world.programAt(id)),
        pre: existed ? this.#addAmount(id, machine.preAmounts[key] as number) : null,
        post: exists ? this.#addAmount(id, world.amount(id)) : null,
      });
    }
    return holdings;
  }

  #addAmount(id: number, amount: number): AmountList {
    const list = this.#machine.pool.passing.openAmounts(1);
    this.#setAmount(list, 0, this.#machine.world.accountCount + id, amount);
    return list;
  }

  #setAmount(list: AmountList, index: number, cell: number, amount: number): void {
    const { pool, world } = this.#machine;
    pool.passing.setAmount(list, index, amount);
    if (cell !== world.reserve && cell !== world.accountCount + world.vastHolder) return;
    const whole = BigInt(amount) + valueOfKey(world.vast, cell);
    pool.bytes.writeBigUInt64LE(whole, list + HEADER_BYTES + index * 8);
  }
}

/** A message with more static keys would be too large, so some keys are loaded from tables. */
const STATIC_COUNT_MAX = 25;
const VERSION_0_RATE = 0.78;
/** The share of transactions of version 0 that use tables, among those that could do without them. */
const LOOKUP_RATE = 0.14;

/** Draws the form of the transaction that the machine has just run. */
export function drawForm(
  { random, keyCount }: Machine,
  { isModern, version1Rate }: { readonly isModern: boolean; readonly version1Rate: number },
): TransactionForm {
  if (!isModern) return LEGACY_FORM;
  if (version1Rate > 0 && random.chance(version1Rate)) return { version: 1, hasLookups: false };
  const isLarge = keyCount > STATIC_COUNT_MAX;
  if (!isLarge && !random.chance(VERSION_0_RATE)) return LEGACY_FORM;
  return { version: 0, hasLookups: isLarge || random.chance(LOOKUP_RATE) };
}
