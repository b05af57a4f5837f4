import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeMarked, toBigint, unmark } from './exact-json.ts';

const parse = (text: string): unknown =>
  unmark(JSON.parse(decodeMarked(new TextEncoder().encode(text))));

test('default: every digit of a long integer is kept, and short integers are numbers', () => {
  const text = '{"a":18446744073709551615,"b":-9223372036854775808,"c":123456789012345}';
  expect(parse(text)).toEqual({
    a: 18446744073709551615n,
    b: -9223372036854775808n,
    c: 123456789012345,
  });
});

test.each([
  ['{"d8":"0x0200000040420000"}', { d8: '0x0200000040420000' }],
  ['{"m":"paid 12345678901234567890"}', { m: 'paid 12345678901234567890' }],
  [
    '["a [1234567890123456789",1234567890123456789]',
    ['a [1234567890123456789', 1234567890123456789n],
  ],
  ['{"m":"{\\"a\\":12345678901234567890}"}', { m: '{"a":12345678901234567890}' }],
  [
    '{"m":",12345678901234567890,","n":1234567890123456789}',
    { m: ',12345678901234567890,', n: 1234567890123456789n },
  ],
  ['{"m":"\\\\","n":1234567890123456789}', { m: '\\', n: 1234567890123456789n }],
  ['{"a\\\\":1234567890123456789}', { 'a\\': 1234567890123456789n }],
  ['[1234567890123456789,"é1234567890123456789"]', [1234567890123456789n, 'é1234567890123456789']],
  ['{"a":12345678901234567.5}', { a: Number('12345678901234567.5') }],
  ['{"a":12345678901234567e2}', { a: Number('12345678901234567e2') }],
  ['{"a":"𐀀","b":1234567890123456789}', { a: '𐀀', b: 1234567890123456789n }],
  ['{ "a": 12345678901234567 }', { a: 12345678901234567n }],
  ['{"a":"\\u0031234567890123456789"}', { a: '1234567890123456789' }],
])('behavior: texts and integers of %s are unchanged', (text, value) => {
  expect(parse(text)).toEqual(value);
});

type Value = bigint | string | null | boolean | Value[] | { [key: string]: Value };

const value: fc.Arbitrary<Value> = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }),
    fc.bigInt({ min: 0n, max: 1000n }),
    // Texts that look like the text around a number.
    fc.stringMatching(/^["\\:,[\] {}0-9x-]{0,40}$/),
    fc.string({ unit: 'grapheme' }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(fc.stringMatching(/^[a-z"\\:0-9]{0,20}$/), tie('value'), { maxKeys: 5 }),
  ),
})).value;

/** Returns JSON text with bigints, which `JSON.stringify` does not support. */
function write(part: Value): string {
  if (typeof part === 'bigint') return part.toString();
  if (Array.isArray(part)) return `[${part.map(write).join()}]`;
  if (typeof part !== 'object' || part === null) return JSON.stringify(part);
  return `{${Object.entries(part).map(([key, inner]) => `${JSON.stringify(key)}:${write(inner)}`)}}`;
}

/** Converts every integer to a bigint, because short integers are parsed as numbers. */
function integers(part: unknown): unknown {
  if (typeof part === 'number') return toBigint(part);
  if (Array.isArray(part)) return part.map(integers);
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, integers(inner)]));
}

test('property: any JSON with 64-bit integers is parsed unchanged', () => {
  fc.assert(
    fc.property(value, fc.nat(20), (one, padding) => {
      // Moves the digits to every position relative to the steps of the search.
      const text = `{"${'p'.repeat(padding)}":${write(one)}}`;
      const expected = Object.fromEntries([['p'.repeat(padding), one]]);
      expect(integers(parse(text))).toEqual(expected);
    }),
    { numRuns: 2_000 },
  );
});

test('behavior: toBigint accepts numbers and decimal text, and rejects values that are not integers', () => {
  expect(toBigint(5)).toBe(5n);
  expect(toBigint('18446744073709551615')).toBe(18446744073709551615n);
  expect(toBigint('-1')).toBe(-1n);
  for (const bad of [1.5, 2 ** 60, '', '0x10', '1e3', null, true]) {
    expect(toBigint(bad), String(bad)).toBeUndefined();
  }
});
