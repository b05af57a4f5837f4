import { base58 } from '@scure/base';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  decodeBase58,
  describeBase58Fault,
  encodeBase58,
  isBase58,
  isBase58Of32,
  isBase58Of64,
} from './base58.ts';

const bytes = (max: number) =>
  fc
    .tuple(fc.nat(max), fc.constantFrom(0, 0xff), fc.uint8Array({ maxLength: max }))
    .map(([count, edge, tail]) => Uint8Array.from([...Array(count).fill(edge), ...tail]));

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** The definition of base58: a number in base 58, after one `1` for each leading zero byte. */
function encodePlainly(value: Uint8Array): string {
  const zeroCount = value.findIndex((byte) => byte !== 0);
  let rest = value.reduce((number, byte) => number * 256n + BigInt(byte), 0n);
  let text = '';
  for (; rest > 0n; rest /= 58n) text = alphabet.charAt(Number(rest % 58n)) + text;
  return '1'.repeat(zeroCount < 0 ? value.length : zeroCount) + text;
}

test('property: encoding and decoding agree with the definition', () => {
  fc.assert(
    fc.property(bytes(150), (value) => {
      const text = encodePlainly(value);
      expect(encodeBase58(value)).toBe(text);
      expect(decodeBase58(text)).toEqual(value);
    }),
    { numRuns: 2_000 },
  );
});

test('behavior: long bytes of the greatest value are encoded by the definition', () => {
  for (const length of [137, 138, 139, 141, 277, 1_232, 1_535, 1_536, 1_537, 1_540]) {
    const value = new Uint8Array(length).fill(0xff);
    expect(encodeBase58(value)).toBe(encodePlainly(value));
  }
});

test('behavior: texts of any length are converted, because instruction data has no limit here', () => {
  const value = Uint8Array.from({ length: 12_000 }, (_, i) => (i * 7 + 1) % 256);
  const text = encodeBase58(value);
  expect(text.length).toBeGreaterThan(16_000);
  expect(decodeBase58(text)).toEqual(value);
});

test('property: the byte length found without decoding is the decoded length', () => {
  const near = fc
    .constantFrom(31, 32, 33, 63, 64, 65)
    .chain((length) =>
      fc
        .tuple(fc.nat(length), fc.constantFrom(0, 1, 0xff))
        .chain(([count, edge]) =>
          fc
            .uint8Array({ minLength: length - count, maxLength: length - count })
            .map((tail) => Uint8Array.from([...Array(count).fill(edge), ...tail])),
        ),
    );
  fc.assert(
    fc.property(near, (value) => {
      const text = base58.encode(value);
      expect(isBase58Of32(text)).toBe(value.length === 32);
      expect(isBase58Of64(text)).toBe(value.length === 64);
    }),
    { numRuns: 5_000 },
  );
});

test('behavior: the smallest and the greatest values of 32 and 64 bytes are accepted, their neighbours rejected', () => {
  for (const [length, isOfLength] of [
    [32, isBase58Of32],
    [64, isBase58Of64],
  ] as const) {
    const greatest = base58.encode(new Uint8Array(length).fill(0xff));
    // The greatest number of 32 bytes plus one is the smallest number of 33 bytes: 1 followed by zeros.
    const beyond = base58.encode(Uint8Array.from([1, ...Array(length).fill(0)]));
    expect(isOfLength(greatest)).toBe(true);
    expect(isOfLength(beyond)).toBe(false);
    expect(isOfLength('1'.repeat(length))).toBe(true);
    expect(isOfLength('1'.repeat(length - 1))).toBe(false);
    expect(isOfLength('1'.repeat(length + 1))).toBe(false);
    expect(isOfLength('')).toBe(false);
  }
});

test('error: characters outside the alphabet are rejected', () => {
  for (const character of ['0', 'O', 'I', 'l', ' ', '+', '\u007f', 'é', 'ı', '\u0131', '😀']) {
    expect(isBase58(`abc${character}`), character).toBe(false);
    expect(decodeBase58(`abc${character}`), character).toBeUndefined();
    const address = `${character}${'2'.repeat(43)}`.slice(0, 44);
    expect(isBase58Of32(address), character).toBe(false);
  }
});

test('behavior: the empty text encodes zero bytes', () => {
  expect(isBase58('')).toBe(true);
  expect(decodeBase58('')).toEqual(new Uint8Array(0));
  expect(encodeBase58(new Uint8Array(0))).toBe('');
});

test.each([
  ['0abc', 'character "0" at position 1 is not base58'],
  ['ab\u{1f600}c', 'character "\u{1f600}" at position 3 is not base58'],
  ['', 'it decodes to 0 bytes'],
  ['1', 'it decodes to 1 byte'],
  ['1'.repeat(33), 'it decodes to 33 bytes'],
  ['z'.repeat(200), 'it has 200 characters'],
])('behavior: the error in %j is described', (text, fault) => {
  expect(describeBase58Fault(text)).toBe(fault);
});
