/**
 * What a transaction's calls print, line by line, with the node's own limit: a line is kept while the bytes so far and its
 * own stay below 10,000; the first that does not fit leaves a mark, once, and shorter ones that fit still follow.
 */
import type { Random } from '../../base/random.ts';
import { type CallDraft, flattenCalls } from './call-draft.ts';
import { Quantiles } from './distributions.ts';
import { drawLine } from './program.ts';
import type { LogLine, SimulatedLog } from './simulated-block.ts';
import { HEADER_BYTES, type PooledText, type TextPool, type TextRegion } from './text-pool.ts';

const LOG_BYTES_END = 10_000;
const MARK: LogLine = { role: 'mark', text: 'Log truncated', caller: -1 };
/** An instruction may use this many unless the transaction asks for more. */
const UNITS_PER_INSTRUCTION = 200_000;

const DATA_PREFIX = 'Program data: ';
const BASE64 = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
/** Both characters of every 12 bits, low bits first. */
const BASE64_PAIRS = new Uint16Array(4096);
for (let i = 0; i < BASE64_PAIRS.length; i++) {
  BASE64_PAIRS[i] = (BASE64[i & 63] as number) | ((BASE64[i >> 6] as number) << 8);
}
/** Groups of four characters, three bytes each. */
const DATA_GROUP_COUNT = new Quantiles([
  [0, 8],
  [0.5, 36],
  [0.9, 60],
  [1, 110],
]);
const DATA_GROUP_COUNT_MAX = 110;
const groups = new Int32Array(DATA_GROUP_COUNT_MAX);
const groupBytes = Buffer.from(groups.buffer);

/** A log as it was printed, before it is anywhere in a pool. */
export interface PrintedLog {
  readonly form: 'modern' | 'old';
  readonly lines: readonly LogLine[];
  readonly markIndex: number;
  /** The lines as a JSON array. */
  readonly text: string;
  /** Whether that text is ASCII. */
  readonly isPlain: boolean;
}

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
  /** How many calls were met so far; each has its number. */
  #callCount = 0;

  constructor(random: Random, options: PrintOptions) {
    this.#random = random;
    this.#isStress = options.isStress;
    this.#isPlain = !options.isStress;
  }

  print(calls: readonly CallDraft[]): PrintedLog {
    let total = 0;
    for (const call of calls) if (call.ran) total += drawUnits(call, this.#random);
    const asked = Math.ceil((total * 1.2) / 1000) * 1000;
    this.#unitsLeft = Math.max(asked, calls.length * UNITS_PER_INSTRUCTION);
    for (const call of calls) this.#printCall(call);
    return {
      form: 'modern',
      lines: this.#lines,
      markIndex: this.#markIndex === -1 ? this.#lines.length : this.#markIndex,
      text: printLines(this.#lines, this.#isPlain),
      isPlain: this.#isPlain,
    };
  }

  #printCall(call: CallDraft): void {
    const caller = this.#callCount++;
    if (!call.prints) {
      this.#unitsLeft -= call.units;
      return;
    }
    const { program, kind } = call;
    const { text } = program;
    const unitsAtStart = this.#unitsLeft;
    this.#keep({ role: 'invoke', text: text.invoke[call.depth] as string, caller });
    if (kind.opening !== undefined) this.#log(`Program log: ${kind.opening}`, caller);
    this.#printBody(call, caller);
    if (call.lament !== null) {
      if (call.lament.role === 'log') this.#log(`Program log: ${call.lament.text}`, caller);
      else this.#keep({ role: 'other', text: call.lament.text, caller });
    }
    if (!program.isNative) {
      const consumed = `${text.consumed}${call.units} of ${unitsAtStart} compute units`;
      this.#keep({ role: 'consumed', text: consumed, caller });
      if (call.failure === null) this.#printReturn(call, caller);
    }
    this.#unitsLeft = unitsAtStart - call.units;
    if (call.failure === null) this.#keep({ role: 'success', text: text.success, caller });
    else this.#keep({ role: 'failed', text: text.failed + call.failure, caller });
  }

  /** Its own lines, some before the calls it makes and some after. */
  #printBody(call: CallDraft, caller: number): void {
    const { program } = call;
    const isEvent = call.kind === program.event;
    const lineCount = isEvent ? 0 : program.lineCount.draw(this.#random);
    const before = call.calls.length === 0 ? lineCount : (lineCount + 1) >> 1;
    this.#printLines(call, caller, before);
    if (this.#isStress) this.#printOddities(call, caller);
    for (const inner of call.calls) this.#printCall(inner);
    if (call.kind.remark !== undefined) this.#log(`Program log: ${call.kind.remark}`, caller);
    this.#printLines(call, caller, lineCount - before);
    if (isEvent || program.dataRate === 0) return;
    const dataCount = Math.floor(program.dataRate + this.#random.unit());
    for (let i = 0; i < dataCount; i++) {
      this.#keep({ role: 'data', text: DATA_PREFIX + drawBase64(this.#random), caller });
    }
  }

  #printLines(call: CallDraft, caller: number, count: number): void {
    const { lines } = call.program;
    for (let i = 0; i < count; i++) {
      this.#log(`Program log: ${drawLine(this.#random.pick(lines), this.#random)}`, caller);
    }
  }

  #printReturn(call: CallDraft, caller: number): void {
    const { program, kind } = call;
    if (kind.returns !== undefined) {
      this.#keep({ role: 'other', text: program.text.returned + kind.returns, caller });
    } else if (program.returnRate > 0 && this.#random.chance(program.returnRate)) {
      const value = `${drawBase64(this.#random).slice(0, 11)}=`;
      this.#keep({ role: 'other', text: program.text.returned + value, caller });
    }
  }

  #printOddities(call: CallDraft, caller: number): void {
    const random = this.#random;
    if (call.program.isNative || !random.chance(0.25)) return;
    const { id } = call.program;
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
    this.#keep({ role, text: odd, caller });
  }

  #log(text: string, caller: number): void {
    this.#keep({ role: 'log', text, caller });
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
export function printOldForm(log: PrintedLog, calls: readonly CallDraft[]): PrintedLog {
  const callers = flattenCalls(calls);
  const lines: LogLine[] = [];
  for (const { caller, role, text } of log.lines) {
    const program = callers[caller]?.program;
    if (program === undefined || program.isNative) continue;
    if (role === 'invoke')
      lines.push({ role: 'other', text: `Call BPF program ${program.id}`, caller });
    else if (role === 'log') lines.push({ role, text, caller });
    else if (role === 'success' || role === 'failed') {
      lines.push({ role: 'other', text: `BPF program${text.slice('Program'.length)}`, caller });
    }
  }
  return {
    ...log,
    form: 'old',
    lines,
    markIndex: lines.length,
    text: printLines(lines, log.isPlain),
  };
}

/** The log as one piece. */
export function poolLog(
  { form, lines, markIndex, text }: PrintedLog,
  region: TextRegion,
): SimulatedLog {
  return { form, lines, markIndex, pieces: [region.add(text)] };
}

/** A log whose `Program data:` can be drawn again without printing the rest again. */
export class LogTemplate {
  readonly #pool: TextPool;
  readonly #log: SimulatedLog;
  readonly #changes: readonly DataChange[];

  constructor(log: PrintedLog, pool: TextPool) {
    this.#pool = pool;
    const changes: DataChange[] = [];
    let start = 0;
    log.lines.forEach(({ role, text }, place) => {
      if (role !== 'data') return;
      const at = log.text.indexOf(text, start) + DATA_PREFIX.length;
      const before = pool.lasting.add(log.text.slice(start, at));
      start = at + text.length - DATA_PREFIX.length;
      changes.push({ place, before, groupCount: (text.length - DATA_PREFIX.length) >> 2 });
    });
    this.#changes = changes;
    this.#log = poolLog({ ...log, text: log.text.slice(start) }, pool.lasting);
  }

  /** The new data is as long as the old, so that the same lines fit. */
  draw(random: Random): SimulatedLog {
    if (this.#changes.length === 0) return this.#log;
    const pieces: PooledText[] = [];
    for (const { before, groupCount } of this.#changes) {
      pieces.push(before);
      const data = this.#pool.passing.open(groupCount * 4);
      drawGroups(groupCount, random, this.#pool.words, (data + HEADER_BYTES) >> 2);
      pieces.push(data);
    }
    pieces.push(this.#log.pieces[0] as PooledText);
    return new DrawnLog(this.#log, pieces, { pool: this.#pool, changes: this.#changes });
  }
}

/** A line whose data is drawn again: its place, the log's text up to its data, and how long that is. */
interface DataChange {
  readonly place: number;
  readonly before: PooledText;
  readonly groupCount: number;
}

/** Most logs are only printed, so the lines are made when somebody asks. */
class DrawnLog implements SimulatedLog {
  readonly form: SimulatedLog['form'];
  readonly markIndex: number;
  readonly pieces: readonly PooledText[];
  readonly #oldLines: readonly LogLine[];
  readonly #pool: TextPool;
  readonly #changes: readonly DataChange[];

  constructor(
    old: SimulatedLog,
    pieces: readonly PooledText[],
    drawn: { readonly pool: TextPool; readonly changes: readonly DataChange[] },
  ) {
    this.form = old.form;
    this.markIndex = old.markIndex;
    this.pieces = pieces;
    this.#oldLines = old.lines;
    this.#pool = drawn.pool;
    this.#changes = drawn.changes;
  }

  get lines(): readonly LogLine[] {
    const lines = this.#oldLines.slice();
    this.#changes.forEach(({ place }, i) => {
      const { caller } = lines[place] as LogLine;
      const data = this.#pool.read(this.pieces[i * 2 + 1] as PooledText);
      lines[place] = { role: 'data', text: DATA_PREFIX + data, caller };
    });
    return lines;
  }
}

/** Plain lines hold nothing that JSON would escape. */
function printLines(lines: readonly LogLine[], isPlain: boolean): string {
  const texts = lines.map((line) => line.text);
  return isPlain && texts.length > 0 ? `["${texts.join('","')}"]` : JSON.stringify(texts);
}

function drawUnits(call: CallDraft, random: Random): number {
  let units = call.prints ? call.kind.units.draw(random) : 0;
  for (const inner of call.calls) units += drawUnits(inner, random);
  call.units = units;
  return units;
}

function drawBase64(random: Random): string {
  const groupCount = DATA_GROUP_COUNT.draw(random);
  drawGroups(groupCount, random, groups, 0);
  return groupBytes.toString('latin1', 0, groupCount * 4);
}

/** Groups of four characters, a word each. */
function drawGroups(groupCount: number, random: Random, into: Int32Array, place: number): void {
  for (let i = 0; i < groupCount; i++) {
    const word = random.uint32();
    const low = BASE64_PAIRS[word & 4095] as number;
    into[place + i] = low | ((BASE64_PAIRS[(word >>> 12) & 4095] as number) << 16);
  }
}
