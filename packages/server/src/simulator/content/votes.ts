/** The votes of the validators: the plainest and most frequent of all transactions. */
import type { AddressBook } from './address-book.ts';
import { type DigitTape, drawData, drawSignature } from './base58-text.ts';
import { countCost } from './cost-units.ts';
import { VOTE } from './ledger-programs.ts';
import type {
  LogLine,
  SimulatedError,
  SimulatedLog,
  SimulatedTransaction,
} from './simulated-block.ts';
import type { NumberList, PooledText, TextRegion } from './text-pool.ts';

export const VALIDATOR_COUNT = 1300;
const FAILED_RATE = 0.002;
const FEE = 5000;
const UNITS = 2100;
const STAKED = 27_074_400;
const FAILURE = 'custom program error: 0x0';
const ERROR: SimulatedError = { variant: 'InstructionError', detail: '[0,{"Custom":0}]' };
const CALL = { programId: VOTE.id, programIndex: 2, depth: 1, calls: [], ran: true };

export interface VotePlan {
  readonly validator: number;
  readonly recentBlockhash: PooledText;
}

export class VoteDrawer {
  readonly #book: AddressBook;
  readonly #program: PooledText;
  readonly #fee: PooledText;
  readonly #units: PooledText;
  readonly #cost: PooledText;
  readonly #staked: PooledText;
  readonly #one: PooledText;
  readonly #accounts: NumberList;
  readonly #log: SimulatedLog;
  readonly #failedLog: SimulatedLog;

  constructor(book: AddressBook) {
    this.#book = book;
    const { lasting } = book.pool;
    this.#program = lasting.add(VOTE.id);
    this.#fee = lasting.addNumber(FEE);
    this.#units = lasting.addNumber(UNITS);
    this.#cost = lasting.addNumber(countCost(UNITS, { signatures: 1, writableKeys: 2 }));
    this.#staked = lasting.addNumber(STAKED);
    this.#one = lasting.add('1');
    this.#accounts = lasting.addNumbers([1, 0]);
    this.#log = buildLog({ role: 'success', text: VOTE.text.success, caller: 0 }, lasting);
    const failure = VOTE.text.failed + FAILURE;
    this.#failedLog = buildLog({ role: 'failed', text: failure, caller: 0 }, lasting);
  }

  draw(plan: VotePlan, tape: DigitTape): SimulatedTransaction {
    const { random } = tape;
    const { passing } = this.#book.pool;
    const identity = this.#book.address('validator', plan.validator);
    const account = this.#book.address('voteAccount', plan.validator);
    const isFailed = random.chance(FAILED_RATE);
    const kind = VOTE.kinds.draw(random);
    const data = drawData(kind.data, tape, passing);
    const lamports = 1_000_000_000 + random.below(4_000_000_000) * 16;
    return {
      version: 'legacy',
      signatures: passing.addList([drawSignature(tape, passing)]),
      keys: passing.addList([identity, account, this.#program]),
      keyCount: 3,
      staticCount: 3,
      loadedWritableCount: 0,
      requiredSignatureCount: 1,
      readonlySignedCount: 0,
      readonlyUnsignedCount: 1,
      recentBlockhash: plan.recentBlockhash,
      lookups: [],
      calls: [{ ...CALL, accounts: this.#accounts, data }],
      error: isFailed ? ERROR : null,
      fee: this.#fee,
      computeUnits: this.#units,
      costUnits: this.#cost,
      preBalances: passing.addList([passing.addNumber(lamports + FEE), this.#staked, this.#one]),
      postBalances: passing.addList([passing.addNumber(lamports), this.#staked, this.#one]),
      holdings: [],
      log: isFailed ? this.#failedLog : this.#log,
    };
  }
}

function buildLog(end: LogLine, texts: TextRegion): SimulatedLog {
  const lines: LogLine[] = [
    { role: 'invoke', text: VOTE.text.invoke[1] as string, caller: 0 },
    end,
  ];
  const text = JSON.stringify(lines.map((line) => line.text));
  return { form: 'modern', lines, markIndex: lines.length, pieces: [texts.add(text)] };
}
