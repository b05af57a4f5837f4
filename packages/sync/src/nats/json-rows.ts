/** Rows as JSON for messages. Integers of SQL are numbers with every digit, as in responses of the service; `numeric` is text, because it may have more digits. */
import { decodeBase58 } from '@sluice/base/base58';
import { type ColumnType, toJson } from '../column-types.ts';
import type { Row } from '../row-builder.ts';
import type { Column } from '../table-plan.ts';

type Convert = (value: unknown) => unknown;

/** Yields the rows as texts of JSON arrays, each of at most `bytesMax` bytes unless a single row is longer. */
export function* encodeRowLists(
  columns: readonly Column[],
  rows: readonly Row[],
  bytesMax: number,
): Generator<string> {
  const converts = columns.map(({ type }) => buildConvert(type));
  let texts: string[] = [];
  let byteCount = 0;
  for (const row of rows) {
    const members = columns.map(({ name }, i) => [name, converts[i]?.(row[i])]);
    const text = toJson(Object.fromEntries(members));
    const textBytes = Buffer.byteLength(text) + 1;
    if (texts.length > 0 && byteCount + textBytes > bytesMax) {
      yield `[${texts.join()}]`;
      texts = [];
      byteCount = 0;
    }
    texts.push(text);
    byteCount += textBytes;
  }
  if (texts.length > 0) yield `[${texts.join()}]`;
}

function buildConvert({ form, sql }: ColumnType): Convert {
  const convert = chooseConvert(form, sql.replace(/\(.*/, ''));
  return (value) => (value === null || value === undefined ? null : convert(value));
}

function chooseConvert(form: ColumnType['form'], sql: string): Convert {
  switch (sql) {
    case 'smallint':
    case 'integer':
    case 'bigint':
      return toInteger;
    case 'double precision':
      return Number;
    case 'timestamptz':
      return toTime;
    case 'bytea':
      return (value) => (form === 'hex' ? value : toHex(value));
    case 'boolean':
    case 'jsonb':
    case 'text[]':
    case 'integer[]':
      return (value) => value;
    default:
      if (form === 'json') return toJson;
      return (value) => (Array.isArray(value) ? value.join('.') : String(value));
  }
}

function toInteger(value: unknown): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : BigInt(String(value));
}

function toTime(seconds: unknown): string | null {
  const date = new Date(Number(seconds) * 1000);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

function toHex(base58: unknown): string | null {
  const bytes = decodeBase58(String(base58));
  return bytes === undefined ? null : `0x${Buffer.from(bytes).toString('hex')}`;
}
