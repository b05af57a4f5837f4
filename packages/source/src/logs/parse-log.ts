/**
 * Assigns the log lines of a transaction to its calls, and reads from them the consumed units and the error of each call.
 *
 * Log and calls come from different parts of a node and may disagree: logs are truncated, some programs print no lines, and old nodes
 * used other formats. The parser walks both at once, as a recursive descent over lines with this grammar:
 *
 *   call  = invoke frame | nothing            (a program without lines)
 *   frame = { log | data | other | consumed | call } (success | failed)
 *
 * If log and calls contradict each other, only the log is discarded: the calls keep their addresses but have no values that come from
 * the log. No input makes the parser throw.
 */

import type { Log } from '@sluice/ledger/block';
import type { LogKind } from '@sluice/protocol/field-table';
import { assignWithoutLog, type Call, type CallTree, nextAddress } from './call-tree.ts';
import {
  classifyLine,
  dataTextStart,
  failedTextOffset,
  idStart,
  type LineClass,
  lineClass,
  logTextStart,
  readDepth,
  readUnits,
} from './classify-line.ts';

/** The ways in which a log can contradict its call tree. */
export type LogMismatch =
  | 'call-missing'
  | 'height-differs'
  | 'depth-differs'
  | 'level-skipped'
  | 'consumed-by-another'
  | 'result-of-another'
  | 'ends-in-frame'
  | 'inner-after-failure'
  | 'lines-left';

export interface LogInput {
  readonly transactionIndex: number;
  readonly tree: CallTree;
  readonly lines: readonly string[] | null;
  /** The top-level instruction that failed; later ones did not run. -1 if none ran, their number if all ran. */
  readonly failed: number;
  /** Whether the failure was raised before the program was invoked. */
  readonly failedBeforeInvoke: boolean;
}

export interface LogOutcome {
  readonly mismatch: LogMismatch | null;
  readonly hasDroppedLogMessages: boolean;
  readonly isTruncated: boolean;
  /** Whether instructions ran but the source has no log. */
  readonly isLogMissing: boolean;
  /** Lines that belong to no known call. */
  readonly skippedLineCount: number;
  /** Calls that printed no lines, of programs that usually print some. */
  readonly silentCallCount: number;
  /** Addresses that neither the heights nor the lines determine. */
  readonly guessedAddressCount: number;
}

const noLines: readonly string[] = [];

export class LogParser {
  readonly #excusedPrograms: ReadonlySet<string>;
  readonly #logs: Log[];

  // The state of the current transaction.
  #input: LogInput = {
    transactionIndex: 0,
    tree: { calls: [], heights: [], starts: [0] },
    lines: null,
    failed: -1,
    failedBeforeInvoke: false,
  };
  #lines: readonly string[] = noLines;
  #cursor = 0;
  /** The next call without an address, and the range of calls of its top-level instruction. */
  #next = 0;
  #first = 0;
  #end = 0;
  #top = 0;
  #previous: readonly number[] = [];
  #mismatch: LogMismatch | null = null;
  #skippedLineCount = 0;
  #silentCallCount = 0;
  #guessedAddressCount = 0;

  /** The parser appends records to `logs`. */
  constructor(excusedPrograms: ReadonlySet<string>, logs: Log[]) {
    this.#excusedPrograms = excusedPrograms;
    this.#logs = logs;
  }

  /** Sets address, error, units and flag of every call of the tree. */
  parse(input: LogInput): LogOutcome {
    this.#input = input;
    this.#lines = input.lines ?? noLines;
    this.#cursor = 0;
    this.#mismatch = null;
    this.#skippedLineCount = 0;
    this.#silentCallCount = 0;
    this.#guessedAddressCount = 0;
    const logCount = this.#logs.length;
    const isLogMissing = input.lines === null && this.#hasRun();
    if (isLogMissing || !this.#walk()) {
      this.#logs.length = logCount;
      return this.#withoutLog(isLogMissing);
    }
    const isTruncated = this.#cursor < this.#lines.length;
    return {
      mismatch: null,
      hasDroppedLogMessages:
        isTruncated || this.#skippedLineCount > 0 || this.#isLogStrangelyEmpty(),
      isTruncated,
      isLogMissing,
      skippedLineCount: this.#skippedLineCount,
      silentCallCount: this.#silentCallCount,
      guessedAddressCount: this.#guessedAddressCount,
    };
  }

  #withoutLog(isLogMissing: boolean): LogOutcome {
    const { tree, failed } = this.#input;
    return {
      mismatch: this.#mismatch,
      guessedAddressCount: assignWithoutLog(tree, failed),
      hasDroppedLogMessages: this.#mismatch !== null || this.#isLogStrangelyEmpty(),
      isTruncated: false,
      isLogMissing,
      skippedLineCount: 0,
      silentCallCount: 0,
    };
  }

  #hasRun(): boolean {
    return this.#input.failed >= 0 && this.#input.tree.calls.length > 0;
  }

  /** Returns whether the log is empty although a program ran that usually prints lines. */
  #isLogStrangelyEmpty(): boolean {
    if (this.#lines.length > 0) return false;
    const { tree, failed } = this.#input;
    const ranEnd = tree.starts[Math.min(failed + 1, tree.starts.length - 1)] as number;
    for (let k = 0; k < ranEnd; k++) {
      if (!this.#excusedPrograms.has((tree.calls[k] as Call).programId)) return true;
    }
    return false;
  }

  #walk(): boolean {
    const { tree, failed } = this.#input;
    for (let top = 0; top + 1 < tree.starts.length; top++) {
      this.#top = top;
      this.#first = tree.starts[top] as number;
      this.#end = tree.starts[top + 1] as number;
      this.#next = this.#first;
      if (top > failed) {
        if (this.#end - this.#first > 1) return this.#contradict('inner-after-failure');
        this.#assign(this.#first, 1, false);
      } else if (!this.#call(1) || !this.#assignRest()) {
        return false;
      }
    }
    const isRead =
      this.#cursor === this.#lines.length || this.#lines[this.#cursor] === 'Log truncated';
    return isRead || this.#contradict('lines-left');
  }

  /** Assigns addresses to calls without lines: those after a truncation, and the calls of a silent program. */
  #assignRest(): boolean {
    while (this.#next < this.#end) {
      if (!this.#assignNext(this.#next === this.#first ? 1 : this.#heightOr(2))) return false;
    }
    return true;
  }

  #call(height: number): boolean {
    const k = this.#next;
    if (k === this.#end) return this.#contradict('call-missing');
    const known = this.#input.tree.heights[k] as number;
    if (k > this.#first && known !== 0 && known !== height) {
      return this.#contradict('height-differs');
    }
    const { programId } = this.#callAt(k);
    const lineKind = this.#isInvokeOfNext(height) ? lineClass.invoke : this.#classify(programId);
    if (lineKind === lineClass.mark) return true;
    if (lineKind === lineClass.invoke && this.#isOf(programId)) {
      const line = this.#line;
      if (readDepth(line, idStart + programId.length) !== height) {
        return this.#contradict('depth-differs');
      }
      this.#cursor++;
      this.#next++;
      return this.#frame(k, height);
    }
    this.#next++;
    if (!this.#assign(k, height, true)) return false;
    this.#countSilent(k);
    this.#skipLines(programId);
    return true;
  }

  #skipLines(programId: string): void {
    for (; this.#classify(programId) <= lineClass.consumed; this.#cursor++) {
      this.#skippedLineCount++;
    }
  }

  #frame(k: number, height: number): boolean {
    if (!this.#assign(k, height, false)) return false;
    const call = this.#callAt(k);
    const { programId } = call;
    const { success } = programLines(programId);
    for (;;) {
      const found = this.#classifyInFrame(programId, success, height);
      switch (found) {
        case lineClass.log:
        case lineClass.data:
        case lineClass.other:
          this.#record(call, found);
          break;
        case lineClass.consumed:
          if (!this.#isOf(programId)) return this.#contradict('consumed-by-another');
          call.computeUnitsConsumed = readUnits(this.#line, idStart + programId.length);
          this.#cursor++;
          break;
        case lineClass.invoke:
          if (!this.#call(height + 1)) return false;
          break;
        case lineClass.mark:
          call.hasDroppedLogMessages = true;
          return true;
        case lineClass.end:
          return this.#contradict('ends-in-frame');
        default:
          return this.#result(call, height, found);
      }
    }
  }

  #result(call: Call, height: number, found: LineClass): boolean {
    const { programId } = call;
    if (!this.#isOf(programId)) return this.#contradict('result-of-another');
    if (found === lineClass.failed) {
      const line = this.#line;
      call.error = line.slice(idStart + programId.length + failedTextOffset);
    }
    this.#cursor++;
    // After a failure nothing else runs, so calls of unknown height were made by this one.
    const unknown = call.error === null ? 2 : height + 1;
    while (this.#next < this.#end) {
      const next = this.#heightOr(unknown);
      if (next <= height) break;
      this.#countSilent(this.#next);
      if (!this.#assignNext(next)) return false;
    }
    return true;
  }

  #record(call: Call, found: LineClass): void {
    const line = this.#line;
    let kind: LogKind = 'log';
    let message = line;
    if (found === lineClass.log) {
      message = line.slice(logTextStart);
    } else if (found === lineClass.data) {
      kind = 'data';
      message = line.slice(dataTextStart);
    } else {
      kind = 'other';
    }
    this.#logs.push({
      transactionIndex: this.#input.transactionIndex,
      logIndex: this.#cursor,
      instructionAddress: call.instructionAddress,
      programId: call.programId,
      kind,
      message,
    });
    this.#cursor++;
  }

  #callAt(index: number): Call {
    return this.#input.tree.calls[index] as Call;
  }

  /** The line at the cursor, which must not be at the end. */
  get #line(): string {
    return this.#lines[this.#cursor] as string;
  }

  /** Like `#classify`, but checks the most frequent lines first. */
  #classifyInFrame(programId: string, success: string, height: number): LineClass {
    if (this.#cursor === this.#lines.length) return lineClass.end;
    const line = this.#line;
    // No ID begins with `l`, which is not a base58 character.
    if (line.charCodeAt(idStart) === 0x6c && line.startsWith('Program log: ')) return lineClass.log;
    if (line === success) return lineClass.success;
    if (this.#isInvokeOfNext(height + 1)) return lineClass.invoke;
    return classifyLine(line, programId);
  }

  /** Returns whether the current line is the invoke line of the next call at this height. */
  #isInvokeOfNext(height: number): boolean {
    if (this.#next === this.#end || this.#cursor === this.#lines.length) return false;
    const { programId } = this.#callAt(this.#next);
    return this.#lines[this.#cursor] === programLines(programId).invoke[height];
  }

  #classify(likely: string): LineClass {
    if (this.#cursor === this.#lines.length) return lineClass.end;
    return classifyLine(this.#line, likely);
  }

  /** Returns whether the current line, which contains a program ID, contains this one. */
  #isOf(programId: string): boolean {
    const line = this.#line;
    return (
      line.startsWith(programId, idStart) && line.charCodeAt(idStart + programId.length) === 0x20
    );
  }

  /** Returns the height of the next call, or the assumed one if it is unknown. */
  #heightOr(assumed: number): number {
    const known = this.#input.tree.heights[this.#next] as number;
    return known === 0 ? assumed : known;
  }

  /** Assigns an address to a call without lines. */
  #assignNext(height: number): boolean {
    const k = this.#next++;
    const isGuess = k > this.#first && this.#input.tree.heights[k] === 0;
    if (isGuess) this.#guessedAddressCount++;
    return this.#assign(k, height, true);
  }

  #assign(k: number, height: number, hasDropped: boolean): boolean {
    const address = k === this.#first ? [this.#top] : nextAddress(this.#previous, height);
    if (address === undefined) return this.#contradict('level-skipped');
    const call = this.#callAt(k);
    call.instructionAddress = address;
    call.hasDroppedLogMessages = hasDropped;
    this.#previous = address;
    return true;
  }

  #countSilent(k: number): void {
    const { tree, failed, failedBeforeInvoke } = this.#input;
    if (this.#excusedPrograms.has((tree.calls[k] as Call).programId)) return;
    const isLastOfFailed = this.#top === failed && k === this.#end - 1;
    if (!(failedBeforeInvoke && isLastOfFailed)) this.#silentCallCount++;
  }

  #contradict(mismatch: LogMismatch): false {
    this.#mismatch = mismatch;
    return false;
  }
}

/**
 * The lines that a call of a program usually prints. Comparing whole texts is several times faster than parsing a line, which is
 * only done for other lines.
 */
interface ProgramLines {
  readonly success: string;
  /** The invoke line for each height. */
  readonly invoke: readonly string[];
}

/** A transaction nests calls at most five deep today; a limit of nine is announced. */
const heightMax = 9;
/** A block has about seventy programs, a ledger some thousands. */
const programCountMax = 4096;

const known = new Map<string, ProgramLines>();

function programLines(programId: string): ProgramLines {
  let lines = known.get(programId);
  if (lines === undefined) {
    if (known.size >= programCountMax) known.clear();
    lines = {
      success: `Program ${programId} success`,
      invoke: Array.from({ length: heightMax + 1 }, (_, i) => `Program ${programId} invoke [${i}]`),
    };
    known.set(programId, lines);
  }
  return lines;
}
