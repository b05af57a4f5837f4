/**
 * Runs transactions one after the other on the world and records what a node records: the call tree, the log, the units, the balances
 * before and after. A program enters its instruction, changes accounts that the instruction names, and leaves.
 *
 *   begin ─ enter ─ (enter ─ leave)… ─ leave ─ enter ─ leave ─ … ─ finish
 *                    └ fail: every open call fails, later instructions are recorded but do not run, and all changes except the fee are undone
 */

import { assert } from '../../../base/assert.ts';
import { elementAt } from '../../../base/element-at.ts';
import type { Random } from '../../../base/random.ts';
import type { AddressBook } from '../address-book.ts';
import type { SimulatedError } from '../simulated-block.ts';
import { type PooledText, pooledTextAt, type TextPool } from '../text-pool.ts';
import { ID } from '../world/known-addresses.ts';
import { NO_ACCOUNT, SCRATCH_COUNT, type World } from '../world/world.ts';
import { DataWriter } from './data-writer.ts';
import { LogRecorder } from './log-recorder.ts';

export const KEY_COUNT_MAX = 256;
const CALL_COUNT_MAX = 128;
const REF_COUNT_MAX = 4096;
export const DEPTH_MAX = 9;
const SIGNATURE_FEE = 5000;
const UNITS_PER_LOADED = 200_000;
const UNITS_PER_NATIVE = 3000;
const UNITS_MAX = 1_400_000;
const MICRO = 1_000_000;
/** The units of a call by which a program records an event. */
const EVENT_UNITS = 480;

export const WRITABLE = 1;
export const SIGNER = 2;

/** References to accounts in an instruction: the number of the account and its flags. */
export const readonly = (account: number): number => account * 4;
export const writable = (account: number): number => account * 4 + WRITABLE;
export const signer = (account: number): number => account * 4 + SIGNER;
export const payer = (account: number): number => account * 4 + WRITABLE + SIGNER;
export const readonlys = (...accounts: number[]): number[] => mark(accounts, 0);
export const writables = (...accounts: number[]): number[] => mark(accounts, WRITABLE);

/** Changes the array in place, because a second array for every call would double its cost. */
function mark(accounts: number[], flags: number): number[] {
  for (let i = 0; i < accounts.length; i++) accounts[i] = (accounts[i] as number) * 4 + flags;
  return accounts;
}

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
  readonly invoke: readonly PooledText[];
};

/** Programs that are built into the node. Their calls print no units. */
const NATIVE: ReadonlySet<number> = new Set([ID.system, ID.budget, ID.vote, ID.signatureCheck]);

export class Machine {
  readonly world: World;
  readonly book: AddressBook;
  readonly pool: TextPool;
  readonly data: DataWriter;
  readonly log: LogRecorder;
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
  readonly callRefs = new Int32Array(CALL_COUNT_MAX + 1);
  readonly callRan = new Uint8Array(CALL_COUNT_MAX);
  callCount = 0;
  readonly refs = new Uint8Array(REF_COUNT_MAX);
  error: SimulatedError | null = null;
  fee = 0;
  units = 0;
  plan: TransactionPlan = { payer: 0, signatureCount: 1, unitLimit: 0, unitPrice: 0 };

  readonly #keyOf: Uint16Array;
  readonly #texts = new Map<string, PooledText>();
  /** The same texts after `Program log: `. */
  readonly #logTexts = new Map<string, PooledText>();
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
    modules: { readonly world: World; readonly book: AddressBook; readonly random: Random },
    options: { readonly isTokenNew: boolean },
  ) {
    this.world = modules.world;
    this.book = modules.book;
    this.random = modules.random;
    this.pool = modules.book.pool;
    this.data = new DataWriter(this.pool, this.book);
    this.log = new LogRecorder(this.pool);
    this.isTokenNew = options.isTokenNew;
    this.#keyOf = new Uint16Array(this.world.accountCount);
  }

  begin(plan: TransactionPlan): void {
    this.plan = plan;
    this.log.begin();
    this.callCount = 0;
    this.callRefs[0] = 0;
    this.units = 0;
    this.error = null;
    this.#failure = null;
    this.#failureRaw = null;
    this.#depth = 0;
    this.#topCount = 0;
    this.#nativeTopCount = 0;
    this.scratchCount = 0;
    this.#key(payer(plan.payer));
    const { unitLimit, unitPrice } = plan;
    this.fee = SIGNATURE_FEE * plan.signatureCount + Math.ceil((unitLimit * unitPrice) / MICRO);
    this.world.addLamports(plan.payer, -this.fee);
    this.#mark = this.world.cells.mark;
  }

  /** Starts an instruction. Returns false if it does not run because an earlier one failed. The caller then returns immediately. */
  enter(program: number, data: PooledText, refs: readonly number[]): boolean {
    const runs = this.error === null;
    // After a failed call, its caller makes no further calls.
    if (!runs && this.#depth > 0) return false;
    const call = this.#record(program, data, refs, runs);
    if (!runs) return false;
    this.#depth++;
    this.#openCalls[this.#depth] = call;
    this.#unitsAtStart[this.#depth] = this.units;
    const invoke = elementAt(this.#textOf(program).invoke, this.#depth);
    this.log.line('invoke', call).text(invoke).end();
    return true;
  }

  /** Like `enter`, for a program that prints the name of the instruction first. */
  enterNamed(program: number, name: string, data: PooledText, refs: readonly number[]): boolean {
    if (!this.enter(program, data, refs)) return false;
    this.print(`Instruction: ${name}`);
    return true;
  }

  /** Ends the instruction, with the units that it used itself. Returns false if it failed. */
  leave(units: number, returned?: PooledText): boolean {
    const call = this.caller;
    const start = this.#unitsAtStart[this.#depth] as number;
    const program = this.programAt(call);
    const text = this.#textOf(program);
    const { log } = this;
    this.units += units;
    if (!NATIVE.has(program)) {
      const used = this.units - start;
      log.line('consumed', call).text(text.consumed).number(used).text(this.text(' of '));
      log.unitsLeft(start).text(this.text(' compute units')).end();
    }
    this.#depth--;
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
  refuse(program: number, refs: readonly number[], cause: Cause): void {
    if (this.error !== null) return;
    this.#record(program, this.data.open(1).u8(0).done(), refs, true);
    this.fail(cause);
  }

  /** Records a call of a program that prints no line. */
  whisper(program: number): void {
    if (this.error === null) this.#record(program, this.data.open(2).u8(1).u8(0).done(), [], true);
  }

  /** Rejects the whole transaction, which pays only the fee. */
  refuseAll(variant: string, detail: string | null): void {
    this.error = { variant, detail };
  }

  /** Prints `Program log:` and a constant text. */
  print(text: string): void {
    this.log.line('log', this.caller).text(this.#logText(text)).end();
  }

  /** Prints `Program log:`, a constant text, and a number. */
  printNumber(text: string, value: number): void {
    this.log.line('log', this.caller).text(this.#logText(text)).amount(value).end();
  }

  /** Prints `Program data:` and the bytes of an event. */
  emit(event: PooledText): void {
    this.log.line('data', this.caller).text(this.text('Program data: ')).base64(event).end();
  }

  /** Records an event by a call of the program to itself. */
  emitByCall(program: number, event: PooledText): void {
    const refs = [signer(this.world.eventAuthorities + program)];
    if (this.enter(program, event, refs)) this.leave(EVENT_UNITS);
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
    this.book.drawScratch(account, this.random);
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

  #record(program: number, data: PooledText, refs: readonly number[], runs: boolean): number {
    assert(this.callCount < CALL_COUNT_MAX, 'a transaction has a bounded number of calls');
    const call = this.callCount++;
    if (this.#depth === 0) {
      this.#topCount++;
      if (NATIVE.has(program)) this.#nativeTopCount++;
    }
    this.callPrograms[call] = program;
    this.callDepths[call] = this.#depth + 1;
    this.callData[call] = data;
    this.callRan[call] = runs ? 1 : 0;
    let at = this.callRefs[call] as number;
    for (const ref of refs) this.refs[at++] = this.#key(ref);
    this.callRefs[call + 1] = at;
    this.#key(readonly(program));
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
        invoke: depths.map((depth) => lasting.add(`Program ${id} invoke [${depth}]`)),
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
