import { RECORD_ARRAY_NAMES, RECORD_ARRAYS, type RecordArray } from '@sluice/protocol/field-table';
import type { Selection } from '../query/query.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { GroupColumns } from './group-columns.ts';
import { MARK_BITS, type SelectedGroup } from './group-selection.ts';
import { STEPS, type Step } from './steps.ts';

const stepBytes = 64;
const kindBytes = 32;
const textBytesMax = 32;

/** The programs by which the kernel writes each kind, for one query. */
export class RecordPrograms {
  readonly kinds: number;
  readonly #kernel: EngineKernel;
  readonly #selection: Selection;
  readonly #steps: Readonly<Record<RecordArray, readonly Step[]>>;
  readonly #stepsAt: Readonly<Record<RecordArray, number>>;
  readonly #base: number;
  readonly #lookupTable: number;

  constructor(selection: Selection, kernel: EngineKernel) {
    this.#kernel = kernel;
    this.#selection = selection;
    const counts = RECORD_ARRAY_NAMES.map((array) => selection.fields[RECORD_ARRAYS[array]].length);
    const total = counts.reduce((sum, count) => sum + count, 0);
    const textsAt = RECORD_ARRAY_NAMES.length * kindBytes;
    const stepsAt = textsAt + RECORD_ARRAY_NAMES.length * textBytesMax;
    this.#base = kernel.allocate(stepsAt + total * stepBytes + 32);
    kernel.bytes.fill(0, this.#base, this.#base + stepsAt + total * stepBytes + 32);
    this.kinds = this.#base;
    this.#lookupTable = this.#base + stepsAt + total * stepBytes;
    let next = this.#base + stepsAt;
    const places: [RecordArray, number][] = [];
    const steps: [RecordArray, Step[]][] = [];
    RECORD_ARRAY_NAMES.forEach((array, number) => {
      places.push([array, next]);
      steps.push([array, this.#writeSteps(array, next)]);
      const text = bytesOf(`,"${array}":[`);
      const textAt = this.#base + textsAt + number * textBytesMax;
      kernel.bytes.set(text, textAt);
      const kind = [next, counts[number] as number, 0, 0, textAt, text.length, MARK_BITS[array]];
      kernel.ints.set(kind, (this.#base + number * kindBytes) / 4);
      next += (counts[number] as number) * stepBytes;
    });
    this.#stepsAt = Object.fromEntries(places) as Record<RecordArray, number>;
    this.#steps = Object.fromEntries(steps) as unknown as Record<RecordArray, Step[]>;
  }

  release(): void {
    this.#kernel.release(this.#base);
  }

  /** Fills in where this group's columns are, for the kinds that have selected rows. */
  bind(columns: GroupColumns, selected: SelectedGroup): void {
    const context = { dialect: this.#selection.dialect, lookupTable: this.#lookupTable };
    RECORD_ARRAY_NAMES.forEach((array, number) => {
      const kind = (this.#base + number * kindBytes) / 4;
      const flags = selected.flags[array];
      const starts = flags === 0 ? 0 : startsOf(columns, array);
      this.#kernel.ints[kind + 2] = flags;
      this.#kernel.ints[kind + 3] = starts;
      if (flags === 0) return;
      this.#steps[array].forEach((step, i) => {
        const { p0, w0, p1 = 0, w1 = 0, p2 = 0, p3 = 0 } = step.bind(columns, context);
        const { ints } = this.#kernel;
        const at = (this.#stepsAt[array] + i * stepBytes) / 4;
        ints[at + 2] = p0;
        ints[at + 3] = p1;
        ints[at + 4] = w0;
        ints[at + 5] = p2;
        ints[at + 6] = w1;
        ints[at + 7] = p3;
      });
    });
  }

  #writeSteps(array: RecordArray, at: number): Step[] {
    const kind = RECORD_ARRAYS[array];
    const table: Readonly<Record<string, Step>> = STEPS[kind];
    return this.#selection.fields[kind].map((name, i) => {
      const step = table[name] as Step;
      const text = bytesOf(`${i === 0 ? '' : ','}"${name}":`);
      const { ints, bytes } = this.#kernel;
      ints.set([step.code, text.length], (at + i * stepBytes) / 4);
      bytes.set(text, at + i * stepBytes + 32);
      return step;
    });
  }
}

const encoder = new TextEncoder();
const known = new Map<string, Uint8Array>();

/** The names of fields and arrays are few, and every run over a segment writes them. */
function bytesOf(text: string): Uint8Array {
  let bytes = known.get(text);
  if (bytes === undefined) {
    bytes = encoder.encode(text);
    known.set(text, bytes);
  }
  return bytes;
}

function startsOf(columns: GroupColumns, array: RecordArray): number {
  switch (array) {
    case 'transactions':
    case 'rewards':
      return 0;
    case 'instructions':
      return columns.made('instructionStarts').at;
    case 'logs':
      return columns.made('logStarts').at;
    case 'balances':
      return columns.made('balanceStarts').at;
    case 'tokenBalances':
      return columns.made('tokenBalanceStarts').at;
  }
}
