/**
 * Runs transactions one after the other on the world and records what a node records: the call tree, the log, the units, the balances
 * before and after. A program enters its instruction, changes accounts that the instruction names, and leaves.
 *
 *   begin ─ enter ─ (enter ─ leave)… ─ leave ─ enter ─ leave ─ … ─ finish
 *                    └ fail: every open call fails, later instructions are recorded but do not run, and all changes except the fee are undone
 */

import { assert } from '@sluice/base/assert';
import type { Random } from '@sluice/base/random';
import type { SimulatedError } from '../simulated-block.ts';
import { type PooledText, pooledTextAt, type TextPool } from '../text/text-pool.ts';
import { type AddressBook, skipAddress } from '../world/address-book.ts';
import { ID } from '../world/known-addresses.ts';
import { NO_ACCOUNT, SCRATCH_COUNT, type World } from '../world/world.ts';
import { DataWriter } from './data-writer.ts';
import { LogRecorder } from './log-recorder.ts';
import { RefList, SIGNER, WRITABLE } from './ref-list.ts';

export const KEY_COUNT_MAX = 256;
const CALL_COUNT_MAX = 128;
const CALL_KEY_COUNT_MAX = 4096;
export const DEPTH_MAX = 9;
export const SIGNATURE_FEE = 5000;
const UNITS_PER_LOADED = 200_000;
const UNITS_PER_NATIVE = 3000;
const UNITS_MAX = 1_400_000;
export const MICRO = 1_000_000;
/** The units of a call by which a program records an event. */
const EVENT_UNITS = 480;

/** Why an instruction fails: the error as JSON, its text in the log, and a line before it. */
export interface Cause {
  readonly detail: string;
  readonly text: string;
  readonly line?: string;
}

export interface TransactionPlan {
  readonly payer: number;
  readonly signatureCount: number;
  /** The limit that the transaction requests from the compute budget program; 0 if it requests none. */
  readonly unitLimit: number;
  /** The price of a unit in millionths of a lamport. */
  readonly unitPrice: number;
}

/** The constant texts of a program's log lines. */
type ProgramText = Readonly<Record<'success' | 'consumed' | 'failed' | 'returned', PooledText>> & {
  /** By depth. */
  readonly invoke: Int32Array;
};

/** Returns whether a program is built into the node. Calls of such programs print no units. */
function isNative(program: number): boolean {
  return (
    program === ID.system ||
    program === ID.budget ||
    program === ID.vote ||
    program === ID.signatureCheck
  );
}

export class Machine {
  readonly world: World;
  readonly book: AddressBook;
  readonly pool: TextPool;
  readonly data: DataWriter;
  readonly log: LogRecorder;
  /** The accounts of the next instruction. */
  readonly refs = new RefList();
  /** Whether the token program is its newest build, which prints nothing and costs little. */
  readonly isTokenNew: boolean;
  /** The random numbers of the transaction, set by the caller. */
  random: Random;

  // The keys of the current transaction, in the order of their first use.
  readonly keyIds = new Int32Array(KEY_COUNT_MAX);
  readonly keyFlags = new Uint8Array(KEY_COUNT_MAX);
  readonly preLamports = new Float64Array(KEY_COUNT_MAX);
  readonly preAmounts = new Float64Array(KEY_COUNT_MAX);
  keyCount = 0;
  scratchCount = 0;
  // Its calls, in execution order, and the keys of each.
  readonly callPrograms = new Int32Array(CALL_COUNT_MAX);
  readonly callDepths = new Int32Array(CALL_COUNT_MAX);
  readonly callData = new Int32Array(CALL_COUNT_MAX);
  /** The start of each call's keys in `callKeys`. */
  readonly callStarts = new Int32Array(CALL_COUNT_MAX + 1);
  readonly callRan = new Uint8Array(CALL_COUNT_MAX);
  callCount = 0;
  readonly callKeys = new Uint8Array(CALL_KEY_COUNT_MAX);
  error: SimulatedError | null = null;
  fee = 0;
  units = 0;
  plan: TransactionPlan = { payer: 0, signatureCount: 1, unitLimit: 0, unitPrice: 0 };

  readonly #keyOf: Uint16Array;
  readonly #texts = new Map<string, PooledText>();
  /** The same texts after `Program log: `. */
  readonly #logTexts = new Map<string, PooledText>();
  readonly #ofText: PooledText;
  readonly #unitsText: PooledText;
  readonly #dataText: PooledText;
  readonly #programTexts: (ProgramText | undefined)[] = [];
  readonly #openCalls = new Int32Array(DEPTH_MAX + 1);
  readonly #unitsAtStart = new Float64Array(DEPTH_MAX + 1);
  #depth = 0;
  #topCount = 0;
  #nativeTopCount = 0;
  #failure: PooledText | null = null;
  #failureRaw: string | null = null;
  #mark = 0;

  constructor(
    dependencies: { readonly world: World; readonly book: AddressBook; readonly random: Random },
    options: { readonly isTokenNew: boolean },
  ) {
    this.world = dependencies.world;
    this.book = dependencies.book;
    this.random = dependencies.random;
    this.pool = dependencies.book.pool;
    this.data = new DataWriter(this.pool, this.book);
    this.log = new LogRecorder(this.pool);
    this.isTokenNew = options.isTokenNew;
    this.#keyOf = new Uint16Array(this.world.accountCount);
    this.#ofText = this.text(' of ');
    this.#unitsText = this.text(' compute units');
    this.#dataText = this.text('Program data: ');
  }

  /** Whether only the state is needed, so that nothing is recorded. */
  get isMuted(): boolean {
    return this.log.isMuted;
  }

  set isMuted(isMuted: boolean) {
    this.log.isMuted = isMuted;
    this.data.isMuted = isMuted;
  }

  begin(plan: TransactionPlan): void {
    this.plan = plan;
    this.log.begin();
    this.callCount = 0;
    this.units = 0;
    this.error = null;
    this.#failure = null;
    this.#failureRaw = null;
    this.#depth = 0;
    this.#topCount = 0;
    this.#nativeTopCount = 0;
    this.scratchCount = 0;
    if (!this.isMuted) this.#key(plan.payer * 4 + WRITABLE + SIGNER);
    const { unitLimit, unitPrice } = plan;
    this.fee = SIGNATURE_FEE * plan.signatureCount + Math.ceil((unitLimit * unitPrice) / MICRO);
    this.world.addLamports(plan.payer, -this.fee);
    this.#mark = this.world.cells.mark;
  }

  /**
   * Starts an instruction that names the accounts in `refs`, and clears `refs`. Returns false if the instruction does not run because an
   * earlier one failed. The caller then returns immediately.
   */
  enter(program: number, data: PooledText): boolean {
    const runs = this.error === null;
    // After a failed call, its caller makes no further calls.
    if (!runs && this.#depth > 0) {
      this.refs.count = 0;
      return false;
    }
    const call = this.#record(program, data, runs);
    if (!runs) return false;
    this.#depth++;
    if (this.isMuted) return true;
    this.#openCalls[this.#depth] = call;
    this.#unitsAtStart[this.#depth] = this.units;
    const invoke = pooledTextAt(this.#textOf(program).invoke, this.#depth);
    this.log.line('invoke', call).text(invoke).end();
    return true;
  }

  /** Like `enter`, for a program that prints the name of the instruction first. */
  enterNamed(program: number, opening: string, data: PooledText): boolean {
    if (!this.enter(program, data)) return false;
    this.print(opening);
    return true;
  }

  /** Ends the instruction, with the units that it used itself. Returns false if it failed. */
  leave(units: number, returned?: PooledText): boolean {
    const call = this.caller;
    const start = this.#unitsAtStart[this.#depth] as number;
    this.units += units;
    this.#depth--;
    if (this.isMuted) return this.#failure === null;
    const program = this.programAt(call);
    const text = this.#textOf(program);
    const { log } = this;
    if (!isNative(program)) {
      const used = this.units - start;
      log.line('consumed', call).text(text.consumed).number(used).text(this.#ofText);
      log.unitsLeft(start).text(this.#unitsText).end();
    }
    if (this.#failure !== null) {
      log.line('failed', call);
      if (this.#failureRaw === null) log.text(text.failed).text(this.#failure);
      else log.escaped(this.pool.read(text.failed) + this.#failureRaw);
      log.end();
      return false;
    }
    if (returned !== undefined) log.line('other', call).text(text.returned).base64(returned).end();
    log.line('success', call).text(text.success).end();
    return true;
  }

  /** Lets the current instruction fail. The caller then leaves it. */
  fail({ detail, text, line }: Cause): void {
    if (line !== undefined) this.print(line);
    this.error = { variant: 'InstructionError', detail: `[${this.#topCount - 1},${detail}]` };
    this.#failure = this.text(text);
  }

  /** Lets the current instruction fail, and leaves it. */
  leaveFailed(cause: Cause, units: number): false {
    this.fail(cause);
    this.leave(units);
    return false;
  }

  /** Like `fail`, with a text that needs escaping in JSON. */
  failRaw(cause: Cause, text: string): void {
    this.fail(cause);
    this.#failureRaw = text;
  }

  /** Records an instruction that the runtime rejects before its program starts, so that no line is printed. */
  refuse(program: number, cause: Cause): void {
    if (this.error === null) {
      this.#record(program, this.data.open(1).u8(0).done(), true);
      this.fail(cause);
    }
    this.refs.count = 0;
  }

  /** Records a call of a program that prints no line. */
  whisper(program: number): void {
    if (this.error === null) this.#record(program, this.data.open(2).u8(1).u8(0).done(), true);
  }

  /** Rejects the whole transaction, which pays only the fee. */
  refuseAll(variant: string, detail: string | null): void {
    this.error = { variant, detail };
  }

  /** Prints `Program log:` and a constant text. */
  print(text: string): void {
    if (this.isMuted) return;
    this.log.line('log', this.caller).text(this.#logText(text)).end();
  }

  /** Prints `Program log:`, a constant text, and a number. */
  printNumber(text: string, value: number): void {
    if (this.isMuted) return;
    this.log.line('log', this.caller).text(this.#logText(text)).amount(value).end();
  }

  /** Prints `Program data:` and the bytes of an event. */
  emit(event: PooledText): void {
    this.log.line('data', this.caller).text(this.#dataText).base64(event).end();
  }

  /** Records an event by a call of the program to itself. */
  emitByCall(program: number, event: PooledText): void {
    this.refs.signer(this.world.eventAuthorities + program);
    if (this.enter(program, event)) this.leave(EVENT_UNITS);
  }

  get caller(): number {
    return this.#openCalls[this.#depth] as number;
  }

  get depth(): number {
    return this.#depth;
  }

  /** Returns a text that many transactions share, after its constant prefix. */
  text(text: string, known = this.#texts, prefix = ''): PooledText {
    let pooled = known.get(text);
    if (pooled === undefined) {
      pooled = this.pool.lasting.add(prefix + text);
      known.set(text, pooled);
    }
    return pooled;
  }

  #logText(text: string): PooledText {
    return this.text(text, this.#logTexts, 'Program log: ');
  }

  /** Returns an account that no other transaction uses. */
  scratch(lamports: number): number {
    assert(this.scratchCount < SCRATCH_COUNT, 'a transaction has few accounts of its own');
    const account = this.world.scratch + this.scratchCount++;
    this.world.setScratch(account, lamports);
    if (this.isMuted) skipAddress(this.random);
    else this.book.drawScratch(account, this.random);
    return account;
  }

  /** Undoes the changes of a failed transaction and completes the log. */
  settle(): void {
    assert(this.#depth === 0, 'every instruction was left');
    if (this.error !== null) this.world.cells.rewind(this.#mark);
    const { unitLimit } = this.plan;
    const loadedCount = this.#topCount - this.#nativeTopCount;
    const usual = loadedCount * UNITS_PER_LOADED + this.#nativeTopCount * UNITS_PER_NATIVE;
    const limit = unitLimit > 0 ? unitLimit : Math.min(UNITS_MAX, usual);
    assert(this.units <= limit, 'a transaction asks for the units that it needs');
    this.log.finish(limit);
  }

  /** Clears the keys for the next transaction. */
  clear(): void {
    for (let i = 0; i < this.keyCount; i++) this.#keyOf[this.accountAt(i)] = 0;
    this.keyCount = 0;
  }

  accountAt(key: number): number {
    return this.keyIds[key] as number;
  }

  programAt(call: number): number {
    return this.callPrograms[call] as number;
  }

  dataAt(call: number): PooledText {
    return pooledTextAt(this.callData, call);
  }

  /** Returns the index of an account among the keys in the order of their first use, or -1. */
  keyOf(account: number): number {
    return (this.#keyOf[account] as number) - 1;
  }

  /** Records a call with the accounts in `refs`, and clears them. Returns its index. */
  #record(program: number, data: PooledText, runs: boolean): number {
    const { refs, callKeys } = this;
    const refCount = refs.count;
    refs.count = 0;
    if (this.#depth === 0) {
      this.#topCount++;
      if (isNative(program)) this.#nativeTopCount++;
    }
    if (this.isMuted) return 0;
    assert(this.callCount < CALL_COUNT_MAX, 'a transaction has a bounded number of calls');
    const call = this.callCount++;
    this.callPrograms[call] = program;
    this.callDepths[call] = this.#depth + 1;
    this.callData[call] = data;
    this.callRan[call] = runs ? 1 : 0;
    let at = this.callStarts[call] as number;
    for (let i = 0; i < refCount; i++) callKeys[at++] = this.#key(refs.at(i));
    this.callStarts[call + 1] = at;
    this.#key(program * 4);
    return call;
  }

  #key(ref: number): number {
    const account = ref >> 2;
    const known = this.#keyOf[account] as number;
    // A program that signs for its own account does not add a signature to the transaction.
    const flags = this.#depth > 0 ? ref & WRITABLE : ref & 3;
    if (known !== 0) {
      this.keyFlags[known - 1] = (this.keyFlags[known - 1] as number) | flags;
      return known - 1;
    }
    const key = this.keyCount++;
    assert(key < KEY_COUNT_MAX, 'a transaction has at most 256 keys');
    this.#keyOf[account] = key + 1;
    this.keyIds[key] = account;
    this.keyFlags[key] = flags;
    this.preLamports[key] = this.world.lamports(account);
    const isToken = this.world.mintOf[account] !== NO_ACCOUNT;
    this.preAmounts[key] = isToken ? this.world.amount(account) : 0;
    return key;
  }

  #textOf(program: number): ProgramText {
    let text = this.#programTexts[program];
    if (text === undefined) {
      const id = this.pool.read(this.book.address(program));
      const { lasting } = this.pool;
      const depths = Array.from({ length: DEPTH_MAX + 1 }, (_, depth) => depth);
      text = {
        invoke: Int32Array.from(depths, (depth) => lasting.add(`Program ${id} invoke [${depth}]`)),
        success: lasting.add(`Program ${id} success`),
        consumed: lasting.add(`Program ${id} consumed `),
        failed: lasting.add(`Program ${id} failed: `),
        returned: lasting.add(`Program return: ${id} `),
      };
      this.#programTexts[program] = text;
    }
    return text;
  }
}
