/**
 * What a transaction's calls print, line by line, with the node's own limit: a line is kept while the bytes so far and its
 * own stay below 10,000; the first that does not fit leaves a mark, once, and shorter ones that fit still follow.
 */
import type { Random } from '../../base/random.ts';
import type { CallDraft } from './call-draft.ts';
import { Quantiles } from './distributions.ts';
import { drawLine } from './program.ts';
import type { LogLine, SimulatedLog } from './simulated-block.ts';

const LOG_BYTES_END = 10_000;
const MARK: LogLine = { role: 'mark', text: 'Log truncated', call: null };
/** An instruction may use this many unless the transaction asks for more. */
const UNITS_PER_INSTRUCTION = 200_000;

/** Addresses of the node's own programs end in many ones. */
const NATIVE_END = /1{10}$/;

const BASE64 = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
/** Groups of four characters, three bytes each. */
const DATA_GROUP_COUNT = new Quantiles([
  [0, 8],
  [0.5, 36],
  [0.9, 60],
  [1, 110],
]);
const dataScratch = Buffer.alloc(512);

export interface PrintOptions {
  readonly isStress: boolean;
}

export class LogPrinter {
  readonly #random: Random;
  readonly #isStress: boolean;
  readonly #lines: LogLine[] = [];
  #byteCount = 0;
  #markIndex = -1;
  #isPlain: boolean;
  #unitsLeft = 0;

  constructor(random: Random, options: PrintOptions) {
    this.#random = random;
    this.#isStress = options.isStress;
    this.#isPlain = !options.isStress;
  }

  print(calls: readonly CallDraft[]): SimulatedLog {
    let total = 0;
    for (const call of calls) if (call.ran) total += drawUnits(call, this.#random);
    const asked = Math.ceil((total * 1.2) / 1000) * 1000;
    this.#unitsLeft = Math.max(asked, calls.length * UNITS_PER_INSTRUCTION);
    for (const call of calls) if (call.ran) this.#printCall(call);
    return {
      form: 'modern',
      lines: this.#lines,
      markIndex: this.#markIndex === -1 ? this.#lines.length : this.#markIndex,
      isPlain: this.#isPlain,
    };
  }

  #printCall(call: CallDraft): void {
    if (!call.prints) {
      this.#unitsLeft -= call.units;
      return;
    }
    const { program, kind } = call;
    const { text } = program;
    const unitsAtStart = this.#unitsLeft;
    this.#keep({ role: 'invoke', text: text.invoke[call.depth] as string, call });
    if (kind.opening !== undefined) this.#log(`Program log: ${kind.opening}`, call);
    this.#printBody(call);
    if (call.lament !== null) {
      if (call.lament.role === 'log') this.#log(`Program log: ${call.lament.text}`, call);
      else this.#keep({ role: 'other', text: call.lament.text, call });
    }
    if (!program.isNative) {
      const consumed = `${text.consumed}${call.units} of ${unitsAtStart} compute units`;
      this.#keep({ role: 'consumed', text: consumed, call });
      if (call.failure === null) this.#printReturn(call);
    }
    this.#unitsLeft = unitsAtStart - call.units;
    if (call.failure === null) this.#keep({ role: 'success', text: text.success, call });
    else this.#keep({ role: 'failed', text: text.failed + call.failure, call });
  }

  /** Its own lines, some before the calls it makes and some after. */
  #printBody(call: CallDraft): void {
    const { program } = call;
    const isEvent = call.kind === program.event;
    const lineCount = isEvent ? 0 : program.lineCount.draw(this.#random);
    const before = call.calls.length === 0 ? lineCount : (lineCount + 1) >> 1;
    this.#printLines(call, before);
    if (this.#isStress) this.#printOddities(call);
    for (const inner of call.calls) this.#printCall(inner);
    if (call.kind.remark !== undefined) this.#log(`Program log: ${call.kind.remark}`, call);
    this.#printLines(call, lineCount - before);
    if (isEvent || program.dataRate === 0) return;
    const dataCount = Math.floor(program.dataRate + this.#random.unit());
    for (let i = 0; i < dataCount; i++) {
      this.#keep({ role: 'data', text: `Program data: ${drawBase64(this.#random)}`, call });
    }
  }

  #printLines(call: CallDraft, count: number): void {
    const { lines } = call.program;
    for (let i = 0; i < count; i++) {
      this.#log(`Program log: ${drawLine(this.#random.pick(lines), this.#random)}`, call);
    }
  }

  #printReturn(call: CallDraft): void {
    const { program, kind } = call;
    if (kind.returns !== undefined) {
      this.#keep({ role: 'other', text: program.text.returned + kind.returns, call });
    } else if (program.returnRate > 0 && this.#random.chance(program.returnRate)) {
      const value = `${drawBase64(this.#random).slice(0, 11)}=`;
      this.#keep({ role: 'other', text: program.text.returned + value, call });
    }
  }

  #printOddities(call: CallDraft): void {
    const random = this.#random;
    if (call.program.isNative || !random.chance(0.25)) return;
    const id = call.programId;
    const odd = random.pick([
      'Program log: ',
      'Program log:  two  spaces ',
      'Program log: Log truncated',
      `Program log: Program ${id} success`,
      `Program log: Program ${id} invoke [1]`,
      `Program log: Program ${id} failed: custom program error: 0x1`,
      `Program log: first line\nProgram ${id} success\rthird\u2028fourth`,
      'Program log: "quoted" \\ back\tslash \u0000\u001f\u007f',
      'Program log: \u{1f30a} sluice é 水',
      `Program consumption: ${random.below(200_000)} units remaining`,
      'Program data: \n',
      'Program data: ',
      'Program is not a known form',
      `Program ${id} consumed nothing at all`,
      `Program log: ${'x'.repeat(random.between(1000, 6000))}`,
      `Program log: ${'y'.repeat(random.between(9000, 9999))}`,
    ]);
    const role = odd.startsWith('Program log: ')
      ? 'log'
      : odd.startsWith('Program data: ')
        ? 'data'
        : 'other';
    this.#keep({ role, text: odd, call });
  }

  #log(text: string, call: CallDraft): void {
    this.#keep({ role: 'log', text, call });
  }

  #keep(line: LogLine): void {
    // Without oddities all lines are ASCII, a byte a character.
    const size = this.#isPlain ? line.text.length : Buffer.byteLength(line.text);
    if (this.#byteCount + size < LOG_BYTES_END) {
      this.#byteCount += size;
      this.#lines.push(line);
    } else if (this.#markIndex === -1) {
      this.#markIndex = this.#lines.length;
      this.#lines.push(MARK);
    }
  }
}

/** The same run as the nodes of 2020 told it: only loaded programs, and in words of their own. */
export function printOldForm(log: SimulatedLog): SimulatedLog {
  const lines: LogLine[] = [];
  for (const line of log.lines) {
    const { call, role, text } = line;
    if (call === null || NATIVE_END.test(call.programId)) continue;
    if (role === 'invoke')
      lines.push({ role: 'other', text: `Call BPF program ${call.programId}`, call });
    else if (role === 'log') lines.push(line);
    else if (role === 'success' || role === 'failed') {
      lines.push({ role: 'other', text: `BPF program${text.slice('Program'.length)}`, call });
    }
  }
  return { ...log, form: 'old', lines, markIndex: lines.length };
}

function drawUnits(call: CallDraft, random: Random): number {
  let units = call.prints ? call.kind.units.draw(random) : 0;
  for (const inner of call.calls) units += drawUnits(inner, random);
  call.units = units;
  return units;
}

function drawBase64(random: Random): string {
  const count = DATA_GROUP_COUNT.draw(random) * 4;
  for (let at = 0; at < count; at += 4) {
    const word = random.uint32();
    dataScratch[at] = BASE64[word & 63] as number;
    dataScratch[at + 1] = BASE64[(word >>> 6) & 63] as number;
    dataScratch[at + 2] = BASE64[(word >>> 12) & 63] as number;
    dataScratch[at + 3] = BASE64[(word >>> 18) & 63] as number;
  }
  return dataScratch.toString('latin1', 0, count);
}
