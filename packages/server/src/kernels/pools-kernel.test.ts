import { base58 } from '@scure/base';
import fc from 'fast-check';
import { beforeEach, expect, test } from 'vitest';
import type { EngineExports } from './engine-exports.ts';
import { KernelUnderTest } from './testing/kernel-memory.ts';

interface PoolExports extends EngineExports {
  dataText(entry: number): number;
}

const kernel = new KernelUnderTest<PoolExports>('engine');
const { exports } = kernel;
exports.base58Initialize(kernel.room(exports.BASE58_TABLE_BYTES.value));
kernel.keep();
const begin = () => kernel.reset();
beforeEach(begin);

/** Rows of which many are equal, nearly equal, or equal but for their length. */
const rowsOf = (...lengths: readonly { min: number; max: number }[]) =>
  fc.array(
    fc.oneof(
      ...lengths.map(({ min, max }) =>
        fc
          .tuple(fc.integer({ min, max }), fc.nat(2), fc.option(fc.nat(255)))
          .map(([length, fill, last]) => {
            const row = new Uint8Array(length).fill(fill);
            if (last !== null && length > 0) row[length - 1] = last;
            return row;
          }),
      ),
    ),
    { maxLength: 60 },
  );
const place = (rows: readonly Uint8Array[], placeCount = 128) => {
  const bytes = kernel.bytes(Uint8Array.from(Buffer.concat(rows)));
  let end = 0;
  const starts = kernel.ints([0, ...rows.map(({ length }) => (end += length))]);
  const table = kernel.ints(new Uint32Array(placeCount));
  return { bytes, starts, table, mask: placeCount - 1, total: end, offsets: kernel.room(60 * 4) };
};
const differentCount = (rows: readonly Uint8Array[]) =>
  new Set(rows.map((row) => Buffer.from(row).toString('hex'))).size;

test('property: texts, each once', () => {
  fc.assert(
    fc.property(rowsOf({ min: 0, max: 40 }), (rows) => {
      begin();
      const { bytes, starts, table, mask, total, offsets } = place(rows);
      const pool = kernel.room(total + rows.length * 4 + 16);
      const end = exports.poolTexts(bytes, starts, rows.length, table, mask, offsets, pool);
      const places = kernel.readInts(offsets, rows.length);
      rows.forEach((row, i) => {
        const entry = pool + (places[i] as number);
        expect(kernel.readInts(entry, 1)).toEqual([row.length]);
        expect(kernel.read(entry + 4, row.length)).toEqual(row);
      });
      expect(new Set(places).size).toBe(differentCount(rows));
      expect(end - pool).toBeLessThanOrEqual(total + rows.length * 4);
    }),
    { numRuns: 200 },
  );
});

test('behavior: a table without a free place near leaves rows as they are', () => {
  const rows = Array.from({ length: 60 }, (_, i) => Uint8Array.of(i % 30));
  const { bytes, starts, table, mask, offsets } = place(rows, 8);
  const pool = kernel.room(60 * 5 + 16);
  exports.poolTexts(bytes, starts, rows.length, table, mask, offsets, pool);
  const places = kernel.readInts(offsets, rows.length);
  rows.forEach((row, i) => {
    expect(kernel.read(pool + (places[i] as number) + 4, 1)).toEqual(row);
  });
  expect(new Set(places).size).toBeGreaterThan(30);
});

test('property: data of any length, whose text takes the place of the bytes', () => {
  const data = rowsOf({ min: 0, max: 8 }, { min: 0, max: 90 }, { min: 1_278, max: 1_283 });
  const orders = fc.array(fc.nat(59), { maxLength: 90 });
  fc.assert(
    fc.property(data, orders, (rows, order) => {
      begin();
      const { bytes, starts, table, mask, total, offsets } = place(rows);
      const pool = kernel.room(Math.ceil((total * 11) / 8) + rows.length * 8);
      exports.poolData(bytes, starts, rows.length, table, mask, offsets, pool);
      const places = kernel.readInts(offsets, rows.length);
      // In some order, some twice: a text is made once and stays.
      for (const row of [...order.filter((row) => row < rows.length), ...rows.keys()]) {
        const entry = pool + (places[row] as number);
        const text = kernel.readText(entry + 4, entry + 4 + exports.dataText(entry));
        expect(text).toBe(base58.encode(rows[row] as Uint8Array));
      }
      const short = rows.filter(({ length }) => length <= 1_280);
      const longCount = rows.length - short.length;
      expect(new Set(places).size).toBe(differentCount(short) + longCount);
    }),
    { numRuns: 60 },
  );
});
