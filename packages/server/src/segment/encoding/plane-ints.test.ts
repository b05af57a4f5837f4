import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeInts, decodeUnit, decodeUnitInto, packedUnits, plainUnits } from './unit.ts';

test('behavior: sums are those of the single values, whether a column is packed, plain or constant', () => {
  const column = fc.oneof(
    fc.array(fc.nat(255)),
    fc.array(fc.nat()),
    fc.tuple(fc.nat(), fc.nat(50)).map(([value, length]) => Array<number>(length).fill(value)),
  );
  fc.assert(
    fc.property(column, fc.constantFrom(packedUnits, plainUnits), (values, encoder) => {
      const { stored, ...entry } = encoder.ints(Uint32Array.from(values));
      const ints = decodeInts(stored, entry, 'column');
      const expected = [0];
      for (const value of values) expected.push((expected.at(-1) ?? 0) + value);
      expect([...ints.sums()]).toEqual(expected);
      expect(ints.smallSums()).toEqual(Uint32Array.from(expected));
    }),
  );
});

test('behavior: sums of values with more than 32 bits are exact', () => {
  const values = BigUint64Array.of(2n ** 40n, 3n, 2n ** 33n + 1n);
  const { stored, ...entry } = packedUnits.ints(values);
  const sums = [...decodeInts(stored, entry, 'column').sums()];
  expect(sums).toEqual([0, 2 ** 40, 2 ** 40 + 3, 2 ** 40 + 2 ** 33 + 4]);
});

test('error: segment-damaged: an uncompressed unit of another length than its entry says is refused', () => {
  const { stored, ...entry } = plainUnits.bytes(Uint8Array.of(1, 2, 3));
  const refused = expect.objectContaining({ code: 'segment-damaged' });
  for (const rawLength of [2, 4]) {
    const other = { ...entry, rawLength, count: rawLength };
    expect(() => decodeUnit(stored, other, 'unit')).toThrow(refused);
    const target = new Uint8Array(rawLength);
    expect(() => decodeUnitInto(stored, other, 'unit', target)).toThrow(refused);
  }
});
