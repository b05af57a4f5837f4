/** The Arrow columns of the arguments and accounts of one instruction or event, by its IDL. */
import type { ArrowField, ArrowType, ColumnData } from '@sluice/arrow/arrow-type';
import { bytesOf, textBuffers, validityOf } from '@sluice/arrow/value-buffers';
import type { DataRange } from '@sluice/decode/data-range';
import { ColumnBuffer, type ValueType } from '@sluice/decode/typed-layout';
import type { DecodedLayout } from '../../query/query.ts';
import type { Pending } from './batch-memory.ts';

const ARROW_TYPES: Readonly<Record<ValueType, ArrowType>> = {
  uint32: { kind: 'int', bits: 32, isSigned: false },
  int32: { kind: 'int', bits: 32, isSigned: true },
  uint64: { kind: 'int', bits: 64, isSigned: false },
  int64: { kind: 'int', bits: 64, isSigned: true },
  boolean: { kind: 'bool' },
  text: { kind: 'utf8' },
};

/** Every column can be null: of rows that are another instruction, or that cannot be decoded. */
export function typedFields(
  { columns: { args, accounts }, isEvent, mints }: DecodedLayout,
  addressType: ArrowType,
): readonly ArrowField[] {
  const field = (name: string, type: ArrowType): ArrowField => ({ name, type, isNullable: true });
  return [
    ...(isEvent ? [field('event_index', ARROW_TYPES.uint32)] : []),
    ...args.map(({ name, type }) => field(`args_${name}`, ARROW_TYPES[type])),
    ...accounts.map((name) => field(`accounts_${name}`, addressType)),
    ...mints.map(({ head, name }) => field(`decimals_${head}_${name}`, ARROW_TYPES.uint32)),
    field('decoding_error', ARROW_TYPES.text),
  ];
}

/** The data of an event, its position among the events of its instruction, and that of the row of the instruction. */
export interface FoundEvent {
  readonly event: DataRange;
  readonly index: number;
  readonly position: number;
}

/** The values of some rows, before they become columns. */
export class TypedRows {
  readonly decoded: DecodedLayout;
  /** Undefined if the rows are instructions. */
  readonly events: readonly FoundEvent[] | undefined;
  readonly buffers: readonly ColumnBuffer[];
  /** For each account the position among those that were passed, or -1, by row. */
  readonly accounts: readonly Int32Array[];
  /** For each mint its decimals, plus one, or 0 if they are not known, by row. */
  readonly decimals: readonly Uint32Array[];
  /** Why a row has no values. */
  readonly errors: ColumnBuffer;
  readonly count: number;

  constructor(decoded: DecodedLayout, count: number, events: TypedRows['events']) {
    const { args, accounts } = decoded.columns;
    this.decoded = decoded;
    this.events = events;
    this.count = count;
    this.decimals = decoded.mints.map(() => new Uint32Array(count));
    this.buffers = args.map(({ type }) => new ColumnBuffer(type, count));
    this.accounts = accounts.map(() => new Int32Array(count).fill(-1));
    this.errors = new ColumnBuffer('text', count);
  }

  /** Returns the columns of the arguments. A row with an error has none of them. */
  argumentColumns(): readonly Pending[] {
    const isValid = (row: number) => this.errors.texts[row] === null;
    return this.buffers.map((buffer) => () => columnOf(buffer, this.count, isValid));
  }

  /** Returns the columns of the positions of events, if the rows are events. */
  eventColumns(): readonly Pending[] {
    const { events } = this;
    if (events === undefined) return [];
    const positions = new ColumnBuffer('uint32', this.count);
    for (let row = 0; row < this.count; row++) positions.ints[row] = events[row]?.index ?? 0;
    return [() => columnOf(positions, this.count, () => true)];
  }

  decimalsColumns(): readonly Pending[] {
    return this.decimals.map((found) => {
      const buffer = new ColumnBuffer('uint32', this.count);
      for (let row = 0; row < this.count; row++) buffer.ints[row] = (found[row] ?? 0) - 1;
      return () => columnOf(buffer, this.count, (row) => found[row] !== 0);
    });
  }

  errorColumn(): Pending {
    return () => columnOf(this.errors, this.count, () => true);
  }
}

const noBytes = new Uint8Array(0);

function columnOf(
  { type, ints, longs, texts }: ColumnBuffer,
  count: number,
  isRead: (row: number) => boolean,
): ColumnData {
  const isText = type === 'text';
  const { bits, nullCount } = validityOf(count, (row) =>
    isText ? isRead(row) && texts[row] !== null : isRead(row),
  );
  const valid = nullCount === 0 ? noBytes : bits;
  const values = isText
    ? textBuffers(texts)
    : [
        type === 'boolean'
          ? validityOf(count, (row) => ints[row] === 1).bits
          : bytesOf(longs.length > 0 ? longs : ints),
      ];
  return { length: count, nullCount, buffers: [valid, ...values], children: [] };
}

/** The rows of a column of accounts that were passed. Addresses are those of lists of 32-bit integers in the kernel's memory. */
export class SpreadRows {
  readonly #positions: Int32Array;
  readonly #ints: Uint32Array;

  constructor(positions: Int32Array, ints: Uint32Array) {
    this.#positions = positions;
    this.#ints = ints;
  }

  get validity(): ReturnType<typeof validityOf> {
    return validityOf(this.#positions.length, (row) => (this.#positions[row] ?? -1) >= 0);
  }

  /** Lists where the account of each such row is, and its transaction. Returns their number. */
  collect(
    from: { readonly rows: number; readonly transactions: number; readonly starts: number },
    to: { readonly given: number; readonly owners: number },
  ): number {
    const ints = this.#ints;
    let count = 0;
    for (const [i, position] of this.#positions.entries()) {
      if (position < 0) continue;
      const row = ints[from.rows / 4 + i] ?? 0;
      ints[to.given / 4 + count] = (ints[from.starts / 4 + row] ?? 0) + position;
      ints[to.owners / 4 + count++] = ints[from.transactions / 4 + i] ?? 0;
    }
    return count;
  }

  /** Copies the value of each such row to its place among all rows. */
  distribute(from: number, to: number): void {
    let next = from / 4;
    for (const [i, position] of this.#positions.entries())
      if (position >= 0) this.#ints[to / 4 + i] = this.#ints[next++] ?? 0;
  }
}
