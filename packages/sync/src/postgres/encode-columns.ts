/**
 * Writes the rows of Arrow record batches in the binary form of COPY, without an object for each row. The kernel writes most columns from the buffers
 * of Arrow. The fields of the others are written here first, column by column, and copied into the rows by the kernel.
 */
import type { ArrowField, ColumnData } from '@sluice/arrow/arrow-type';
import { type ArrowBatch, type Dictionary, valuesOf } from '@sluice/arrow/ipc-reader';
import { decodeBase58 } from '@sluice/base/base58';
import { elementAt } from '@sluice/base/element-at';
import { bindJson } from '../column-json.ts';
import { BatchContext, type ColumnPlan, type ShiftParts } from '../column-plan.ts';
import type { ColumnType } from '../column-types.ts';
import type { TablePlan } from '../table-plan.ts';
import type { EncodedRows, RowEncoder } from '../target.ts';
import { type CopyColumn, copyKernel, type IntegerKind } from './copy-kernel.ts';
import { CopyMessages } from './copy-messages.ts';
import { FieldBuffer, shiftMax } from './field-buffer.ts';
import { buildFieldWriter, ITEM_OIDS, OutOfRange, writeArray } from './write-value.ts';

/** Writes the value of a row. */
type WriteRow = (row: number) => void;

interface Batch {
  readonly fields: readonly ArrowField[];
  readonly batch: ArrowBatch;
}

export class ColumnEncoder implements RowEncoder {
  readonly #plan: TablePlan;
  readonly #columns: ColumnPlan;
  readonly #messages = new CopyMessages();
  /** The fields that are written here, of each column. */
  readonly #written = new Map<number, FieldBuffer>();

  constructor(plan: TablePlan, columns: ColumnPlan) {
    this.#plan = plan;
    this.#columns = columns;
  }

  get byteCount(): number {
    return this.#messages.byteCount;
  }

  /** Adds the rows of a batch. */
  add(fields: readonly ArrowField[], batch: ArrowBatch): void {
    const parts = { fields, batch };
    const context = new BatchContext(this.#columns, fields, batch);
    const columns = this.#plan.columns.map(
      ({ name }, i) =>
        this.#direct(i, parts) ??
        this.#write(name, i, batch.length, (out) => this.#bind(i, parts, context, out)),
    );
    copyKernel().write(columns, batch.length, (rows, count) => this.#messages.add(rows, count));
  }

  take(): EncodedRows {
    return this.#messages.take();
  }

  /** Returns a column that the kernel can write from the buffers of Arrow. */
  #direct(i: number, { fields, batch }: Batch): CopyColumn | undefined {
    const origin = this.#columns.origins[i];
    if (origin?.kind === 'position') return positions(batch, fields);
    if (origin?.kind !== 'column') return undefined;
    const at = fields.findIndex(({ name }) => name === origin.name);
    const [field, data] = [fields[at], batch.columns[at]];
    if (field === undefined || data === undefined) return undefined;
    const { sql } = elementAt(this.#plan.columns, i).type;
    return directColumn({ field, data, dictionary: batch.dictionary }, sql.replace(/\(.*/, ''));
  }

  /** Writes the fields of a column. */
  #write(
    name: string,
    i: number,
    rowCount: number,
    bind: (out: FieldBuffer) => WriteRow,
  ): CopyColumn {
    const out = this.#written.get(i) ?? new FieldBuffer();
    this.#written.set(i, out);
    out.clear();
    const write = bind(out);
    const starts = new Uint32Array(rowCount + 1);
    try {
      for (let row = 0; row < rowCount; row++) {
        write(row);
        starts[row + 1] = out.byteCount;
      }
    } catch (error) {
      if (!(error instanceof OutOfRange)) throw error;
      throw error.inColumn(name);
    }
    return { kind: 'fields', starts: new Uint8Array(starts.buffer), bytes: out.bytes };
  }

  #bind(i: number, { fields, batch }: Batch, context: BatchContext, out: FieldBuffer): WriteRow {
    const { type } = elementAt(this.#plan.columns, i);
    const origin = this.#columns.origins[i];
    if (origin?.kind === 'column') {
      const at = fields.findIndex(({ name }) => name === origin.name);
      const [field, data] = [fields[at], batch.columns[at]];
      if (field === undefined || data === undefined) return () => out.writeNull();
      return nullable(
        data,
        out,
        bindColumn({ field, data, dictionary: batch.dictionary }, type, out),
      );
    }
    if (origin?.kind === 'json') {
      const read = bindJson(origin.parts, fields, batch);
      return (row) => {
        const text = read(row);
        if (text === undefined) out.writeNull();
        else out.writeJson(text);
      };
    }
    const write = buildFieldWriter(type);
    const reader = this.#plan.readers[i];
    const compute = (row: number) => write(reader?.read(context.at(row)), out);
    const shift = origin?.kind === 'computed' ? origin.shift : undefined;
    if (shift === undefined || !type.sql.startsWith('numeric')) return compute;
    return bindShift({ fields, batch }, shift, out, compute);
  }
}

/** Returns undefined if the values of a column need more than their bytes, or may not fit. */
function directColumn(column: BoundColumn, sql: string): CopyColumn | undefined {
  const { field, data, dictionary } = column;
  const [, values = empty, bytes = empty] = data.buffers;
  const valid = hasNulls(data) ? data.buffers[0] : undefined;
  switch (field.type.kind) {
    case 'int':
    case 'timestamp': {
      const kind = integerKind(column, sql);
      const { isLong, isSigned } = widthOf(field);
      return kind === undefined ? undefined : { kind, valid, values, isLong, isSigned };
    }
    case 'dictionary': {
      if (sql !== 'text') return undefined;
      const [, starts = empty, texts = empty] = dictionary.column?.buffers ?? [];
      return { kind: 'dictionary', valid, indexes: values, starts, bytes: texts };
    }
    case 'utf8':
      return sql === 'text' && isStorable(bytes)
        ? { kind: 'slices', valid, starts: values, bytes }
        : undefined;
    case 'binary':
      return sql === 'bytea' ? { kind: 'slices', valid, starts: values, bytes } : undefined;
    case 'bool':
      return sql === 'boolean' ? { kind: 'boolean', valid, values } : undefined;
    default:
      return undefined;
  }
}

const empty = new Uint8Array(0);

/** PostgreSQL does not allow the character U+0000 in a text. */
const isStorable = (texts: Uint8Array) => !texts.includes(0);

/** Returns undefined if a value may not fit. */
function integerKind({ field, data }: BoundColumn, sql: string): IntegerKind | undefined {
  if (sql === 'numeric') return 'numeric';
  const { isLong, isSigned } = widthOf(field);
  const fits = isSigned || !hasTopBit(data, isLong);
  if (sql === 'integer') return fits && !isLong ? 'integer' : undefined;
  if (!fits && isLong) return undefined;
  if (sql === 'timestamptz') return 'time';
  return sql === 'bigint' ? 'bigint' : undefined;
}

/** Returns whether any integer has its highest bit. */
function hasTopBit({ buffers }: ColumnData, isLong: boolean): boolean {
  const words = wordsOf(buffers[1]);
  let bits = 0;
  for (let i = isLong ? 1 : 0; i < words.length; i += isLong ? 2 : 1) bits |= words[i] ?? 0;
  return bits < 0;
}

function nullable(data: ColumnData, out: FieldBuffer, write: WriteRow): WriteRow {
  if (!hasNulls(data)) return write;
  const isNull = nullReader(data);
  return (row) => {
    if (isNull(row)) out.writeNull();
    else write(row);
  };
}

const hasNulls = ({ nullCount, buffers: [bits] }: ColumnData) =>
  nullCount > 0 && bits !== undefined && bits.length > 0;

function nullReader(data: ColumnData): (row: number) => boolean {
  const [bits] = data.buffers;
  if (!hasNulls(data) || bits === undefined) return () => false;
  return (row) => (((bits[row >> 3] ?? 0) >> (row & 7)) & 1) === 0;
}

/** Returns the position of each row among those of its block. A batch has whole blocks. */
function positions({ length, columns }: ArrowBatch, fields: readonly ArrowField[]): CopyColumn {
  const slots = wordsOf(columns[fields.findIndex(({ name }) => name === 'block_slot')]?.buffers[1]);
  const found = new Int32Array(length);
  for (let row = 1; row < length; row++)
    if (slots[row * 2] === slots[row * 2 - 2] && slots[row * 2 + 1] === slots[row * 2 - 1])
      found[row] = (found[row - 1] ?? 0) + 1;
  const values = new Uint8Array(found.buffer);
  return { kind: 'integer', valid: undefined, values, isLong: false, isSigned: true };
}

/** Writes amounts divided by powers of ten. Rare values, such as one without a value or above 2^53, are left to `compute`. */
function bindShift(
  { fields, batch }: Batch,
  { amount, digits }: ShiftParts,
  out: FieldBuffer,
  compute: WriteRow,
): WriteRow {
  const bind = (name: string) => {
    const at = fields.findIndex((field) => field.name === name);
    const [field, data] = [fields[at], batch.columns[at]];
    if (data === undefined || field?.type.kind !== 'int') return undefined;
    return { ...wordReaders({ field, data }), isNull: nullReader(data) };
  };
  const from = bind(amount);
  const shift = typeof digits === 'number' ? constantWords(digits) : bind(digits);
  if (from === undefined || shift === undefined) return compute;
  return (row) => {
    const [top, count] = [from.high(row), shift.low(row)];
    const isSafe = top >= 0 && top < 1 << 21 && shift.high(row) === 0 && count <= shiftMax;
    if (!isSafe || from.isNull(row) || shift.isNull(row)) compute(row);
    else out.writeSafeNumeric(top * 2 ** 32 + from.low(row), count);
  };
}

const constantWords = (value: number) => ({
  high: () => (value < 0 ? -1 : 0),
  low: () => value,
  isNull: () => false,
});

interface BoundColumn {
  readonly field: ArrowField;
  readonly data: ColumnData;
  readonly dictionary: Dictionary;
}

function bindColumn(column: BoundColumn, type: ColumnType, out: FieldBuffer): WriteRow {
  const { field, data } = column;
  const bytes = data.buffers[1] ?? new Uint8Array(0);
  switch (field.type.kind) {
    case 'int':
    case 'timestamp':
      return bindNumbers(column, type, out);
    case 'dictionary':
      return bindDictionary(column, type, out);
    case 'utf8': {
      const starts = wordsOf(bytes);
      const texts = data.buffers[2] ?? new Uint8Array(0);
      if (type.sql !== 'text' || !isStorable(texts)) break;
      return bindSlices(starts, texts, out);
    }
    case 'binary': {
      const starts = wordsOf(bytes);
      const all = data.buffers[2] ?? new Uint8Array(0);
      return (row) => out.writeBase58(all.subarray(starts[row], starts[row + 1]));
    }
    case 'list': {
      const write = bindList(column, field.type.item, type, out);
      if (write !== undefined) return write;
      break;
    }
    default:
  }
  const values = valuesOf(field, data, column.dictionary);
  const write = buildFieldWriter(type);
  return (row) => write(values[row], out);
}

/** Returns undefined if the column is not an array. */
function bindList(
  { data, dictionary }: BoundColumn,
  item: ArrowField,
  type: ColumnType,
  out: FieldBuffer,
): WriteRow | undefined {
  const [items] = data.children;
  const sql = type.sql === 'text[]' ? 'text' : 'integer';
  if (items === undefined || type.sql !== `${sql}[]`) return undefined;
  const starts = wordsOf(data.buffers[1]);
  const write = bindColumn({ field: item, data: items, dictionary }, { form: type.form, sql }, out);
  const oid = ITEM_OIDS[sql];
  return (row) =>
    writeArray(out, { oid, first: starts[row] ?? 0, end: starts[row + 1] ?? 0 }, write);
}

function bindSlices(starts: Uint32Array, bytes: Uint8Array, out: FieldBuffer): WriteRow {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  return (i) => out.writeSlice(view, starts[i] ?? 0, starts[i + 1] ?? 0);
}

/** Buffers start at multiples of 8 bytes. */
function wordsOf(bytes: Uint8Array | undefined): Uint32Array {
  if (bytes === undefined) return new Uint32Array(0);
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
}

function bindDictionary(
  { data, dictionary }: BoundColumn,
  type: ColumnType,
  out: FieldBuffer,
): WriteRow {
  const indexes = wordsOf(data.buffers[1]);
  const starts = wordsOf(dictionary.column?.buffers[1]);
  const texts = dictionary.column?.buffers[2] ?? new Uint8Array(0);
  if (type.sql !== 'bytea') {
    const write = bindSlices(starts, texts, out);
    return (row) => write(indexes[row] ?? 0);
  }
  const decoded: (Uint8Array | undefined)[] = [];
  return (row) => {
    const index = indexes[row] ?? 0;
    decoded[index] ??= decodeBase58(dictionary.texts[index] ?? '') ?? new Uint8Array(0);
    out.writeField(decoded[index]);
  };
}

/** Integers of 64 bits are read as two words, because most of them are safe integers, and a bigint for each value costs more. */
function wordReaders({ field, data }: Pick<BoundColumn, 'field' | 'data'>) {
  const words = wordsOf(data.buffers[1]);
  const { isLong, isSigned } = widthOf(field);
  const high = (row: number) => {
    if (isLong) return isSigned ? (words[row * 2 + 1] ?? 0) | 0 : (words[row * 2 + 1] ?? 0);
    return isSigned ? (words[row] ?? 0) >> 31 : 0;
  };
  const low = (row: number) => (isLong ? words[row * 2] : words[row]) ?? 0;
  return { isLong, high, low };
}

function widthOf({ type }: ArrowField): { readonly isLong: boolean; readonly isSigned: boolean } {
  if (type.kind !== 'int') return { isLong: true, isSigned: true };
  return { isLong: type.bits === 64, isSigned: type.isSigned };
}

/** Writes integers whose type is chosen by the user, or that do not fit. */
function bindNumbers(column: BoundColumn, type: ColumnType, out: FieldBuffer): WriteRow {
  const { isLong, high, low } = wordReaders(column);
  const write = buildFieldWriter(type);
  if (!isLong) return (row) => write(high(row) * 2 ** 32 + low(row), out);
  return (row) => write((BigInt(high(row)) << 32n) | BigInt(low(row)), out);
}
