import type { IdlRegistry } from '@sluice/decode/idl-registry';
import * as layout from '@sluice/kernels/layout/writing';
import { RECORD_ARRAY_NAMES, RECORD_ARRAYS, type RecordArray } from '@sluice/protocol/field-table';
import { mapKeys } from '@sluice/protocol/typed-keys';
import type { Selection } from '../query/query.ts';
import type { EngineKernel } from './engine-kernel.ts';
import type { GroupColumns } from './group-columns.ts';
import { MARK_BITS, type SelectedGroup } from './group-selection.ts';

import { RowDecoder } from './row-decoder.ts';
import { Scratch } from './scratch.ts';
import { STEPS, type Step, type StepContext } from './steps.ts';

const textBytesMax = layout.STEP_LABEL_BYTES;
const noStarts = mapKeys(RECORD_ARRAY_NAMES, () => 0);
const noSteps = mapKeys(RECORD_ARRAY_NAMES, (): readonly Step[] => []);

/** For each kind of record, the list of steps with which the kernel writes its fields, for one query. */
export class RecordPrograms {
  readonly kinds: number;
  readonly #kernel: EngineKernel;
  readonly #selection: Selection;
  readonly #idls: IdlRegistry;
  readonly #steps: Readonly<Record<RecordArray, readonly Step[]>>;
  readonly #stepsAt: Readonly<Record<RecordArray, number>>;
  readonly #base: number;
  readonly #lookupTable: number;
  /** Memory of the decoder. */
  readonly #scratch: Scratch;
  #decoder: RowDecoder | undefined;

  constructor(selection: Selection, kernel: EngineKernel, idls: IdlRegistry) {
    this.#idls = idls;
    this.#kernel = kernel;
    this.#scratch = new Scratch(kernel);
    this.#selection = selection;
    let total = 0;
    for (const array of RECORD_ARRAY_NAMES) total += fieldCount(selection, array);
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
    const starts = { ...noStarts };
    const steps = { ...noSteps };
    for (const [number, array] of RECORD_ARRAY_NAMES.entries()) {
      starts[array] = next;
      steps[array] = this.#writeSteps(array, next);
      const text = bytesOf(`,"${array}":[`);
      const textAt = this.#base + textsAt + number * textBytesMax;
      kernel.bytes.set(text, textAt);
      const kind = this.#base + number * layout.KIND_BYTES;
      const count = fieldCount(selection, array);
      kernel.ints[(kind + layout.KIND_STEPS) / 4] = next;
      kernel.ints[(kind + layout.KIND_STEP_COUNT) / 4] = count;
      kernel.ints[(kind + layout.KIND_LABEL) / 4] = textAt;
      kernel.ints[(kind + layout.KIND_LABEL_LENGTH) / 4] = text.length;
      kernel.ints[(kind + layout.KIND_MARK) / 4] = MARK_BITS[array];
      next += count * layout.STEP_BYTES;
    }
    this.#stepsAt = starts;
    this.#steps = steps;
  }

  release(): void {
    this.#kernel.release(this.#base);
    this.#scratch.release();
  }

  /** Provides what the kernel needs to decode the next row in a block. Returns whether it needed something. */
  provide(block: number): boolean {
    return this.#decoder?.provide(block) === true;
  }

  /** Fills in the addresses of this group's columns for the kinds with selected rows. */
  bind(columns: GroupColumns, selected: SelectedGroup): void {
    const setInt = (address: number, value: number) => {
      this.#kernel.ints[address / 4] = value;
    };
    this.#decoder?.begin(columns, selected);
    const context: StepContext = {
      dialect: this.#selection.dialect,
      lookupTable: this.#lookupTable,
      setInt,
      decode: (array) => {
        this.#decoder ??= new RowDecoder(columns, selected, this.#idls, this.#scratch);
        return this.#decoder.operands(array);
      },
    };
    let kind = this.#base;
    for (const array of RECORD_ARRAY_NAMES) {
      const flags = selected.flags[array];
      const starts = flags === 0 ? 0 : startsOf(columns, array);
      this.#kernel.ints[(kind + layout.KIND_FLAGS) / 4] = flags;
      this.#kernel.ints[(kind + layout.KIND_STARTS) / 4] = starts;
      if (flags !== 0) this.#bindSteps(array, columns, context);
      kind += layout.KIND_BYTES;
    }
  }

  #bindSteps(array: RecordArray, columns: GroupColumns, context: StepContext): void {
    let at = this.#stepsAt[array];
    for (const step of this.#steps[array]) {
      const { p0, w0, p1 = 0, w1 = 0, p2 = 0, p3 = 0 } = step.bind(columns, context);
      const { ints } = this.#kernel;
      ints[(at + layout.STEP_P0) / 4] = p0;
      ints[(at + layout.STEP_P1) / 4] = p1;
      ints[(at + layout.STEP_W0) / 4] = w0;
      ints[(at + layout.STEP_P2) / 4] = p2;
      ints[(at + layout.STEP_W1) / 4] = w1;
      ints[(at + layout.STEP_P3) / 4] = p3;
      at += layout.STEP_BYTES;
    }
  }

  #writeSteps(array: RecordArray, at: number): Step[] {
    const kind = RECORD_ARRAYS[array];
    return this.#selection.fields[kind].map((name, i) => {
      const step = STEPS[kind][name] as Step;
      const text = bytesOf(`${i === 0 ? '' : ','}"${name}":`);
      const { ints, bytes } = this.#kernel;
      const entry = at + i * layout.STEP_BYTES;
      ints[(entry + layout.STEP_CODE) / 4] = step.code;
      ints[(entry + layout.STEP_TEXT_LENGTH) / 4] = text.length;
      bytes.set(text, entry + layout.STEP_LABEL);
      return step;
    });
  }
}

function fieldCount({ fields }: Selection, array: RecordArray): number {
  return fields[RECORD_ARRAYS[array]].length;
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

/** Returns the address of the first row of each transaction, or 0 if the rows of an array do not belong to transactions. */
export function startsOf(columns: GroupColumns, array: RecordArray): number {
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
