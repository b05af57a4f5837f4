/** Pages as the kernels write and read them, compared with plain code. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { KernelUnderTest } from './testing/kernel-memory.ts';
import {
  encodePlainly,
  PLAIN_CODING,
  type PlainColumn,
  type PlainCounts,
} from './testing/plain-pages.ts';

interface PageExports {
  readonly LZ_DICTIONARY_TABLE_BYTES: { readonly value: number };
  readonly LZ_PAGE_TABLE_BYTES: { readonly value: number };
  lzBuildTable(dictionary: number, length: number, table: number): void;
  encodePage(
    columns: number,
    columnCount: number,
    counts: number,
    count: number,
    out: number,
  ): number;
  compressPages(...args: number[]): number;
  decodePages(...args: number[]): number;
}

const kernel = new KernelUnderTest<PageExports>('codec');
const { exports } = kernel;
const countsInts = 16;
const descriptorInts = 8;

interface Section {
  readonly columns: readonly PlainColumn[];
  readonly transactionCount: number;
  readonly pageTransactions: number;
  readonly highestBefore: number;
}

const u32 = fc.oneof(
  { weight: 6, arbitrary: fc.nat(127) },
  { weight: 2, arbitrary: fc.nat(20_000) },
  { weight: 1, arbitrary: fc.nat(0xffff_ffff) },
);
const u64 = fc.oneof(fc.bigInt(0n, 200n), fc.bigInt(0n, 2n ** 64n - 1n));

/**
 * Transactions with row counts in domain 1, one column that adds to these counts, and one column of rows for each coding. The rows give the
 * lengths of byte strings, in domain 2.
 */
const sections: fc.Arbitrary<Section> = fc
  .record({
    counts: fc.array(fc.oneof(fc.constant(0), fc.nat(3), fc.nat(40)), { maxLength: 14 }),
    pageTransactions: fc.constantFrom(1, 2, 4, 64),
    highestBefore: fc.constantFrom(-1, 0, 41, 1_000_000),
    isCounted: fc.boolean(),
  })
  .chain(({ counts, pageTransactions, highestBefore, isCounted }) => {
    const rowCount = counts.reduce((sum, count) => sum + count, 0);
    const rows = { minLength: rowCount, maxLength: rowCount };
    const ofTransactions = { minLength: counts.length, maxLength: counts.length };
    return fc
      .record({
        indexes: fc.array(u32, ofTransactions),
        ints: fc.array(u32, rows),
        longs: fc.array(u64, rows),
        keys: fc.array(fc.tuple(fc.boolean(), fc.nat(300)), rows),
        lengths: fc.array(fc.oneof(fc.constant(0), fc.nat(9)), rows),
        noise: fc.infiniteStream(fc.nat(255)),
      })
      .map(({ indexes, ints, longs, keys, lengths, noise }): Section => {
        const byteCount = lengths.reduce((sum, length) => sum + length, 0);
        const { int, long, bytes, delta, keys: ids } = PLAIN_CODING;
        const take = (length: number) => Array.from({ length }, () => noise.next().value);
        const counter = { coding: int, domain: 0, adds: 2, unit: 0, values: counts };
        const columns: PlainColumn[] = [
          { coding: delta, domain: 0, adds: 0, unit: 0, values: indexes },
          counter,
          { coding: int, domain: 1, adds: 0, unit: 0, values: ints },
          { coding: long, domain: 1, adds: 0, unit: 0, values: longs },
          { coding: ids, domain: 1, adds: 0, unit: 0, values: idsOf(keys, highestBefore) },
          { coding: bytes, domain: 1, adds: 0, unit: 3, values: take(rowCount * 3) },
        ];
        if (isCounted)
          columns.push(
            { coding: int, domain: 1, adds: 3, unit: 0, values: lengths },
            { coding: bytes, domain: 2, adds: 0, unit: 1, values: take(byteCount) },
          );
        const transactionCount = counts.length;
        return { columns, transactionCount, pageTransactions, highestBefore };
      });
  });

/** Ids in the order in which writers assign them. Some new ids are skipped, because only rewards use them. */
function idsOf(draws: readonly (readonly [boolean, number])[], before: number): number[] {
  let highest = before;
  return draws.map(([isNew, value]) => {
    if (!isNew && highest >= 0) return value % (highest + 1);
    highest += 1 + (value < 200 ? 0 : value - 199);
    return highest;
  });
}

const startCounts = (count: number): PlainCounts =>
  Array.from({ length: count }, () => Array.from({ length: countsInts }, (_, i) => +(i === 0)));

function placeValues({ coding, values }: PlainColumn): number {
  if (coding === PLAIN_CODING.bytes) return kernel.bytes(Uint8Array.from(values as number[]));
  if (coding === PLAIN_CODING.long) return kernel.longs(values as bigint[]);
  return kernel.ints(values as number[]);
}

const widthOf = ({ coding, unit }: PlainColumn) =>
  coding === PLAIN_CODING.bytes ? unit : coding === PLAIN_CODING.long ? 8 : 4;
const rowsOf = (column: PlainColumn) =>
  column.values.length / (column.coding === PLAIN_CODING.bytes ? column.unit : 1);

function describeColumns(section: Section, places: readonly number[]): number {
  const numbers = section.columns.flatMap((column, i) => {
    const { coding, domain, adds } = column;
    const base = coding === PLAIN_CODING.keys ? section.highestBefore >>> 0 : column.unit;
    return [coding, domain, adds, places[i] as number, 0, rowsOf(column), base, base];
  });
  expect(numbers.length).toBe(section.columns.length * descriptorInts);
  return kernel.ints(numbers);
}

function encode(section: Section): Uint8Array[] {
  kernel.reset();
  const { columns, transactionCount, pageTransactions } = section;
  const descriptors = describeColumns(section, columns.map(placeValues));
  const counts = kernel.ints(startCounts(transactionCount).flat());
  const out = kernel.reserve(200_000);
  const pages: Uint8Array[] = [];
  for (let first = 0; first < transactionCount; first += pageTransactions) {
    const count = Math.min(pageTransactions, transactionCount - first);
    const own = counts + first * countsInts * 4;
    const end = exports.encodePage(descriptors, columns.length, own, count, out);
    pages.push(kernel.read(out, end - out));
  }
  return pages;
}

function compress(pages: readonly Uint8Array[], dictionary: Uint8Array): Uint8Array[] {
  kernel.reset();
  const longest = Math.max(0, ...pages.map(({ length }) => length));
  const raw = kernel.bytes(Uint8Array.from(Buffer.concat(pages)));
  const lengths = kernel.ints(pages.map(({ length }) => length));
  const window = kernel.bytes(Uint8Array.from([...dictionary, ...new Uint8Array(longest)]));
  const dictionaryTable = kernel.reserve(exports.LZ_DICTIONARY_TABLE_BYTES.value);
  const pageTable = kernel.reserve(exports.LZ_PAGE_TABLE_BYTES.value);
  const total = pages.reduce((sum, { length }) => sum + length, 0);
  const out = kernel.reserve(total + Math.ceil(total / 255) + pages.length * 16);
  exports.lzBuildTable(window, dictionary.length, dictionaryTable);
  const end = exports.compressPages(
    raw,
    lengths,
    pages.length,
    window,
    dictionary.length,
    dictionaryTable,
    pageTable,
    out,
  );
  let at = out;
  const packed = kernel.readInts(lengths, pages.length).map((length) => {
    at += length;
    return kernel.read(at - length, length);
  });
  expect(at).toBe(end);
  return packed;
}

interface Stored {
  readonly pages: readonly (Uint8Array | undefined)[];
  /** Undefined if pages are not compressed. */
  readonly dictionary?: Uint8Array;
  readonly rawBytesMax: number;
}

/** Returns the decoded columns, or the number of the page that was refused. Checks that nothing is written far past a column. */
function decode(
  section: Section,
  { pages, dictionary, rawBytesMax }: Stored,
): Uint8Array[] | number {
  kernel.reset();
  const { columns, transactionCount, pageTransactions } = section;
  const sizes = columns.map((column) => rowsOf(column) * widthOf(column));
  const places = sizes.map((size) => kernel.reserve(size + guardBytes));
  const descriptors = describeColumns(section, places);
  const counts = kernel.ints(startCounts(transactionCount).flat());
  const addresses = pages.map((page) => (page === undefined ? 0 : kernel.bytes(page)));
  const table = kernel.ints(
    pages.flatMap((page, i) => [addresses[i] as number, page?.length ?? 0]),
  );
  const window = dictionary === undefined ? 0 : kernel.bytes(dictionary);
  if (dictionary !== undefined) kernel.reserve(rawBytesMax + 64);
  const failed = exports.decodePages(
    descriptors,
    columns.length,
    table,
    pageTransactions,
    counts,
    transactionCount,
    window,
    dictionary?.length ?? 0,
    rawBytesMax,
  );
  places.forEach((at, i) => {
    const end = at + (sizes[i] as number) + overshootBytes;
    expect(kernel.isUntouched(end, guardBytes - overshootBytes), `column ${i}`).toBe(true);
  });
  if (failed >= 0) return failed;
  return places.map((at, i) => kernel.read(at, sizes[i] as number));
}

/** Small integers are stored eight at a time, so up to seven may be written after the last one. */
const overshootBytes = 7 * 4;
const guardBytes = overshootBytes + 48;

/** Returns the bytes of a column in memory. */
function memoryOf({ coding, values }: PlainColumn): Uint8Array {
  if (coding === PLAIN_CODING.bytes) return Uint8Array.from(values as number[]);
  const typed =
    coding === PLAIN_CODING.long
      ? BigUint64Array.from(values as bigint[])
      : Uint32Array.from(values as number[]);
  return new Uint8Array(typed.buffer);
}

const plainPages = (section: Section) =>
  encodePlainly(section.columns, startCounts(section.transactionCount), section);
const longest = (pages: readonly Uint8Array[]) => Math.max(0, ...pages.map((p) => p.length));

describe('pages', () => {
  test('property: pages have the bytes that the format defines, and decode to the same values', () => {
    fc.assert(
      fc.property(sections, (section) => {
        const pages = plainPages(section);
        expect(encode(section)).toEqual(pages);
        const decoded = decode(section, { pages, rawBytesMax: longest(pages) });
        expect(decoded).toEqual(section.columns.map(memoryOf));
      }),
      { numRuns: 300 },
    );
  });

  test('property: pages that are compressed with their own or a random dictionary decode to the same values', () => {
    fc.assert(
      fc.property(
        sections,
        fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.constant('own' as const)),
        (section, other) => {
          const pages = plainPages(section);
          const own = Uint8Array.from(Buffer.concat(pages.filter((_, i) => i % 2 === 0)));
          const dictionary = other === 'own' ? own : other;
          const packed = compress(pages, dictionary);
          const rawBytesMax = longest(pages);
          const stored = { pages: packed, dictionary, rawBytesMax };
          expect(decode(section, stored)).toEqual(section.columns.map(memoryOf));
          expect(compress(pages, dictionary)).toEqual(packed);
        },
      ),
      { numRuns: 200 },
    );
  });

  test('behavior: a page that is in the dictionary takes few bytes, up to the maximum distance', () => {
    const page = Uint8Array.from({ length: 400 }, (_, i) => Math.imul(i + 1, 2_654_435_761) >>> 23);
    const rest = (length: number) => new Uint8Array(length).fill(7);
    const near = Uint8Array.from([...page, ...rest(65_535 - 400)]);
    const far = Uint8Array.from([...page, ...rest(65_536)]);
    expect(compress([page], near)[0]?.length).toBeLessThan(40);
    expect(compress([page], far)[0]?.length).toBeGreaterThan(300);
  });

  test('property: the rows of skipped pages are zeros, and other rows keep their positions', () => {
    const cases = fc.tuple(sections, fc.infiniteStream(fc.boolean()));
    fc.assert(
      fc.property(cases, ([section, wants]) => {
        const all = plainPages(section);
        const wanted = all.map(() => wants.next().value);
        // Row counts from the section itself are unknown for a page that was not read, so only columns with known counts are used.
        const [counter, ...counted] = section.columns.slice(1, 6) as [
          PlainColumn,
          ...PlainColumn[],
        ];
        const own = { ...section, columns: counted };
        const counts = startCounts(section.transactionCount);
        for (const [i, row] of counts.entries()) row[1] = Number(counter.values[i]);
        const ownPages = encodePlainly(
          counted,
          counts.map((row) => [...row]),
          section,
        );
        const stored = ownPages.map((page, i) => (wanted[i] === true ? page : undefined));
        const decoded = decodeCounted(own, counts, stored, longest(ownPages));
        const expected = counted.map((column) => {
          const bytes = memoryOf(column);
          const width = widthOf(column);
          let row = 0;
          counts.forEach((count, i) => {
            const end = row + (count[1] as number);
            if (wanted[Math.floor(i / section.pageTransactions)] !== true)
              bytes.fill(0, row * width, end * width);
            row = end;
          });
          return bytes;
        });
        expect(decoded).toEqual(expected);
      }),
      { numRuns: 200 },
    );
  });
});

/** Like `decode`, for a section whose rows another section counted. */
function decodeCounted(
  section: Section,
  counts: PlainCounts,
  pages: readonly (Uint8Array | undefined)[],
  rawBytesMax: number,
): Uint8Array[] {
  kernel.reset();
  const sizes = section.columns.map((column) => rowsOf(column) * widthOf(column));
  const places = sizes.map((size) => kernel.reserve(size + guardBytes));
  const addresses = pages.map((page) => (page === undefined ? 0 : kernel.bytes(page)));
  const failed = exports.decodePages(
    describeColumns(section, places),
    section.columns.length,
    kernel.ints(pages.flatMap((page, i) => [addresses[i] as number, page?.length ?? 0])),
    section.pageTransactions,
    kernel.ints(counts.flat()),
    section.transactionCount,
    0,
    0,
    rawBytesMax,
  );
  expect(failed).toBe(-1);
  return places.map((at, i) => kernel.read(at, sizes[i] as number));
}

describe('malformed pages', () => {
  /** Replaced bytes, missing bytes and additional bytes. */
  const damages = fc.record({
    page: fc.nat(),
    changes: fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
    cut: fc.oneof(fc.constant(0), fc.nat(5)),
    more: fc.oneof(fc.constant(new Uint8Array(0)), fc.uint8Array({ maxLength: 12 })),
  });
  type Damage = typeof damages extends fc.Arbitrary<infer Value> ? Value : never;

  function damage(pages: readonly Uint8Array[], { page, changes, cut, more }: Damage) {
    const number = page % pages.length;
    const old = pages[number] as Uint8Array;
    const bytes = Uint8Array.from([...old.subarray(0, Math.max(0, old.length - cut)), ...more]);
    for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte;
    return { number, pages: pages.map((own, i) => (i === number ? bytes : own)) };
  }

  /** Checks that a damaged page decodes to something or is refused at that page or a later one. A trap of the kernel would throw. */
  function judge(section: Section, stored: Stored, first: number): void {
    const result = decode(section, stored);
    if (typeof result === 'number') {
      expect(result).toBeGreaterThanOrEqual(first);
      expect(result).toBeLessThan(stored.pages.length);
    }
  }

  const some = sections.filter(({ transactionCount }) => transactionCount > 0);

  test('property: malformed pages are refused or decode to something, and nothing is written outside of the columns', () => {
    fc.assert(
      fc.property(some, damages, (section, how) => {
        const whole = plainPages(section);
        const { pages, number } = damage(whole, how);
        judge(section, { pages, rawBytesMax: longest(pages) }, number);
      }),
      { numRuns: 1_000 },
    );
  });

  test('property: damaged compressed pages are refused or decode to something', () => {
    fc.assert(
      fc.property(some, fc.uint8Array({ maxLength: 100 }), damages, (section, dictionary, how) => {
        const whole = plainPages(section);
        const { pages, number } = damage(compress(whole, dictionary), how);
        judge(section, { pages, dictionary, rawBytesMax: longest(whole) }, number);
      }),
      { numRuns: 1_000 },
    );
  });

  test('behavior: a missing or additional byte in any page is refused', () => {
    fc.assert(
      fc.property(some, fc.nat(), fc.boolean(), (section, at, isShort) => {
        const whole = plainPages(section);
        const number = at % whole.length;
        const old = whole[number] as Uint8Array;
        const bytes = isShort ? old.subarray(0, -1) : Uint8Array.from([...old, 0]);
        const pages = whole.map((own, i) => (i === number ? bytes : own));
        expect(decode(section, { pages, rawBytesMax: longest(pages) })).toBe(number);
      }),
      { numRuns: 200 },
    );
  });

  const { int, long, bytes, keys, delta } = PLAIN_CODING;
  const huge = [0xff, 0xff, 0xff, 0xff, 0x0f];
  test.each([
    ['integers', int, 0],
    ['long integers', long, 0],
    ['bytes', bytes, 1],
    ['units of 64 bytes', bytes, 64],
    ['keys', keys, 0],
    ['differences', delta, 0],
  ])(
    'behavior: a count that exceeds the capacity of the columns is refused before %s',
    (_, coding, unit) => {
      // One transaction has one row. The next claims nearly 2^32, so that the sum overflows to a small number.
      for (const count of [huge, [0xfe, ...huge.slice(1)], [0x80, 0x80, 0x80, 0x80, 0x04]]) {
        const rows = Array.from({ length: Math.max(1, unit) }, () => 0);
        const columns: PlainColumn[] = [
          { coding: int, domain: 0, adds: 2, unit: 0, values: [1, 0] },
          { coding, domain: 1, adds: 0, unit, values: coding === long ? [0n] : rows },
        ];
        const section = { columns, transactionCount: 2, pageTransactions: 1, highestBefore: -1 };
        const prefix = coding === keys ? [0] : [];
        const pages = [
          Uint8Array.from([...prefix, 1, ...rows]),
          Uint8Array.from([...prefix, ...count, ...new Array(40).fill(0)]),
        ];
        expect(decode(section, { pages, rawBytesMax: 64 })).toBe(1);
      }
    },
  );

  test('behavior: a varint that is longer than its type is refused', () => {
    const longVarint = [...new Array(10).fill(0x80), 0x00];
    for (const [coding, limit] of [
      [int, 5],
      [delta, 5],
      [long, 10],
    ] as const) {
      const values = coding === long ? [1n] : [1];
      const columns = [{ coding, domain: 0, adds: 0, unit: 0, values }];
      const section = { columns, transactionCount: 1, pageTransactions: 1, highestBefore: -1 };
      for (let length = 1; length <= 11; length++) {
        const page = Uint8Array.from([...longVarint.slice(0, length - 1), 1]);
        const result = decode(section, { pages: [page], rawBytesMax: 16 });
        if (length > limit) expect(result, `${length} bytes`).toBe(0);
        else expect(typeof result, `${length} bytes`).toBe('object');
      }
    }
  });
});
