/** Makes the record of the transaction that the machine has just run: message, balances, token balances, calls. */
import type { Random } from '../../../base/random.ts';
import type { Address } from '../../../ledger/primitives.ts';
import type { DigitTape } from '../base58-text.ts';
import { drawSignature } from '../base58-text.ts';
import { countCost } from '../cost-units.ts';
import type { Call, Holding, SimulatedLookup, SimulatedTransaction } from '../simulated-block.ts';
import {
  type AmountList,
  HEADER_BYTES,
  type NumberList,
  type PooledText,
  type TextList,
} from '../text-pool.ts';
import { ID } from '../world/known-addresses.ts';
import { NO_ACCOUNT } from '../world/world.ts';
import { type Machine, SIGNER, WRITABLE } from './machine.ts';

export interface TransactionForm {
  readonly version: 'legacy' | 0 | 1;
  /** Whether accounts that last are loaded from lookup tables. */
  readonly hasLookups: boolean;
  readonly recentBlockhash: string;
}

interface OpenCall {
  readonly depth: number;
  readonly calls: Call[];
}

/** Where each key of the machine stands in the message. */
class KeyOrder {
  readonly ids = new Int32Array(256);
  readonly places = new Uint8Array(256);
  count = 0;
  readonly #isLoaded = new Uint8Array(256);
  signerCount = 0;
  readonlySignedCount = 0;
  readonlyUnsignedCount = 0;
  staticCount = 0;
  loadedWritableCount = 0;

  arrange(machine: Machine, hasLookups: boolean): void {
    this.count = 0;
    this.loadedWritableCount = 0;
    this.#isLoaded.fill(0, 0, machine.keyCount);
    if (hasLookups) this.#markLoaded(machine);
    this.#take(machine, SIGNER | WRITABLE);
    const writableSigners = this.count;
    this.#take(machine, SIGNER);
    this.signerCount = this.count;
    this.readonlySignedCount = this.count - writableSigners;
    this.#take(machine, WRITABLE);
    const readonlyFirst = this.count;
    this.#take(machine, 0);
    this.staticCount = this.count;
    this.readonlyUnsignedCount = this.count - readonlyFirst;
  }

  /** The loaded keys of a kind, table by table. Returns the indexes of each table. */
  load(machine: Machine, tables: readonly number[], flags: number): NumberList[] {
    const { passing } = machine.pool;
    return tables.map((table) => {
      const first = this.count;
      for (let key = 0; key < machine.keyCount; key++) {
        const id = machine.keyIds[key] as number;
        if (this.#isLoaded[key] === 0 || id >> 8 !== table) continue;
        if ((machine.keyFlags[key] as number) === flags) this.#put(key, id);
      }
      const indexes = passing.openNumbers(this.count - first);
      for (let i = first; i < this.count; i++) {
        machine.pool.bytes[indexes + HEADER_BYTES + i - first] = (this.ids[i] as number) & 255;
      }
      return indexes;
    });
  }

  listTables(machine: Machine): number[] {
    const tables: number[] = [];
    for (let key = 0; key < machine.keyCount; key++) {
      const table = (machine.keyIds[key] as number) >> 8;
      if (this.#isLoaded[key] === 1 && !tables.includes(table)) tables.push(table);
    }
    return tables;
  }

  /** Signers, and the programs of top-level instructions, must stand in the message itself. */
  #markLoaded(machine: Machine): void {
    const { lastingEnd } = machine.world;
    for (let key = 1; key < machine.keyCount; key++) {
      const isSigner = ((machine.keyFlags[key] as number) & SIGNER) !== 0;
      if (!isSigner && (machine.keyIds[key] as number) < lastingEnd) this.#isLoaded[key] = 1;
    }
    for (let call = 0; call < machine.callCount; call++) {
      if (machine.callDepths[call] !== 1) continue;
      this.#isLoaded[machine.keyOf(machine.callPrograms[call] as number)] = 0;
    }
  }

  #take(machine: Machine, flags: number): void {
    for (let key = 0; key < machine.keyCount; key++) {
      if (machine.keyFlags[key] === flags && this.#isLoaded[key] === 0) {
        this.#put(key, machine.keyIds[key] as number);
      }
    }
  }

  #put(key: number, id: number): void {
    this.places[key] = this.count;
    this.ids[this.count++] = id;
  }
}

export class TransactionBuilder {
  readonly #machine: Machine;
  readonly #order = new KeyOrder();

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  build(form: TransactionForm, tape: DigitTape): SimulatedTransaction {
    const machine = this.#machine;
    const order = this.#order;
    machine.settle();
    order.arrange(machine, form.hasLookups);
    const lookups = form.hasLookups ? this.#buildLookups() : [];
    const { signerCount } = order;
    const writableKeys = order.staticCount - order.readonlyUnsignedCount;
    const transaction: SimulatedTransaction = {
      version: form.version,
      signatures: this.#drawSignatures(tape),
      keys: this.#listKeys(),
      keyCount: order.count,
      staticCount: order.staticCount,
      loadedWritableCount: order.loadedWritableCount,
      requiredSignatureCount: signerCount,
      readonlySignedCount: order.readonlySignedCount,
      readonlyUnsignedCount: order.readonlyUnsignedCount,
      recentBlockhash: form.recentBlockhash,
      lookups,
      calls: this.#buildCalls(),
      error: machine.error,
      fee: machine.fee,
      computeUnits: machine.units,
      costUnits: countCost(machine.units, { signatures: signerCount, writableKeys }),
      ...this.#buildBalances(),
      holdings: this.#buildHoldings(),
      log: machine.log,
    };
    machine.clear();
    return transaction;
  }

  #buildLookups(): SimulatedLookup[] {
    const machine = this.#machine;
    const order = this.#order;
    const tables = order.listTables(machine);
    const writableIndexes = order.load(machine, tables, WRITABLE);
    order.loadedWritableCount = order.count - order.staticCount;
    const readonlyIndexes = order.load(machine, tables, 0);
    return tables.map((table, i) => ({
      accountKey: machine.book.table(table << 8),
      writableIndexes: writableIndexes[i] as NumberList,
      readonlyIndexes: readonlyIndexes[i] as NumberList,
    }));
  }

  #drawSignatures(tape: DigitTape): TextList {
    const { passing, words } = this.#machine.pool;
    const { signerCount } = this.#order;
    const list = passing.openList(signerCount);
    const start = (list + HEADER_BYTES) >> 2;
    for (let i = 0; i < signerCount; i++) words[start + i] = drawSignature(tape, passing);
    return list;
  }

  #listKeys(): TextList {
    const { book, pool } = this.#machine;
    const { ids, count } = this.#order;
    const list = pool.passing.openList(count);
    const start = (list + HEADER_BYTES) >> 2;
    for (let i = 0; i < count; i++) {
      // The first use of an address may move the memory.
      const text = book.address(ids[i] as number);
      pool.words[start + i] = text;
    }
    return list;
  }

  /** The calls as a tree, of what was recorded in the order it ran. */
  #buildCalls(): Call[] {
    const machine = this.#machine;
    const { places } = this.#order;
    const top: Call[] = [];
    const open: OpenCall[] = [{ depth: 0, calls: top }];
    for (let i = 0; i < machine.callCount; i++) {
      const depth = machine.callDepths[i] as number;
      while ((open.at(-1) as OpenCall).depth >= depth) open.pop();
      const program = machine.callPrograms[i] as number;
      const call = {
        programId: machine.pool.read(machine.book.address(program)) as Address,
        programIndex: places[machine.keyOf(program)] as number,
        accounts: this.#listAccounts(i),
        data: machine.callData[i] as PooledText,
        depth,
        calls: [],
        ran: machine.callRan[i] === 1,
      };
      (open.at(-1) as OpenCall).calls.push(call);
      open.push(call);
    }
    return top;
  }

  #listAccounts(call: number): NumberList {
    const machine = this.#machine;
    const start = machine.callRefs[call] as number;
    const count = (machine.callRefs[call + 1] as number) - start;
    const list = machine.pool.passing.openNumbers(count);
    const { bytes } = machine.pool;
    for (let i = 0; i < count; i++) {
      const key = machine.refs[start + i] as number;
      bytes[list + HEADER_BYTES + i] = this.#order.places[key] as number;
    }
    return list;
  }

  #buildBalances(): { preBalances: AmountList; postBalances: AmountList } {
    const machine = this.#machine;
    const { passing } = machine.pool;
    const { count, places } = this.#order;
    const preBalances = passing.openAmounts(count);
    const postBalances = passing.openAmounts(count);
    for (let key = 0; key < count; key++) {
      const place = places[key] as number;
      const id = machine.keyIds[key] as number;
      this.#setAmount(preBalances, place, id, machine.preLamports[key] as number);
      this.#setAmount(postBalances, place, id, machine.world.lamports(id));
    }
    return { preBalances, postBalances };
  }

  /** A node lists the token accounts of transactions that name a token program. */
  #buildHoldings(): Holding[] {
    const machine = this.#machine;
    if (machine.keyOf(ID.token) < 0 && machine.keyOf(ID.token2022) < 0) return [];
    const { world, book } = machine;
    const holdings: Holding[] = [];
    for (let key = 0; key < this.#order.count; key++) {
      const id = machine.keyIds[key] as number;
      const mint = world.mintOf[id] as number;
      if (mint === NO_ACCOUNT) continue;
      const hadAny = (machine.preLamports[key] as number) > 0;
      const hasAny = world.exists(id);
      if (!hadAny && !hasAny) continue;
      holdings.push({
        accountIndex: this.#order.places[key] as number,
        mint: book.address(mint),
        decimals: world.decimalsOf[mint] as number,
        owner: book.address(world.ownerOf[id] as number),
        programId: book.address(world.programOf[id] as number),
        pre: hadAny ? this.#addAmount(id, machine.preAmounts[key] as number) : null,
        post: hasAny ? this.#addAmount(id, world.amount(id)) : null,
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
    const { reserve, vastHolder, accountCount } = world;
    if (cell !== reserve && cell !== accountCount + vastHolder) return;
    const whole = BigInt(amount) + (world.vast.get(cell) as bigint);
    pool.bytes.writeBigUInt64LE(whole, list + HEADER_BYTES + index * 8);
  }
}

/** The form that a transaction of the era takes, drawn before anything else about it. */
export function drawVersion(
  random: Random,
  { isModern, version1Rate }: { readonly isModern: boolean; readonly version1Rate: number },
): 'legacy' | 0 | 1 {
  if (!isModern) return 'legacy';
  if (version1Rate > 0 && random.chance(version1Rate)) return 1;
  return random.chance(VERSION_0_RATE) ? 0 : 'legacy';
}

const VERSION_0_RATE = 0.83;
