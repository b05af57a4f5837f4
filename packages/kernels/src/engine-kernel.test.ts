import { base58 } from '@scure/base';
import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { EngineExports } from './engine-exports.ts';
import { KernelUnderTest } from './testing/kernel-memory.ts';
import { pushVarint } from './testing/plain-pages.ts';

/** The engine's exports with the functions below selection and writing. Other tests compare selection and writing as a whole. */
interface ColumnExports extends EngineExports {
  copyKeys(keys: number, count: number, out: number): void;
  keyText(place: number): number;
  writeUlong(value: bigint, out: number): number;
}

const kernel = new KernelUnderTest<ColumnExports>('engine');
const { exports } = kernel;
exports.base58Initialize(kernel.reserve(exports.BASE58_TABLE_BYTES.value));
kernel.keep();
const begin = () => kernel.reset();
beforeEach(begin);

const column = (max = 0xffff_ffff) =>
  fc.oneof(
    fc.array(fc.nat(255), { maxLength: 40 }),
    fc.array(fc.nat(Math.min(max, 65_535)), { maxLength: 40 }),
    fc.array(fc.nat(max), { maxLength: 40 }),
  );
/** Returns where ranges of these lengths start, and the end of the last one. */
const startsFrom = (lengths: readonly number[]): number[] => {
  let at = 0;
  return [0, ...lengths.map((length) => (at += length))];
};

describe('base58', () => {
  const encode = (bytes: Uint8Array): string => {
    const at = kernel.bytes(bytes);
    const out = kernel.reserve(bytes.length * 2 + 16);
    return kernel.readText(out, exports.base58Encode(at, bytes.length, out));
  };
  /** Encodes by repeated division of the whole number, for values that are too long for @scure/base. */
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

  test('behavior: encodes every length from 0 to 1,300 bytes, with the largest value and with random bytes', () => {
    for (let length = 0; length <= 1_300; length++) {
      begin();
      const noise = Uint8Array.from(
        { length },
        (_, i) => (Math.imul(i + length, 2_654_435_761) >>> 9) & 0xff,
      );
      // The comparison takes quadratic time, so the largest value is tested only for two of seven lengths.
      expect(encode(noise), `${length} bytes`).toBe(encodePlainly(noise));
      if (length % 7 < 2) {
        const largest = new Uint8Array(length).fill(255);
        expect(encode(largest), `${length} bytes of 255`).toBe(encodePlainly(largest));
      }
    }
  });

  test('behavior: encodes values longer than the tables, and values whose sums would overflow', () => {
    for (const length of [1_023, 1_024, 1_025, 1_028, 1_279, 1_280, 1_281, 1_284, 2_000, 4_000]) {
      begin();
      const largest = new Uint8Array(length).fill(255);
      expect(encode(largest), `${length} bytes`).toBe(encodePlainly(largest));
    }
  });

  test('property: encodes like @scure/base, including leading zeros', () => {
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

describe('texts that replace their bytes', () => {
  /** Bytes, half of which start with zeros. */
  const withZeros = (length: { min: number; max: number }) =>
    fc
      .tuple(fc.nat(length.max), fc.uint8Array({ minLength: length.min, maxLength: length.max }))
      .map(([zeroCount, bytes]) => bytes.fill(0, 0, zeroCount));
  /** Rows in random order, each at least once and some twice: a text is encoded once and stays. */
  const orders = fc.infiniteStream(fc.nat());
  const orderOf = (count: number, order: Iterator<number>) => {
    const rows = Array.from({ length: count }, (_, row) => ({ row, rank: order.next().value }));
    const sorted = rows.sort((a, b) => a.rank - b.rank).map(({ row }) => row);
    return [...sorted, ...sorted.slice(0, count / 2)];
  };
  const join = (rows: readonly Uint8Array[]) => kernel.bytes(Uint8Array.from(Buffer.concat(rows)));

  test('property: keys are written as quoted text', () => {
    const keys = fc.array(withZeros({ min: 32, max: 32 }), { maxLength: 20 });
    fc.assert(
      fc.property(keys, orders, (rows, order) => {
        begin();
        const at = join(rows);
        const places = kernel.reserve(rows.length * 48);
        exports.copyKeys(at, rows.length, places);
        for (const row of orderOf(rows.length, order)) {
          const place = places + row * 48;
          const text = kernel.readText(place, place + exports.keyText(place));
          expect(text).toBe(`"${base58.encode(rows[row] as Uint8Array)}"`);
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('columns', () => {
  test('property: starts are the running sums of lengths, over one or several columns', () => {
    fc.assert(
      fc.property(column(1 << 20), column(1 << 20), (a, b) => {
        begin();
        const count = Math.min(a.length, b.length);
        const out = kernel.reserve((a.length + 1) * 4);
        const total = exports.startsOf(kernel.ints(a), a.length, out);
        expect(kernel.readInts(out, a.length + 1)).toEqual(startsFrom(a));
        expect(total).toBe(startsFrom(a).at(-1));
        const sums = kernel.ints(a);
        exports.addColumn(kernel.ints(b), count, sums);
        expect(kernel.readInts(sums, count)).toEqual(
          a.slice(0, count).map((value, i) => value + (b[i] as number)),
        );
      }),
    );
  });

  test('property: the sum and the highest value of a column, also above 32 and 31 bits', () => {
    fc.assert(
      fc.property(column(2 ** 32 - 1), (values) => {
        begin();
        const at = kernel.ints(values);
        expect(exports.sumOf(at, values.length)).toBe(
          values.reduce((sum, value) => sum + value, 0),
        );
        expect(exports.highestOf(at, values.length)).toBe(Math.max(0, ...values));
      }),
    );
  });

  test('property: running sums restart at each range', () => {
    fc.assert(
      fc.property(column(1 << 20), fc.array(fc.nat(12), { maxLength: 8 }), (steps, lengths) => {
        begin();
        const starts = startsFrom(lengths).map((start) => Math.min(start, steps.length));
        const out = kernel.reserve(steps.length * 4);
        exports.sumInRanges(kernel.ints(steps), kernel.ints(starts), lengths.length, out);
        const end = starts.at(-1) as number;
        const expected = lengths.flatMap((_, range) => {
          let sum = 0;
          return steps.slice(starts[range], starts[range + 1]).map((step) => (sum += step));
        });
        expect(kernel.readInts(out, end)).toEqual(expected);
      }),
    );
  });

  test('property: the value after a transaction is null, unchanged, or its own value', () => {
    const side = fc.option(fc.oneof(fc.nat(200), fc.nat(60_000)), { nil: null });
    fc.assert(
      fc.property(fc.array(fc.tuple(side, side), { maxLength: 40 }), (rows) => {
        begin();
        const pre = rows.map(([before]) => (before === null ? 0 : before + 1));
        const post = rows.map(([before, after]) =>
          after === null ? 0 : after === before ? 1 : after + 2,
        );
        const out = kernel.reserve(rows.length * 4);
        exports.resolvePost(kernel.ints(pre), kernel.ints(post), rows.length, out);
        const decoded = kernel.readInts(out, rows.length);
        expect(decoded).toEqual(rows.map(([, after]) => (after === null ? 0 : after + 1)));
      }),
    );
  });

  const u64 = fc.oneof(
    fc.constantFrom(0n, 1n, 2n ** 53n + 1n, 2n ** 63n - 1n, 2n ** 63n, 2n ** 64n - 1n),
    fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
  );
  /** As the format's documentation defines it: 2d, or -2d - 1 for a negative d. */
  const fold = (difference: bigint) => {
    const signed = BigInt.asIntN(64, difference);
    return BigInt.asUintN(64, signed < 0n ? -2n * signed - 1n : 2n * signed);
  };

  test('property: the amount after is the amount before plus a zigzag difference, with every digit', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(u64, u64), { maxLength: 30 }), (rows) => {
        begin();
        const pre = kernel.longs(rows.map(([before]) => before));
        const change = kernel.longs(rows.map(([before, after]) => fold(after - before)));
        const out = kernel.reserve(rows.length * 8);
        exports.applyChanges(pre, change, rows.length, out);
        expect(kernel.readLongs(out, rows.length)).toEqual(rows.map(([, after]) => after));
      }),
    );
  });

  test('property: addresses of call trees are derived from depths', () => {
    // An address that cannot be derived from the previous one is stored in full.
    const odd = fc.array(fc.nat(300), { minLength: 1, maxLength: 6 });
    const step = fc.tuple(fc.nat(8), fc.option(odd, { freq: 4 }));
    const tree = fc.array(step, { maxLength: 30 }).map((steps) => {
      let before: readonly number[] = [];
      return steps.map(([up, path]) => {
        const depth = (up % (before.length + 1)) + 1;
        const next = [...before.slice(0, depth - 1), (before[depth - 1] ?? -1) + 1];
        before = path ?? next;
        return { path: before, oddSteps: path ?? [] };
      });
    });
    fc.assert(
      fc.property(fc.array(tree, { maxLength: 5 }), (trees) => {
        begin();
        const rows = trees.flat();
        const paths = rows.map(({ path }) => path);
        const depths = paths.map((path) => path.length);
        const texts = paths.map((path) => JSON.stringify(path));
        const textStarts = kernel.reserve((paths.length + 1) * 4);
        const starts = kernel.ints(startsFrom(trees.map((own) => own.length)));
        const scratch = kernel.reserve(4_096);
        const out = kernel.reserve(20_000);
        const end = exports.addressTexts(
          kernel.ints(depths),
          kernel.ints(rows.map(({ oddSteps }) => oddSteps.length)),
          kernel.ints(rows.flatMap(({ oddSteps }) => oddSteps)),
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

  test('property: candidates are mapped to the positions of their transactions in memory', () => {
    const sets = fc.record({
      pageTransactions: fc.integer({ min: 1, max: 5 }),
      wanted: fc.array(fc.boolean(), { minLength: 1, maxLength: 20 }),
      first: fc.nat(1_000),
      firstPosition: fc.nat(1_000),
    });
    fc.assert(
      fc.property(sets, ({ pageTransactions, wanted, first, firstPosition }) => {
        begin();
        const isRead = (transaction: number) => wanted[Math.floor(transaction / pageTransactions)];
        const inMemory = Array.from(
          { length: wanted.length * pageTransactions },
          (_, transaction) => transaction,
        ).filter(isRead);
        const ranks = startsFrom(wanted.map(Number));
        const list = kernel.ints(inMemory.map((transaction) => first + transaction));
        const out = kernel.reserve(inMemory.length * 4);
        exports.locateTransactions(
          list,
          inMemory.length,
          first,
          pageTransactions,
          kernel.ints(ranks),
          firstPosition,
          out,
        );
        expect(kernel.readInts(out, inMemory.length)).toEqual(
          inMemory.map((_, place) => firstPosition + place),
        );
      }),
    );
  });
});

describe('page tables', () => {
  const varints = (values: readonly number[]) =>
    values.flatMap((value) => {
      const out: number[] = [];
      pushVarint(out, BigInt(value));
      return out;
    });
  const read = (table: readonly number[], sections: number, paged: number, pageCount: number) => {
    begin();
    const out = kernel.reserve(sections * (pageCount + 2) * 4);
    const at = kernel.bytes(table);
    const isRead = exports.readPageStarts(at, table.length, sections, paged, pageCount, out);
    const count = Math.min(paged, sections) * (pageCount + 1) + Math.max(0, sections - paged) * 2;
    return isRead === 0 ? undefined : kernel.readInts(out, count);
  };
  const tables = fc
    .record({ paged: fc.nat(3), whole: fc.nat(3), pageCount: fc.nat(6) })
    .chain(({ paged, whole, pageCount }) => {
      const pages = fc.array(fc.oneof(fc.nat(200), fc.nat(100_000)), {
        minLength: pageCount,
        maxLength: pageCount,
      });
      return fc.record({
        pageCount: fc.constant(pageCount),
        paged: fc.array(pages, { minLength: paged, maxLength: paged }),
        whole: fc.array(fc.nat(300), { minLength: whole, maxLength: whole }),
      });
    });

  test('property: each page starts where the previous one ends, separately for each section', () => {
    fc.assert(
      fc.property(tables, ({ paged, whole, pageCount }) => {
        const sections = [...paged, ...whole.map((length) => [length])];
        const table = varints(sections.flat());
        const starts = sections.flatMap(startsFrom);
        expect(read(table, sections.length, paged.length, pageCount)).toEqual(starts);
        expect(read([...table, 0], sections.length, paged.length, pageCount)).toBeUndefined();
        if (table.length > 0)
          expect(read(table.slice(1, -1), sections.length, paged.length, pageCount)).toBe(
            undefined,
          );
      }),
    );
  });

  test('behavior: lengths whose sum exceeds 32 bits are refused', () => {
    expect(read(varints([0xffff_fff0, 0x20]), 1, 1, 2)).toBeUndefined();
    expect(read(varints([0xffff_fff0, 0x0f]), 1, 1, 2)).toEqual([0, 0xffff_fff0, 0xffff_ffff]);
  });

  test('property: counts are summed by domain', () => {
    const row = fc.array(fc.nat(1 << 20), { minLength: 16, maxLength: 16 });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 20 }), (rows) => {
        begin();
        const out = kernel.reserve(64);
        exports.sumCounts(kernel.ints(rows.flat()), rows.length, out);
        const sums = Array.from({ length: 16 }, (_, domain) =>
          rows.reduce((sum, own) => sum + (own[domain] as number), 0),
        );
        expect(kernel.readInts(out, 16)).toEqual(sums);
      }),
    );
  });
});

describe('integers', () => {
  const write = (value: bigint) => {
    const out = kernel.reserve(32);
    return kernel.readText(out, exports.writeUlong(BigInt.asIntN(64, value), out));
  };

  test('behavior: writes integers at every boundary of digits and bits', () => {
    const values = new Set<bigint>([0n, 2n ** 64n - 1n]);
    for (let digits = 0n; digits < 20n; digits++)
      for (const step of [-1n, 0n, 1n]) values.add(10n ** digits + step);
    for (let bits = 0n; bits < 64n; bits++)
      for (const step of [-1n, 0n, 1n]) values.add(2n ** bits + step);
    for (const value of values) expect(write(value)).toBe(String(value));
  });

  test('property: writes any 64-bit integer', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (value) => {
        begin();
        expect(write(value)).toBe(String(value));
      }),
      { numRuns: 300 },
    );
  });
});
