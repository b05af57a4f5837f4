/** The Arrow columns of the arguments and accounts of one instruction, by its IDL. */
import type { ArrowField, ArrowType, ColumnData } from '@sluice/arrow/arrow-type';
import { bytesOf, textBuffers, validityOf } from '@sluice/arrow/value-buffers';
import { ColumnBuffer, type ValueType } from '@sluice/decode/typed-instruction';
import type { DecodedInstruction } from '../../query/query.ts';
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
  { columns: { args, accounts } }: DecodedInstruction,
  addressType: ArrowType,
): readonly ArrowField[] {
  const field = (name: string, type: ArrowType): ArrowField => ({ name, type, isNullable: true });
  return [
    ...args.map(({ name, type }) => field(`args_${name}`, ARROW_TYPES[type])),
    ...accounts.map((name) => field(`accounts_${name}`, addressType)),
    field('decoding_error', ARROW_TYPES.text),
  ];
}

/** The values of some rows, before they become columns. */
export class TypedRows {
  readonly decoded: DecodedInstruction;
  readonly buffers: readonly ColumnBuffer[];
  /** For each account the position among those that were passed, or -1, by row. */
  readonly accounts: readonly Int32Array[];
  /** Why a row has no values. */
  readonly errors: ColumnBuffer;
  readonly #count: number;

  constructor(decoded: DecodedInstruction, count: number) {
    const { args, accounts } = decoded.columns;
    this.decoded = decoded;
    this.#count = count;
    this.buffers = args.map(({ type }) => new ColumnBuffer(type, count));
    this.accounts = accounts.map(() => new Int32Array(count).fill(-1));
    this.errors = new ColumnBuffer('text', count);
  }

  /** Returns the columns of the arguments. A row with an error has none of them. */
  argumentColumns(): readonly Pending[] {
    const isValid = (row: number) => this.errors.texts[row] === null;
    return this.buffers.map((buffer) => () => columnOf(buffer, this.#count, isValid));
  }

  errorColumn(): Pending {
    return () => columnOf(this.errors, this.#count, () => true);
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
