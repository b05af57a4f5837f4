import { expect, expectTypeOf, test } from 'vitest';
import { entriesOf, keysOf, mapKeys } from './typed-keys.ts';

const table = { fee: 5, units: 7 } as const;

test('default: keys and entries keep their types and their order', () => {
  expect(keysOf(table)).toEqual(['fee', 'units']);
  expect(entriesOf(table)).toEqual([
    ['fee', 5],
    ['units', 7],
  ]);
  expectTypeOf(keysOf(table)).toEqualTypeOf<readonly ('fee' | 'units')[]>();
});

test('default: an object is built from its keys', () => {
  const lengths = mapKeys(keysOf(table), (key) => key.length);
  expect(lengths).toEqual({ fee: 3, units: 5 });
  expectTypeOf(lengths).toEqualTypeOf<Record<'fee' | 'units', number>>();
});
