import { base58 } from '@scure/base';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { EngineExports } from './engine-exports.ts';
import { KernelUnderTest } from './testing/kernel-memory.ts';

/** With what stands below selecting and writing; those two are compared as wholes. */
interface ColumnExports extends EngineExports {
  keyRooms(keys: number, count: number, out: number): void;
  keyText(room: number): number;
  signatureText(room: number): number;
  writeUlong(value: bigint, out: number): number;
}

const kernel = new KernelUnderTest<ColumnExports>('engine');
const { exports } = kernel;
exports.base58Initialize(kernel.room(exports.BASE58_TABLE_BYTES.value));
kernel.keep();
const begin = () => kernel.reset();
beforeEach(begin);

type Width = 1 | 2 | 4;
const widthOf = (values: readonly number[]): Width => {
  const max = Math.max(0, ...values);
  return max < 256 ? 1 : max < 65_536 ? 2 : 4;
};
const column = (max = 0xffff_ffff) =>
  fc.oneof(
    fc.array(fc.nat(255), { maxLength: 40 }),
    fc.array(fc.nat(Math.min(max, 65_535)), { maxLength: 40 }),
    fc.array(fc.nat(max), { maxLength: 40 }),
  );
/** Where ranges of these lengths start, and the end of the last. */
const startsFrom = (lengths: readonly number[]): number[] => {
  let at = 0;
  return [0, ...lengths.map((length) => (at += length))];
};

describe('base58', () => {
  const encode = (bytes: Uint8Array): string => {
    const at = kernel.bytes(bytes);
    const out = kernel.room(bytes.length * 2 + 16);
    return kernel.readText(out, exports.base58Encode(at, bytes.length, out));
  };
  /** By repeated division of the whole number; for what @scure/base finds too long. */
  const encodePlainly = (bytes: Uint8Array): string => {
    let value = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`);
    let text = '';
    for (; value > 0n; value /= 58n)
      text =
        '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'[Number(value % 58n)] + text;
    return (
      '1'.repeat(
        bytes.findIndex((byte) => byte !== 0) < 0
          ? bytes.length
          : bytes.findIndex((byte) => byte !== 0),
      ) + text
    );
  };

  test('behavior: every length from 0 to 1,300 bytes, of the largest value and of noise', () => {
    for (let length = 0; length <= 1_300; length++) {
      begin();
      const noise = Uint8Array.from(
        { length },
        (_, i) => (Math.imul(i + length, 2_654_435_761) >>> 9) & 0xff,
      );
      // The yardstick is quadratic: all lengths by one value, the largest by every seventh.
      expect(encode(noise), `${length} bytes`).toBe(encodePlainly(noise));
      if (length % 7 < 2) {
        const largest = new Uint8Array(length).fill(255);
        expect(encode(largest), `${length} bytes of 255`).toBe(encodePlainly(largest));
      }
    }
  });

  test('behavior: past the tables, and where a sum of words would overflow', () => {
    for (const length of [1_023, 1_024, 1_025, 1_028, 1_279, 1_280, 1_281, 1_284, 2_000, 4_000]) {
      begin();
      const largest = new Uint8Array(length).fill(255);
      expect(encode(largest), `${length} bytes`).toBe(encodePlainly(largest));
    }
  });

  test('property: as @scure/base does it, zeros in front and all', () => {
    fc.assert(
      fc.property(fc.nat(40), fc.uint8Array({ maxLength: 160 }), (zeroCount, rest) => {
        begin();
        const bytes = Uint8Array.from([...new Uint8Array(zeroCount), ...rest]);
        expect(encode(bytes)).toBe(base58.encode(bytes));
      }),
      { numRuns: 300 },
    );
  });
});

describe('texts that take the place of their bytes', () => {
  /** Bytes that begin with zeros as often as not. */
  const withZeros = (length: { min: number; max: number }) =>
    fc
      .tuple(fc.nat(length.max), fc.uint8Array({ minLength: length.min, maxLength: length.max }))
      .map(([zeroCount, bytes]) => bytes.fill(0, 0, zeroCount));
  /** Rows in some order, each at least once, some twice: a text is made once and stays. */
  const orders = fc.infiniteStream(fc.nat());
  const orderOf = (count: number, order: Iterator<number>) => {
    const rows = Array.from({ length: count }, (_, row) => ({ row, rank: order.next().value }));
    const sorted = rows.sort((a, b) => a.rank - b.rank).map(({ row }) => row);
    return [...sorted, ...sorted.slice(0, count / 2)];
  };
  const join = (rows: readonly Uint8Array[]) => kernel.bytes(Uint8Array.from(Buffer.concat(rows)));

  test('property: keys, in quotes', () => {
    const keys = fc.array(withZeros({ min: 32, max: 32 }), { maxLength: 20 });
    fc.assert(
      fc.property(keys, orders, (rows, order) => {
        begin();
        const at = join(rows);
        const rooms = kernel.room(rows.length * 48);
        exports.keyRooms(at, rows.length, rooms);
        for (const row of orderOf(rows.length, order)) {
          const room = rooms + row * 48;
          const text = kernel.readText(room, room + exports.keyText(room));
          expect(text).toBe(`"${base58.encode(rows[row] as Uint8Array)}"`);
        }
      }),
      { numRuns: 100 },
    );
  });

  test('property: signatures', () => {
    const signatures = fc.array(withZeros({ min: 64, max: 64 }), { maxLength: 12 });
    fc.assert(
      fc.property(signatures, orders, (rows, order) => {
        begin();
        const at = join(rows);
        const rooms = kernel.room(rows.length * 96);
        exports.signatureRooms(at, rows.length, rooms);
        for (const row of orderOf(rows.length, order)) {
          const room = rooms + row * 96;
          const text = kernel.readText(room, room + exports.signatureText(room));
          expect(text).toBe(base58.encode(rows[row] as Uint8Array));
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('columns', () => {
  test('property: starts of lengths, of several columns summed', () => {
    fc.assert(
      fc.property(column(1 << 20), column(1 << 20), (a, b) => {
        begin();
        const count = Math.min(a.length, b.length);
        const out = kernel.room((a.length + 1) * 4);
        const total = exports.startsOf(kernel.ints(a, widthOf(a)), widthOf(a), a.length, out);
        expect(kernel.readInts(out, a.length + 1)).toEqual(startsFrom(a));
        expect(total).toBe(startsFrom(a).at(-1));
        const sums = kernel.ints(a);
        exports.addColumn(kernel.ints(b, widthOf(b)), widthOf(b), count, sums);
        expect(kernel.readInts(sums, count)).toEqual(
          a.slice(0, count).map((value, i) => value + (b[i] as number)),
        );
      }),
    );
  });

  test('property: running sums start anew at each range', () => {
    fc.assert(
      fc.property(column(1 << 20), fc.array(fc.nat(12), { maxLength: 8 }), (steps, lengths) => {
        begin();
        const starts = startsFrom(lengths).map((start) => Math.min(start, steps.length));
        const out = kernel.room(steps.length * 4);
        exports.sumInRanges(
          kernel.ints(steps, widthOf(steps)),
          widthOf(steps),
          kernel.ints(starts),
          lengths.length,
          out,
        );
        const end = starts.at(-1) as number;
        const expected = lengths.flatMap((_, range) => {
          let sum = 0;
          return steps.slice(starts[range], starts[range + 1]).map((step) => (sum += step));
        });
        expect(kernel.readInts(out, end)).toEqual(expected);
      }),
    );
  });

  test('property: key codes to ids, as the format says', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1, max: 1 << 20 }),
        fc.array(fc.tuple(fc.boolean(), fc.nat(400)), { maxLength: 60 }),
        (before, draws) => {
          begin();
          let highest = before;
          const ids: number[] = [];
          const codes = draws.map(([isNew, value]) => {
            if (isNew || highest < 0) {
              highest += value + 1;
              ids.push(highest);
              return 2 * value;
            }
            const id = value % (highest + 1);
            ids.push(id);
            return 2 * id + 1;
          });
          const out = kernel.room(codes.length * 4);
          exports.decodeKeys(
            kernel.ints(codes, widthOf(codes)),
            widthOf(codes),
            codes.length,
            before,
            out,
          );
          expect(kernel.readInts(out, codes.length)).toEqual(ids);
        },
      ),
    );
  });

  test('property: the side after is null, as before, or its own', () => {
    const side = fc.option(fc.oneof(fc.nat(200), fc.nat(60_000)), { nil: null });
    fc.assert(
      fc.property(fc.array(fc.tuple(side, side), { maxLength: 40 }), (rows) => {
        begin();
        const pre = rows.map(([before]) => (before === null ? 0 : before + 1));
        const post = rows.map(([before, after]) =>
          after === null ? 0 : after === before ? 1 : after + 2,
        );
        const out = kernel.room(rows.length * 2);
        const [preWidth, postWidth] = [widthOf(pre), widthOf(post)];
        exports.resolvePost(
          kernel.ints(pre, preWidth),
          preWidth,
          kernel.ints(post, postWidth),
          postWidth,
          rows.length,
          out,
        );
        const width = Math.max(preWidth, postWidth);
        const bytes = kernel.read(out, rows.length * width);
        const decoded = width === 1 ? [...bytes] : [...new Uint16Array(bytes.buffer)];
        expect(decoded).toEqual(rows.map(([, after]) => (after === null ? 0 : after + 1)));
      }),
    );
  });

  test('property: columns side by side in rows as wide as the widest', () => {
    fc.assert(
      fc.property(column(65_535), column(65_535), (a, b) => {
        begin();
        const count = Math.min(a.length, b.length);
        const rowWidth = Math.max(widthOf(a), widthOf(b)) as Width;
        const out = kernel.room(count * 2 * rowWidth);
        [a, b].forEach((values, place) => {
          const width = widthOf(values);
          exports.interleave(kernel.ints(values, width), width, count, place, rowWidth, 2, out);
        });
        const rows = a.slice(0, count).flatMap((value, i) => [value, b[i] as number]);
        const expected = kernel.ints(rows, rowWidth);
        const byteCount = rows.length * rowWidth;
        expect(kernel.read(out, byteCount)).toEqual(kernel.read(expected, byteCount));
      }),
    );
  });

  const u64 = fc.oneof(
    fc.constantFrom(0n, 1n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n),
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  );
  /** Written out from the page on the format: 2d, or -2d - 1 for what is negative. */
  const fold = (difference: bigint) => {
    const signed = BigInt.asIntN(64, difference);
    return BigInt.asUintN(64, signed < 0n ? -2n * signed - 1n : 2n * signed);
  };

  test('property: amounts after are amounts before plus a folded difference, every digit', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(u64, u64), { maxLength: 30 }), (rows) => {
        begin();
        const pre = kernel.longs(rows.map(([before]) => before));
        const change = kernel.longs(rows.map(([before, after]) => fold(after - before)));
        const out = kernel.room(rows.length * 8);
        exports.applyChanges(pre, 8, change, 8, rows.length, out);
        expect(kernel.readLongs(out, rows.length)).toEqual(rows.map(([, after]) => after));
      }),
    );
  });

  test('behavior: narrow columns of amounts and differences', () => {
    const out = kernel.room(3 * 8);
    exports.applyChanges(kernel.ints([5, 6, 7], 1), 1, kernel.ints([0, 3, 513], 2), 2, 3, out);
    expect(kernel.readLongs(out, 3)).toEqual([5n, 4n, BigInt.asUintN(64, 7n - 257n)]);
  });

  test('property: addresses of call trees from their depths', () => {
    const tree = fc.array(fc.nat(8), { maxLength: 30 }).map((steps) => {
      const paths: number[][] = [];
      let before: number[] = [];
      for (const step of steps) {
        const depth = (step % (before.length + 1)) + 1;
        before =
          depth > before.length
            ? [...before, 0]
            : [...before.slice(0, depth - 1), (before[depth - 1] as number) + 1];
        paths.push(before);
      }
      return paths;
    });
    fc.assert(
      fc.property(fc.array(tree, { maxLength: 5 }), (trees) => {
        begin();
        const paths = trees.flat();
        const depths = paths.map((path) => path.length);
        const texts = paths.map((path) => JSON.stringify(path));
        const textStarts = kernel.room((paths.length + 1) * 4);
        const starts = kernel.ints(startsFrom(trees.map((own) => own.length)));
        const scratch = kernel.room(4_096);
        const out = kernel.room(20_000);
        const end = exports.addressTexts(
          kernel.ints(depths, 1),
          1,
          starts,
          trees.length,
          scratch,
          textStarts,
          out,
        );
        expect(kernel.readText(out, end)).toBe(texts.join(''));
        expect(kernel.readInts(textStarts, paths.length)).toEqual(
          startsFrom(texts.map((text) => text.length)).slice(0, -1),
        );
      }),
      { numRuns: 100 },
    );
  });

  test('property: the first 8 and 16 bytes of each range, zeros where it is shorter', () => {
    const rows = fc.array(fc.uint8Array({ maxLength: 24 }), { maxLength: 20 });
    fc.assert(
      fc.property(rows, fc.constantFrom(8, 16), (rows, width) => {
        begin();
        const data = kernel.bytes(Uint8Array.from(Buffer.concat(rows)));
        const starts = kernel.ints(startsFrom(rows.map((row) => row.length)));
        const out = kernel.room(rows.length * width);
        exports.dataPrefixes(data, starts, rows.length, width, out);
        const expected = rows.map((row) =>
          Uint8Array.from({ length: width }, (_, i) => row[i] ?? 0),
        );
        expect(kernel.read(out, rows.length * width)).toEqual(
          Uint8Array.from(Buffer.concat(expected)),
        );
      }),
    );
  });

  test('property: 32-bit values to the width that holds them, and sizes to bytes', () => {
    fc.assert(
      fc.property(column(), (values) => {
        begin();
        const wide = kernel.ints(values);
        const bits = exports.bitsOf(wide, values.length) >>> 0;
        expect(bits).toBe(values.reduce((all, value) => (all | value) >>> 0, 0));
        const width = widthOf(values);
        const out = kernel.room(values.length * 4);
        exports.narrow(wide, values.length, width, out);
        const again = kernel.ints(values, width);
        expect(kernel.read(out, values.length * width)).toEqual(
          kernel.read(again, values.length * width),
        );
        exports.capBytes(again, width, values.length, out);
        expect([...kernel.read(out, values.length)]).toEqual(
          values.map((value) => Math.min(value, 255)),
        );
      }),
    );
  });
});

describe('integers', () => {
  const write = (value: bigint) => {
    const out = kernel.room(32);
    return kernel.readText(out, exports.writeUlong(BigInt.asIntN(64, value), out));
  };

  test('behavior: at every boundary of digits and bits', () => {
    const values = new Set<bigint>([0n, 2n ** 64n - 1n]);
    for (let digits = 0n; digits < 20n; digits++)
      for (const step of [-1n, 0n, 1n]) values.add(10n ** digits + step);
    for (let bits = 0n; bits < 64n; bits++)
      for (const step of [-1n, 0n, 1n]) values.add(2n ** bits + step);
    for (const value of values) expect(write(value)).toBe(String(value));
  });

  test('property: any integer of 64 bits', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (value) => {
        begin();
        expect(write(value)).toBe(String(value));
      }),
      { numRuns: 300 },
    );
  });
});
