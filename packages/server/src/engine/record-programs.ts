import { RECORD_ARRAY_NAMES, RECORD_ARRAYS, type RecordArray } from '@sluice/protocol/field-table';
import { mapKeys } from '@sluice/protocol/typed-keys';
import * as layout from '../kernels/layout/writing.ts';
import type { Selection } from '../query/query.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { GroupColumns } from './group-columns.ts';
import { MARK_BITS, type SelectedGroup } from './group-selection.ts';
import { STEPS, type Step } from './steps.ts';

const textBytesMax = layout.STEP_LABEL_BYTES;

/** For each kind of record, the list of steps with which the kernel writes its fields, for one query. */
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
    const countOf = (array: RecordArray) => selection.fields[RECORD_ARRAYS[array]].length;
    const total = RECORD_ARRAY_NAMES.reduce((sum, array) => sum + countOf(array), 0);
    const textsAt = RECORD_ARRAY_NAMES.length * layout.KIND_BYTES;
    const stepsAt = textsAt + RECORD_ARRAY_NAMES.length * textBytesMax;
    this.#base = kernel.allocate(stepsAt + total * layout.STEP_BYTES + layout.LOOKUPS_BYTES);
    kernel.bytes.fill(
      0,
      this.#base,
      this.#base + stepsAt + total * layout.STEP_BYTES + layout.LOOKUPS_BYTES,
    );
    this.kinds = this.#base;
    this.#lookupTable = this.#base + stepsAt + total * layout.STEP_BYTES;
    let next = this.#base + stepsAt;
    const places = mapKeys(RECORD_ARRAY_NAMES, () => 0);
    const steps = mapKeys(RECORD_ARRAY_NAMES, (): readonly Step[] => []);
    RECORD_ARRAY_NAMES.forEach((array, number) => {
      places[array] = next;
      steps[array] = this.#writeSteps(array, next);
      const text = bytesOf(`,"${array}":[`);
      const textAt = this.#base + textsAt + number * textBytesMax;
      kernel.bytes.set(text, textAt);
      const kind = this.#base + number * layout.KIND_BYTES;
      kernel.ints[(kind + layout.KIND_STEPS) / 4] = next;
      kernel.ints[(kind + layout.KIND_STEP_COUNT) / 4] = countOf(array);
      kernel.ints[(kind + layout.KIND_LABEL) / 4] = textAt;
      kernel.ints[(kind + layout.KIND_LABEL_LENGTH) / 4] = text.length;
      kernel.ints[(kind + layout.KIND_MARK) / 4] = MARK_BITS[array];
      next += countOf(array) * layout.STEP_BYTES;
    });
    this.#stepsAt = places;
    this.#steps = steps;
  }

  release(): void {
    this.#kernel.release(this.#base);
  }

  /** Fills in the addresses of this group's columns for the kinds with selected rows. */
  bind(columns: GroupColumns, selected: SelectedGroup): void {
    const setInt = (address: number, value: number) => {
      this.#kernel.ints[address / 4] = value;
    };
    const context = { dialect: this.#selection.dialect, lookupTable: this.#lookupTable, setInt };
    RECORD_ARRAY_NAMES.forEach((array, number) => {
      const kind = this.#base + number * layout.KIND_BYTES;
      const flags = selected.flags[array];
      const starts = flags === 0 ? 0 : startsOf(columns, array);
      this.#kernel.ints[(kind + layout.KIND_FLAGS) / 4] = flags;
      this.#kernel.ints[(kind + layout.KIND_STARTS) / 4] = starts;
      if (flags === 0) return;
      this.#steps[array].forEach((step, i) => {
        const { p0, w0, p1 = 0, w1 = 0, p2 = 0, p3 = 0 } = step.bind(columns, context);
        const { ints } = this.#kernel;
        const at = this.#stepsAt[array] + i * layout.STEP_BYTES;
        ints[(at + layout.STEP_P0) / 4] = p0;
        ints[(at + layout.STEP_P1) / 4] = p1;
        ints[(at + layout.STEP_W0) / 4] = w0;
        ints[(at + layout.STEP_P2) / 4] = p2;
        ints[(at + layout.STEP_W1) / 4] = w1;
        ints[(at + layout.STEP_P3) / 4] = p3;
      });
    });
  }

  #writeSteps(array: RecordArray, at: number): Step[] {
    const kind = RECORD_ARRAYS[array];
    return this.#selection.fields[kind].map((name, i) => {
      const step = STEPS[kind][name] as Step;
      const text = bytesOf(`${i === 0 ? '' : ','}"${name}":`);
      const { ints, bytes } = this.#kernel;
      const own = at + i * layout.STEP_BYTES;
      ints[(own + layout.STEP_CODE) / 4] = step.code;
      ints[(own + layout.STEP_TEXT_LENGTH) / 4] = text.length;
      bytes.set(text, own + layout.STEP_LABEL);
      return step;
    });
  }
}

const encoder = new TextEncoder();
const known = new Map<string, Uint8Array>();

/** Cached, because the names of fields and arrays are few and every run writes them. */
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
