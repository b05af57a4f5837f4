/** The forms that values have in records, the types of SQL that fit each, and how a value is written for COPY. */
import { decodeBase58 } from '@sluice/base/base58';
import type { WireType } from '@sluice/protocol/field-table';

/**
 * The form of a value in a record.
 *
 *   number    a number, a bigint, or decimal text
 *   seconds   unix seconds, as a number or a bigint
 *   base58    addresses, hashes, signatures and the data of instructions
 *   hex       `0x` and hex digits
 *   texts     a list of texts without special characters
 *   integers  a list of integers
 */
export type ValueForm =
  | 'number'
  | 'seconds'
  | 'boolean'
  | 'text'
  | 'base58'
  | 'hex'
  | 'texts'
  | 'integers'
  | 'json';

export interface ColumnType {
  readonly form: ValueForm;
  readonly sql: string;
}

const type = (form: ValueForm, sql: string): ColumnType => ({ form, sql });

/** The type of each kind of field. A 64-bit quantity without a sign does not fit into bigint. */
const WIRE_TYPES: Readonly<Record<WireType, ColumnType>> = {
  integer: type('number', 'bigint'),
  seconds: type('seconds', 'timestamptz'),
  quantity: type('number', 'numeric(20)'),
  version: type('number', 'smallint'),
  boolean: type('boolean', 'boolean'),
  text: type('text', 'text'),
  address: type('base58', 'text'),
  hash: type('base58', 'text'),
  base58: type('base58', 'text'),
  hex: type('hex', 'bytea'),
  logKind: type('text', 'text'),
  addresses: type('texts', 'text[]'),
  signatures: type('texts', 'text[]'),
  path: type('integers', 'integer[]'),
  errorObject: type('json', 'jsonb'),
  addressTableLookups: type('json', 'jsonb'),
  loadedAddresses: type('json', 'jsonb'),
  recordCounts: type('json', 'jsonb'),
  blockRef: type('json', 'jsonb'),
  decoded: type('json', 'jsonb'),
};

export function typeOfWire(wire: WireType): ColumnType {
  return WIRE_TYPES[wire];
}

/** Returns the type of a decoded value, by the type that the service reports. */
export function typeOfArgument(name: string): ColumnType {
  const [, letter = '', bits = ''] = /^([uif])(\d+)$/.exec(name) ?? [];
  if (letter === 'f') return type('number', 'double precision');
  // A type without a sign needs one bit more.
  const bitCount = Number(bits) + (letter === 'u' ? 1 : 0);
  if (letter !== '' && bitCount <= 32) return type('number', 'integer');
  if (letter !== '' && bitCount <= 64) return type('number', 'bigint');
  if (letter !== '') return type('number', bits === '64' ? 'numeric(20)' : 'numeric');
  switch (name) {
    case 'bool':
      return type('boolean', 'boolean');
    case 'address':
      return type('base58', 'text');
    case 'bytes':
      return type('hex', 'bytea');
    case 'text':
      return type('text', 'text');
    default:
      return type('json', 'jsonb');
  }
}

const numberTypes = ['smallint', 'integer', 'bigint', 'numeric', 'double precision', 'text'];

/** The types that a user can choose for each form. */
const FITTING: Readonly<Record<ValueForm, readonly string[]>> = {
  number: [...numberTypes, 'timestamptz'],
  seconds: ['timestamptz', ...numberTypes],
  boolean: ['boolean', 'text'],
  text: ['text'],
  base58: ['text', 'bytea'],
  hex: ['bytea', 'text'],
  texts: ['text[]', 'jsonb'],
  integers: ['integer[]', 'text', 'jsonb'],
  json: ['jsonb', 'text'],
};

/** Returns the types that fit a form; `numeric` also with digits, such as `numeric(20, 6)`. */
export function fittingTypes(form: ValueForm): readonly string[] {
  return FITTING[form];
}

export function isFitting(form: ValueForm, sql: string): boolean {
  const plain = sql.replace(/^numeric\(\d{1,3}(, ?\d{1,3})?\)$/, 'numeric');
  return FITTING[form].includes(plain);
}

/** Writes a value in the text form of COPY. */
export type WriteValue = (value: unknown) => string;

const nullText = '\\N';

/** Returns the function that writes the values of a column. */
export function buildWriter({ form, sql }: ColumnType): WriteValue {
  const write = chooseWriter(form, sql);
  return (value) => (value === null || value === undefined ? nullText : write(value));
}

function chooseWriter(form: ValueForm, sql: string): WriteValue {
  if (sql === 'jsonb') return (value) => escapeText(toJson(value));
  if (sql === 'timestamptz') return writeTime();
  switch (form) {
    case 'number':
    case 'seconds':
      return String;
    case 'boolean':
      return (value) => (sql === 'boolean' ? (value === true ? 't' : 'f') : String(value));
    case 'base58':
      return sql === 'bytea' ? writeBase58 : String;
    case 'hex':
      return sql === 'bytea' ? (value) => `\\\\x${String(value).slice(2)}` : String;
    case 'texts':
      return (value) => `{${String(value)}}`;
    case 'integers':
      return (value) =>
        sql === 'text' ? String(value).replaceAll(',', '.') : `{${String(value)}}`;
    case 'json':
      return (value) => escapeText(toJson(value));
    default:
      return (value) => escapeText(String(value));
  }
}

function writeBase58(value: unknown): string {
  const bytes = decodeBase58(String(value));
  return bytes === undefined ? nullText : `\\\\x${Buffer.from(bytes).toString('hex')}`;
}

/** All rows of a block have the same time, so the last text is kept. */
function writeTime(): WriteValue {
  let lastValue: unknown;
  let lastText = '';
  return (value) => {
    if (value !== lastValue) {
      const date = new Date(Number(value) * 1000);
      lastValue = value;
      lastText = Number.isNaN(date.getTime()) ? nullText : date.toISOString();
    }
    return lastText;
  };
}

const special = /[\\\t\n\r\0]/;
const escapes: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  // A text of PostgreSQL cannot contain it.
  '\0': '\ufffd',
};

function escapeText(text: string): string {
  return special.test(text) ? text.replace(/[\\\t\n\r\0]/g, (c) => escapes[c] ?? c) : text;
}

/** Integers of more than 53 bits become numbers with every digit, which jsonb keeps. */
export function toJson(value: unknown): string {
  const text = JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === 'bigint') return `\ud800${part}`;
    return typeof part === 'string' && part.includes('\0') ? part.replaceAll('\0', '\ufffd') : part;
  });
  return text.includes('\\ud800') ? text.replace(/"\\ud800(-?\d+)"/g, '$1') : text;
}
