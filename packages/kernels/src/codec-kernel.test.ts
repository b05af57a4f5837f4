import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KernelUnderTest } from './testing/kernel-memory.ts';

interface CodecExports {
  readonly LZ_TABLE_BYTES: { readonly value: number };
  lzCompress(input: number, length: number, out: number, table: number): number;
  lzDecompress(input: number, length: number, out: number, capacity: number): number;
  splitPlanes(input: number, width: number, count: number, planes: number, out: number): void;
  joinPlanes(input: number, planes: number, count: number, width: number, out: number): void;
}

const kernel = new KernelUnderTest<CodecExports>('codec');

function compress(bytes: Uint8Array): Uint8Array {
  kernel.reset();
  const table = kernel.reserve(kernel.exports.LZ_TABLE_BYTES.value);
  const input = kernel.bytes(bytes);
  const bound = bytes.length + Math.ceil(bytes.length / 255) + 16;
  const out = kernel.reserve(bound);
  const length = kernel.exports.lzCompress(input, bytes.length, out, table);
  expect(length).toBeLessThanOrEqual(bound);
  return kernel.read(out, length);
}

/** Returns the decoded bytes, or undefined if the kernel refuses. Checks that nothing is written before `out` or past its slack. */
function decompress(packed: Uint8Array, capacity: number): Uint8Array | undefined {
  kernel.reset();
  const input = kernel.bytes(packed);
  const before = kernel.reserve(64);
  const out = kernel.reserve(capacity + 32);
  const length = kernel.exports.lzDecompress(input, packed.length, out, capacity);
  expect(kernel.isUntouched(before, 64)).toBe(true);
  expect(kernel.isUntouched(out + capacity + 32, 2_048)).toBe(true);
  expect(kernel.read(input, packed.length)).toEqual(Uint8Array.from(packed));
  return length < 0 ? undefined : kernel.read(out, length);
}

/** Decodes the LZ4 block format in the simplest way. Returns undefined if the input is malformed or too long. */
function decodePlainly(packed: Uint8Array, capacity: number): Uint8Array | undefined {
  const out: number[] = [];
  let at = 0;
  const lengthFrom = (nibble: number): number => {
    let length = nibble;
    for (let more = nibble === 15 ? 255 : 0; more === 255; length += more) {
      if (at >= packed.length) return Number.NaN;
      more = packed[at++] as number;
    }
    return length;
  };
  while (at < packed.length) {
    const token = packed[at++] as number;
    const literals = lengthFrom(token >> 4);
    if (!(at + literals <= packed.length) || out.length + literals > capacity) return undefined;
    out.push(...packed.subarray(at, at + literals));
    at += literals;
    if (at >= packed.length) break;
    if (at + 2 > packed.length) return undefined;
    const offset = (packed[at] as number) + 256 * (packed[at + 1] as number);
    at += 2;
    const matched = lengthFrom(token & 15) + 4;
    if (!(offset > 0 && offset <= out.length && out.length + matched <= capacity)) return undefined;
    for (let i = 0; i < matched; i++) out.push(out[out.length - offset] as number);
  }
  return Uint8Array.from(out);
}

/** Bytes that resemble columns: runs, near and far repetitions, random bytes. */
const columnBytes = fc
  .array(
    fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.tuple(fc.nat(255), fc.nat(600)).map(([byte, count]) => new Uint8Array(count).fill(byte)),
      fc
        .tuple(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.nat(40))
        .map(([unit, count]) =>
          Uint8Array.from(
            { length: unit.length * count },
            (_, i) => unit[i % unit.length] as number,
          ),
        ),
    ),
    { maxLength: 12 },
  )
  .map((parts) => Uint8Array.from(Buffer.concat(parts)));

describe('lz', () => {
  test('property: compressed bytes are decoded to the same bytes, by the kernel and by plain code', () => {
    fc.assert(
      fc.property(columnBytes, (bytes) => {
        const packed = compress(bytes);
        expect(decompress(packed, bytes.length)).toEqual(bytes);
        expect(decodePlainly(packed, bytes.length)).toEqual(bytes);
        expect(compress(bytes)).toEqual(packed);
      }),
      { numRuns: 200 },
    );
  });

  test.each([0, 1, 11, 12, 13, 14, 15, 16, 17, 269, 270, 271, 65_535, 65_536, 70_000])(
    'behavior: %i bytes are decoded unchanged: equal, ascending and random ones',
    (length) => {
      const noise = (i: number) => (Math.imul(i + 1, 2_654_435_761) >>> 13) & 0xff;
      for (const value of [() => 7, (i: number) => i & 0xff, (i: number) => i % 251, noise]) {
        const bytes = Uint8Array.from({ length }, (_, i) => value(i));
        expect(Buffer.compare(decompress(compress(bytes), length) as Uint8Array, bytes)).toBe(0);
      }
    },
  );

  test('behavior: repetitions beyond the maximum distance are not used', () => {
    const bytes = new Uint8Array(140_000);
    for (let i = 0; i < 70_000; i++)
      bytes[i] = bytes[i + 70_000] = (Math.imul(i + 1, 2_654_435_761) >>> 11) & 0xff;
    expect(Buffer.compare(decompress(compress(bytes), bytes.length) as Uint8Array, bytes)).toBe(0);
  });

  test('behavior: repeated bytes are compressed to a small size', () => {
    expect(compress(new Uint8Array(100_000)).length).toBeLessThan(500);
  });

  test('property: malformed input has the same result as with plain code, and nothing is written outside the output', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 200 }),
          fc
            .tuple(columnBytes, fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 4 }))
            .map(([bytes, changes]) => {
              const packed = compress(bytes);
              for (const [at, byte] of changes)
                if (packed.length > 0) packed[at % packed.length] = byte;
              return packed;
            }),
        ),
        fc.nat(3_000),
        (packed, capacity) => {
          expect(decompress(packed, capacity)).toEqual(decodePlainly(packed, capacity));
        },
      ),
      { numRuns: 400 },
    );
  });
});

describe('planes', () => {
  const split = (values: readonly bigint[], planes: number) =>
    Uint8Array.from({ length: values.length * planes }, (_, i) =>
      Number(
        ((values[i % values.length] as bigint) >> BigInt(8 * Math.floor(i / values.length))) &
          0xffn,
      ),
    );
  const shapes = fc
    .constantFrom(
      { planes: 1, width: 1 },
      { planes: 2, width: 2 },
      { planes: 3, width: 4 },
      { planes: 4, width: 4 },
      { planes: 1, width: 8 },
      { planes: 5, width: 8 },
      { planes: 6, width: 8 },
      { planes: 7, width: 8 },
      { planes: 8, width: 8 },
    )
    .chain(({ planes, width }) =>
      fc.record({
        planes: fc.constant(planes),
        width: fc.constant(width),
        values: fc.array(fc.bigInt({ min: 0n, max: 2n ** BigInt(8 * planes) - 1n }), {
          maxLength: 70,
        }),
      }),
    );

  test('property: splitting and joining give the same results as plain code, and are inverse', () => {
    fc.assert(
      fc.property(shapes, ({ planes, width, values }) => {
        kernel.reset();
        const whole = new Uint8Array(values.length * width);
        values.forEach((value, i) => {
          for (let byte = 0; byte < width; byte++)
            whole[i * width + byte] = Number((value >> BigInt(8 * byte)) & 0xffn);
        });
        const input = kernel.bytes(whole);
        const out = kernel.reserve(values.length * planes);
        kernel.exports.splitPlanes(input, width, values.length, planes, out);
        expect(kernel.read(out, values.length * planes)).toEqual(split(values, planes));
        const joined = kernel.reserve(values.length * width);
        kernel.exports.joinPlanes(out, planes, values.length, width, joined);
        expect(kernel.read(joined, values.length * width)).toEqual(whole);
        expect(kernel.isUntouched(joined + values.length * width, 32)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
