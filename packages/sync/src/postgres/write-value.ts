/** How the values of a column are written into a `FieldBuffer`. The text form of `column-types.ts` has the same values. */
import { decodeBase58 } from '@sluice/base/base58';
import { CodedError } from '@sluice/base/errors';
import { type ColumnType, toJson } from '../column-types.ts';
import type { FieldBuffer } from './field-buffer.ts';

export type WriteField = (value: unknown, out: FieldBuffer) => void;

/** Numbers of the types of the items of arrays, in the catalogue of PostgreSQL. */
export const ITEM_OIDS = { text: 25, integer: 23 } as const;

export function buildFieldWriter(type: ColumnType): WriteField {
  const write = chooseWriter(type);
  return (value, out) => {
    if (value === null || value === undefined) out.writeNull();
    else write(value, out);
  };
}

function chooseWriter({ form, sql }: ColumnType): WriteField {
  switch (sql.replace(/\(.*/, '')) {
    case 'jsonb':
      return (value, out) => out.writeJson(toJson(value));
    case 'timestamptz':
      return (value, out) => writeTime(Number(value), out);
    case 'smallint':
      return (value, out) => out.writeSmallint(inRange(value, 15, sql));
    case 'integer':
      return (value, out) => out.writeInteger(inRange(value, 31, sql));
    case 'bigint':
      return writeBigint;
    case 'numeric':
      return writeNumeric;
    case 'double precision':
      return (value, out) => out.writeDouble(Number(value));
    case 'boolean':
      // A column of an argument whose type is defined in the IDL has texts.
      return (value, out) => out.writeBoolean(value === true || value === 'true');
    case 'bytea':
      return form === 'hex' ? writeHex : writeBase58;
    case 'text[]':
      return (value, out) => writeList(value, out, 'text');
    case 'integer[]':
      return (value, out) => writeList(value, out, 'integer');
    default:
      return chooseText(form);
  }
}

function chooseText(form: ColumnType['form']): WriteField {
  if (form === 'json') return (value, out) => out.writeText(toJson(value));
  if (form === 'integers') return (value, out) => out.writeText(listOf(value).join('.'));
  return (value, out) => out.writeText(withoutZero(String(value)));
}

/** PostgreSQL does not allow the character U+0000 in a text. */
const withoutZero = (text: string) =>
  text.includes('\0') ? text.replaceAll('\0', '\ufffd') : text;

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** A value that does not fit the type of its column. */
export class OutOfRange extends Error {
  override readonly name = 'OutOfRange';

  constructor(value: unknown, type: string) {
    super(`value ${value} is out of range for type ${type}`);
  }

  /** Returns the error that PostgreSQL has for such a value. */
  inColumn(column: string): CodedError {
    const reason = `column ${column}: ${this.message}`;
    const hint = 'give the column a wider type, such as numeric';
    return new CodedError('sync-target-failed', {
      target: 'PostgreSQL',
      code: '22003',
      reason,
      hint,
    });
  }
}

function inRange(value: unknown, bitCount: number, type: string): number {
  const number = Number(value);
  const limit = 2 ** bitCount;
  if (number >= -limit && number < limit) return number;
  throw new OutOfRange(value, type);
}

function writeNumeric(value: unknown, out: FieldBuffer): void {
  if (Number.isSafeInteger(value) && Number(value) >= 0) out.writeSafeNumeric(Number(value));
  else out.writeNumeric(String(value));
}

function writeBigint(value: unknown, out: FieldBuffer): void {
  const integer = BigInt(String(value));
  if (BigInt.asIntN(64, integer) !== integer) throw new OutOfRange(value, 'bigint');
  out.writeLong(Number(integer >> 32n), Number(BigInt.asIntN(32, integer)));
}

const secondsOf2000 = 946_684_800;
/** The range of a date of JavaScript, which is within that of PostgreSQL. */
const secondsMax = 8.64e12;

/** Writes unix seconds as microseconds since 2000. */
export function writeTime(seconds: number, out: FieldBuffer): void {
  const micros = (seconds - secondsOf2000) * 1e6;
  if (!(Math.abs(seconds) <= secondsMax)) out.writeNull();
  else if (Number.isSafeInteger(micros)) out.writeLong(Math.floor(micros / 2 ** 32), micros | 0);
  else writeBigint(BigInt(seconds - secondsOf2000) * 1_000_000n, out);
}

function writeHex(value: unknown, out: FieldBuffer): void {
  out.writeField(Buffer.from(String(value).slice(2), 'hex'));
}

function writeBase58(value: unknown, out: FieldBuffer): void {
  const bytes = decodeBase58(String(value));
  if (bytes === undefined) out.writeNull();
  else out.writeField(bytes);
}

/** Writes an array of one dimension, or an empty one, with the items from `first` to before `end`. */
export function writeArray(
  out: FieldBuffer,
  { oid, first, end }: { readonly oid: number; readonly first: number; readonly end: number },
  writeItem: (i: number) => void,
): void {
  const start = out.openField();
  out.writeInt32(end > first ? 1 : 0);
  out.writeInt32(0);
  out.writeInt32(oid);
  if (end > first) {
    out.writeInt32(end - first);
    out.writeInt32(1);
  }
  for (let i = first; i < end; i++) writeItem(i);
  out.closeField(start);
}

function writeList(value: unknown, out: FieldBuffer, type: keyof typeof ITEM_OIDS): void {
  const list = Array.isArray(value) ? value : [];
  const write = chooseWriter({ form: 'text', sql: type });
  writeArray(out, { oid: ITEM_OIDS[type], first: 0, end: list.length }, (i) => write(list[i], out));
}
