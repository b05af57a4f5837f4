import { createHash } from 'node:crypto';
import { constants, deflateRawSync, inflateRawSync } from 'node:zlib';
import { Random } from '@sluice/base/random';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DeflateEncoder } from './deflate-encoder.ts';
import { inflatePlainly } from './testing/inflate-plainly.ts';

const encoder = new DeflateEncoder();
const blockBytesMax = 65_535;
const shortTextBytesMax = 24_576;
const windowBytes = 32_768;

function encode(text: Uint8Array): Buffer {
  const packed = Buffer.from(encoder.encode(text));
  const blockCount = Math.ceil(text.length / blockBytesMax);
  expect(packed.length).toBeLessThanOrEqual(text.length + (blockCount + 1) * 6);
  return packed;
}

const unpack = (packed: Uint8Array) =>
  inflateRawSync(packed, { finishFlush: constants.Z_SYNC_FLUSH });

function expectSame(text: Uint8Array): Buffer {
  const packed = encode(text);
  // Buffers are compared directly, because a matcher would print every byte.
  expect(unpack(packed).equals(text)).toBe(true);
  return packed;
}

const random = Random.fromSeed(1);
const noise = Uint8Array.from({ length: 300_000 }, () => random.below(256));
const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
const address = (length = 44) => Array.from({ length }, () => alphabet[random.below(58)]).join('');
const known = Array.from({ length: 200 }, () => address());

/** Returns text that resembles an answer, with at least this many bytes. */
function answer(byteCount: number): Buffer {
  const rows: string[] = [];
  for (let length = 0; length < byteCount; ) {
    const account = random.below(3) === 0 ? address() : (known[random.below(200)] as string);
    const row = {
      transactionIndex: rows.length >> 3,
      account,
      pre: random.below(1e9),
      signature: address(88),
    };
    rows.push(JSON.stringify(row));
    length += (rows.at(-1)?.length ?? 0) + 1;
  }
  return Buffer.from(`${rows.join(',')}\n`);
}

describe('decoding', () => {
  test('default: an answer is decoded to the same bytes, and is smaller than with zlib at level 1', () => {
    for (const byteCount of [2_000, 20_000, 60_000, 300_000]) {
      const text = answer(byteCount);
      const packed = expectSame(text);
      const level1 = deflateRawSync(text, { level: 1, finishFlush: constants.Z_SYNC_FLUSH });
      expect(packed.length).toBeLessThanOrEqual(level1.length);
      const { text: plain } = inflatePlainly(packed);
      expect(Buffer.from(plain).equals(text)).toBe(true);
    }
  });

  test('behavior: an empty text is an empty block', () => {
    expect(inflatePlainly(encode(new Uint8Array(0)))).toMatchObject({ types: ['stored'] });
    expect(expectSame(new Uint8Array(0))).toHaveLength(5);
  });

  test('behavior: concatenated results are one stream', () => {
    const texts = [
      answer(100),
      noise.subarray(0, 70_000),
      new Uint8Array(0),
      answer(90_000),
      answer(1),
    ];
    const last = Buffer.of(3, 0);
    const stream = Buffer.concat([...texts.map((text) => encode(text)), last]);
    expect(inflateRawSync(stream).equals(Buffer.concat(texts))).toBe(true);
  });

  test('behavior: short texts of every length and content are decoded', () => {
    const text = answer(700);
    for (let length = 0; length <= 600; length++) {
      for (const from of [text, noise, new Uint8Array(600)]) expectSame(from.subarray(0, length));
    }
  });

  test.each([shortTextBytesMax, windowBytes, blockBytesMax, 2 * blockBytesMax, 2 ** 16, 2 ** 17])(
    'limit: lengths around %i are decoded',
    (length) => {
      const text = answer(2 ** 17 + 10);
      for (let each = length - 9; each <= length + 9; each++) {
        for (const from of [text, noise, new Uint8Array(2 ** 17 + 10)])
          expectSame(from.subarray(0, each));
      }
    },
  );
});

describe('matches', () => {
  /** Random bytes, a repetition of some of them at the given distance, and more random bytes. */
  function repeated(length: number, distance: number, padding: number): Buffer {
    const source = noise.subarray(100, 100 + Math.max(length, distance));
    const again = Uint8Array.from({ length }, (_, i) => source[i % distance] as number);
    const parts = [noise.subarray(200_000, 200_000 + padding), source.subarray(0, distance), again];
    return Buffer.concat([...parts, noise.subarray(150_000, 150_020)]);
  }

  test('limit: matches longer than the maximum are decoded, and every length from 5 to 258 occurs', () => {
    const lengths = new Set<number>();
    for (let length = 3; length <= 600; length++) {
      const short = inflatePlainly(expectSame(repeated(length, 1_000, 0)));
      for (const each of short.lengths) lengths.add(each);
      expectSame(repeated(length, 1_000, 80_000));
    }
    for (let length = 5; length <= 258; length++) expect(lengths).toContain(length);
  });

  test.each([1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31])(
    'limit: a match that overlaps itself at distance %i',
    (distance) => {
      for (const length of [3, 8, 100, 257, 258, 259, 260, 261, 262, 516, 517, 40_000, 70_000]) {
        expectSame(repeated(length, distance, 0));
        expectSame(repeated(length, distance, 30_000));
      }
    },
  );

  test('limit: matches reach back to the start of the window and no further', () => {
    const value = noise.subarray(0, 1_000);
    const sizeAt = (distance: number, before: number) => {
      const between = new Uint8Array(distance - value.length).fill(1);
      const text = Buffer.concat([new Uint8Array(before).fill(2), value, between, value]);
      const { distances } = inflatePlainly(expectSame(text));
      expect(distances.has(distance)).toBe(distance <= windowBytes);
      return expectSame(text).length;
    };
    for (const before of [0, 10_000, 40_000, 70_000]) {
      expect(sizeAt(windowBytes, before)).toBeLessThan(1_500);
      expect(sizeAt(windowBytes + 1, before)).toBeGreaterThan(2_000);
    }
  });

  test('behavior: matches may start in the previous block', () => {
    const text = answer(60_000).subarray(0, 60_000);
    const twice = Buffer.concat([text, text.subarray(30_000)]);
    expect(expectSame(twice).length - expectSame(text).length).toBeLessThan(1_000);
  });
});

describe('codes', () => {
  const typesOf = (text: Uint8Array) => inflatePlainly(expectSame(text)).types;

  test('default: an answer gets its own codes', () => {
    expect(typesOf(answer(3_000))).toEqual(['dynamic', 'stored']);
  });

  test('behavior: a very short text gets the fixed codes', () => {
    expect(typesOf(Buffer.from('{"header":{"number":300000000}}\n'))).toEqual(['fixed', 'stored']);
  });

  test('behavior: incompressible text is stored', () => {
    expect(typesOf(noise.subarray(0, 100_000))).toEqual(['stored', 'stored', 'stored']);
  });

  test('limit: Fibonacci frequencies, whose codes would be too long, get limited codes', () => {
    const counts = [1, 1];
    while (counts.length < 22) counts.push((counts.at(-1) as number) + (counts.at(-2) as number));
    for (const symbolCount of [15, 18, 22]) {
      const symbols = counts
        .slice(0, symbolCount)
        .flatMap((count, i) => Array<number>(count).fill(i * 9));
      // Shuffled, so that no match is found and every byte is a literal.
      const shuffled = Buffer.from(symbols);
      for (let i = shuffled.length - 1; i > 0; i--) {
        const j = random.below(i + 1);
        [shuffled[i], shuffled[j]] = [shuffled[j] as number, shuffled[i] as number];
      }
      expect(Buffer.from(inflatePlainly(expectSame(shuffled)).text).equals(shuffled)).toBe(true);
    }
  });
});

test('behavior: the same text gives the same bytes, regardless of earlier texts', () => {
  /** Returns equal rows of 64 bytes with some changed bytes. More than 1,024 rows exceed the range of the search's 16-bit positions. */
  const rows = (count: number) => {
    const text = Buffer.concat(Array<Uint8Array>(count).fill(noise.subarray(0, 64)));
    for (let i = 0; i < count / 2; i++) text[random.below(text.length)] = random.below(256);
    return text;
  };
  const texts = [answer(700), answer(40_000), answer(200_000), noise.subarray(0, 1_000)];
  for (const count of [20, 100, 200, 1_000, 1_100]) texts.push(rows(count));
  const fresh = texts.map((text) => Buffer.from(new DeflateEncoder().encode(text)));
  for (const before of [noise, new Uint8Array(250_000).fill(7), answer(250_000), rows(1_500)]) {
    texts.forEach((text, i) => {
      encode(before);
      encode(texts.at(i - 1) as Uint8Array);
      expect(encode(text).equals(fresh[i] as Buffer)).toBe(true);
    });
  }
});

test('behavior: the bytes are the same on every machine', () => {
  let state = 1;
  const next = () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 16;
  };
  const rows = Array.from(
    { length: 4_000 },
    () => `{"account":"${next() % 300}","pre":${next()}},`,
  );
  const digits = Array.from({ length: 4_000 }, () => next().toString(36));
  const text = [...rows, ...digits].join('');
  const hash = createHash('sha256');
  for (const length of [100, 10_000, text.length])
    hash.update(encode(Buffer.from(text.slice(0, length))));
  expect(hash.digest('hex').slice(0, 16)).toBe('21f7ab549add797f');
});

test('limit: a text of many megabytes is encoded, and shorter ones after it', () => {
  const text = Buffer.concat(Array<Uint8Array>(30).fill(noise));
  expectSame(text);
  expectSame(answer(1_000));
});

test('property: any text is decoded to the same bytes, by zlib and by the plain decoder', () => {
  const chunk = fc.oneof(
    fc.uint8Array({ maxLength: 40 }),
    fc.string({ maxLength: 60 }).map((text) => Buffer.from(text)),
    fc.tuple(fc.nat(255), fc.nat(700)).map(([byte, count]) => new Uint8Array(count).fill(byte)),
    fc
      .tuple(fc.nat(100_000), fc.nat(3_000))
      .map(([from, count]) => noise.subarray(from, from + count)),
  );
  const repeats = fc.array(fc.tuple(fc.nat(9), fc.nat(40)), { maxLength: 60 });
  fc.assert(
    fc.property(fc.array(chunk, { minLength: 1, maxLength: 10 }), repeats, (chunks, order) => {
      const again = order.map(([i, cut]) =>
        (chunks[i % chunks.length] as Uint8Array).subarray(cut),
      );
      const text = Buffer.concat([...chunks, ...again]);
      const packed = expectSame(text);
      if (text.length < 4_000)
        expect(Buffer.from(inflatePlainly(packed).text).equals(text)).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});
