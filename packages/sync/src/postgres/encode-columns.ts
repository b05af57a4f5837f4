/** Writes the rows of Arrow record batches in the binary form of COPY, column by column without an object for each row. */
import type { ArrowField, ColumnData } from '@sluice/arrow/arrow-type';
import { type ArrowBatch, type Dictionary, valuesOf } from '@sluice/arrow/ipc-reader';
import { decodeBase58 } from '@sluice/base/base58';
import { bindJson } from '../column-json.ts';
import { BatchContext, type ColumnPlan, type ShiftParts } from '../column-plan.ts';
import type { ColumnType } from '../column-types.ts';
import type { TablePlan } from '../table-plan.ts';
import type { EncodedRows, RowEncoder } from '../target.ts';
import { CopyBuffer, shiftMax } from './copy-buffer.ts';
import { buildFieldWriter, ITEM_OIDS, OutOfRange, writeArray, writeTime } from './write-value.ts';

/** Writes the value of a row. */
type WriteRow = (row: number) => void;

interface Batch {
  readonly fields: readonly ArrowField[];
  readonly batch: ArrowBatch;
}

export class ColumnEncoder implements RowEncoder {
  readonly #plan: TablePlan;
  readonly #columns: ColumnPlan;
  readonly #out = new CopyBuffer();

  constructor(plan: TablePlan, columns: ColumnPlan) {
    this.#plan = plan;
    this.#columns = columns;
  }

  get byteCount(): number {
    return this.#out.byteCount;
  }

  /** Adds the rows of a batch. */
  add(fields: readonly ArrowField[], batch: ArrowBatch): void {
    const out = this.#out;
    const writers = this.#bind({ fields, batch });
    const count = writers.length;
    let i = 0;
    try {
      for (let row = 0; row < batch.length; row++) {
        out.startRow(count);
        for (i = 0; i < count; i++) writers[i]?.(row);
      }
    } catch (error) {
      if (!(error instanceof OutOfRange)) throw error;
      throw error.inColumn(this.#plan.columns[i]?.name ?? '');
    }
  }

  take(): EncodedRows {
    const { rowCount } = this.#out;
    return { rowCount, bytes: this.#out.take() };
  }

  #bind({ fields, batch }: Batch): WriteRow[] {
    const out = this.#out;
    const context = new BatchContext(this.#columns, fields, batch);
    return this.#plan.columns.map(({ type }, i) => {
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
      if (origin?.kind === 'position') return positions(batch, fields, out);
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
      if (origin?.shift === undefined || !type.sql.startsWith('numeric')) return compute;
      return bindShift({ fields, batch }, origin.shift, out, compute);
    });
  }
}

function nullable(data: ColumnData, out: CopyBuffer, write: WriteRow): WriteRow {
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

/** Writes the position of each row among those of its block. A batch has whole blocks. */
function positions(
  { length, columns }: ArrowBatch,
  fields: readonly ArrowField[],
  out: CopyBuffer,
): WriteRow {
  const slots = wordsOf(columns[fields.findIndex(({ name }) => name === 'block_slot')]?.buffers[1]);
  const found = new Int32Array(length);
  for (let row = 1; row < length; row++)
    if (slots[row * 2] === slots[row * 2 - 2] && slots[row * 2 + 1] === slots[row * 2 - 1])
      found[row] = (found[row - 1] ?? 0) + 1;
  return (row) => out.writeInteger(found[row] ?? 0);
}

/** Writes amounts divided by powers of ten. Rare values, such as one without a value or above 2^53, are left to `compute`. */
function bindShift(
  { fields, batch }: Batch,
  { amount, digits }: ShiftParts,
  out: CopyBuffer,
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

function bindColumn(column: BoundColumn, type: ColumnType, out: CopyBuffer): WriteRow {
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
      // PostgreSQL does not allow the character U+0000 in a text.
      if (type.sql !== 'text' || texts.includes(0)) break;
      return bindSlices(starts, texts, out);
    }
    case 'binary': {
      const starts = wordsOf(bytes);
      const all = data.buffers[2] ?? new Uint8Array(0);
      if (type.sql === 'bytea') return bindSlices(starts, all, out);
      return (row) => out.writeBase58(all.subarray(starts[row], starts[row + 1]));
    }
    case 'bool':
      if (type.sql === 'boolean')
        return (row) => out.writeBoolean((((bytes[row >> 3] ?? 0) >> (row & 7)) & 1) === 1);
      break;
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
  out: CopyBuffer,
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

function bindSlices(starts: Uint32Array, bytes: Uint8Array, out: CopyBuffer): WriteRow {
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
  out: CopyBuffer,
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
  const isLong =
    field.type.kind === 'timestamp' || (field.type.kind === 'int' && field.type.bits === 64);
  const isSigned =
    field.type.kind === 'timestamp' || (field.type.kind === 'int' && field.type.isSigned);
  const high = (row: number) => {
    if (isLong) return isSigned ? (words[row * 2 + 1] ?? 0) | 0 : (words[row * 2 + 1] ?? 0);
    return isSigned ? (words[row] ?? 0) >> 31 : 0;
  };
  const low = (row: number) => (isLong ? words[row * 2] : words[row]) ?? 0;
  return { isLong, high, low };
}

function bindNumbers(column: BoundColumn, type: ColumnType, out: CopyBuffer): WriteRow {
  const { isLong, high, low } = wordReaders(column);
  const exact = (row: number) => (BigInt(high(row)) << 32n) | BigInt(low(row));
  const sql = type.sql.replace(/\(.*/, '');
  if (sql === 'bigint')
    return (row) => {
      const top = high(row);
      if (top > 0x7fffffff) throw new OutOfRange(exact(row), sql);
      out.writeLong(top, low(row));
    };
  if (sql === 'timestamptz') return (row) => writeTime(high(row) * 2 ** 32 + low(row), out);
  const write = buildFieldWriter(type);
  if (!isLong && sql !== 'numeric') return (row) => write(high(row) * 2 ** 32 + low(row), out);
  if (sql !== 'numeric') return (row) => write(exact(row), out);
  return (row) => {
    const top = high(row);
    if (top >= 0 && top < 1 << 21) out.writeSafeNumeric(top * 2 ** 32 + low(row));
    else write(exact(row), out);
  };
}
