import { expect, test } from 'vitest';
import { ByteColumn, IntColumn, LongColumn } from './growable.ts';

const memories = {
  ordinary: (length: number) => new ArrayBuffer(length),
  shared: (length: number) => new SharedArrayBuffer(length),
} as const;

test.each(Object.entries(memories))(
  'default: columns append values from %s memory, few or many',
  (_, makeBuffer) => {
    const [ints, longs, bytes] = [new IntColumn(), new LongColumn(), new ByteColumn()];
    const expected: number[] = [];
    for (const count of [0, 3, 127, 128, 129, 2_000]) {
      const values = Array.from({ length: count }, (_value, i) => (i * 7 + count) % 251);
      expected.push(...values);
      // The values start inside of the memory, at an address that is only as aligned as it must be.
      const intView = new Uint32Array(makeBuffer(4 + count * 4), 4);
      intView.set(values);
      ints.append(intView);
      const longView = new BigUint64Array(makeBuffer(8 + count * 8), 8);
      longView.set(values.map(BigInt));
      longs.append(longView);
      const byteView = new Uint8Array(makeBuffer(1 + count), 1);
      byteView.set(values);
      bytes.append(byteView);
    }
    expect([...ints.values]).toEqual(expected);
    expect([...longs.values]).toEqual(expected.map(BigInt));
    expect([...bytes.values]).toEqual(expected);
  },
);

test('default: a column is extended by values that are written afterwards', () => {
  const column = new IntColumn();
  column.push(1);
  column.extend(100).fill(2);
  expect(column.extend(0)).toHaveLength(0);
  column.push(3);
  expect([...column.values]).toEqual([1, ...Array(100).fill(2), 3]);
});
