/** The Arrow columns of the arguments and accounts of one instruction or event, by its IDL. */
import type { ArrowField, ArrowType, ColumnData } from '@sluice/arrow/arrow-type';
import { bytesOf, textBuffers, validityOf } from '@sluice/arrow/value-buffers';
import type { DecodedLayout } from '@sluice/decode/decoded-layout';
import type { ColumnBuffer, ValueType } from '@sluice/decode/typed-layout';
import type { TypedRows } from '@sluice/decode/typed-rows';
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

/** Returns the columns of rows in the order of their fields. Those of accounts are given. A row with an error has no arguments. */
export function typedColumns(
  { count, positions, indexes, buffers, decimals, errors }: TypedRows,
  accounts: readonly Pending[],
): readonly Pending[] {
  const hasErrors = errors.texts.some((text) => text !== null);
  const isRead = hasErrors ? (row: number) => errors.texts[row] === null : always;
  const column = (buffer: ColumnBuffer, isValid: (row: number) => boolean) => () =>
    columnOf(buffer, count, isValid);
  return [
    ...(positions === undefined ? [] : [column(indexes, always)]),
    ...buffers.map((buffer) => column(buffer, isRead)),
    ...accounts,
    ...decimals.map((buffer) => column(buffer, (row) => (buffer.ints[row] ?? -1) >= 0)),
    hasErrors ? column(errors, always) : () => noTexts(count),
  ];
}

const noBytes = new Uint8Array(0);
const noNulls = { bits: noBytes, nullCount: 0 };
/** The test of a column without nulls of its own. */
const always = () => true;

/** Returns a column of texts that are all null. */
function noTexts(count: number): ColumnData {
  const bits = new Uint8Array(Math.ceil(count / 8));
  const buffers = [bits, new Uint8Array((count + 1) * 4), noBytes];
  return { length: count, nullCount: count, buffers, children: [] };
}

function columnOf(
  { type, ints, longs, texts, written }: ColumnBuffer,
  count: number,
  isRead: (row: number) => boolean,
): ColumnData {
  if (written !== undefined)
    return { length: count, nullCount: 0, buffers: [noBytes, ...written], children: [] };
  const isText = type === 'text';
  const { bits, nullCount } =
    !isText && isRead === always
      ? noNulls
      : validityOf(count, (row) => isRead(row) && (!isText || texts[row] !== null));
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
