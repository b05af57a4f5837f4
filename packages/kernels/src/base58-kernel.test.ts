import { base58 } from '@scure/base';
import { decodeBase58 } from '@sluice/base/base58';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { base58Codec } from './base58-codec.ts';

const decoder = base58Codec();

function decode(text: string): Uint8Array | undefined {
  const length = decoder.decode(text);
  return length < 0 ? undefined : decoder.bytes.slice(0, length);
}

/** Lengths around those of addresses and signatures, where sums are carried, and at the end of the tables. */
const lengths = fc.oneof(
  fc.constantFrom(0, 1, 31, 32, 33, 63, 64, 65, 745, 746, 747, 750, 1308, 1309, 1310, 1311, 1312),
  fc.nat(1_400),
);
const bytes = lengths.chain((length) =>
  fc
    .tuple(fc.nat(length), fc.constantFrom(0, 1, 0xff))
    .chain(([count, edge]) =>
      fc
        .uint8Array({ minLength: length - count, maxLength: length - count })
        .map((tail) => Uint8Array.from([...Array(count).fill(edge), ...tail])),
    ),
);

test('property: decodes the output of another implementation, like the plain decoder', () => {
  fc.assert(
    fc.property(bytes, (value) => {
      const text = base58.encode(value);
      expect(decode(text)).toEqual(value);
      expect(decodeBase58(text)).toEqual(value);
    }),
    { numRuns: 120 },
  );
});

test('property: accepts and refuses the same texts as the plain decoder', () => {
  const character = fc.oneof(
    {
      weight: 40,
      arbitrary: fc.constantFrom(...'123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom('0', 'O', 'I', 'l', ' ', '\u0000', '\u00e9', '\u0131', '\u2031'),
    },
  );
  fc.assert(
    fc.property(fc.array(character, { maxLength: 120 }), (characters) => {
      const text = characters.join('');
      expect(decode(text)).toEqual(decodeBase58(text));
    }),
    { numRuns: 1_000 },
  );
});

test.each([1, 4, 1_020, 1_024, 1_028, 1_791, 1_792, 1_793, 3_000])(
  'limit: the greatest text of %i characters, and as many zeros, are decoded',
  (length) => {
    expect(decode('z'.repeat(length))).toEqual(base58.decode('z'.repeat(length)));
    expect(decode('1'.repeat(length))).toEqual(new Uint8Array(length));
  },
);

test('behavior: a text after a longer one is decoded correctly', () => {
  decode('z'.repeat(3_000));
  expect(decode('2')).toEqual(Uint8Array.from([1]));
  expect(decode('')).toEqual(new Uint8Array(0));
});
