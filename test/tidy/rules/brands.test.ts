import { expect, test } from 'vitest';
import { parseSource } from '../source-file.ts';
import { findForeignBrands } from './brands.ts';

const home = {
  path: 'packages/ledger/src/primitives.ts',
  text: "export type Slot = Brand<number, 'Slot'>; export const toSlot = (n: number) => n as Slot;",
};

function linesOf(text: string, path = 'packages/server/src/chain/a.ts'): unknown[] {
  const sources = [home, { path, text }].map(parseSource);
  return findForeignBrands(sources).map((finding) => [finding.path, finding.line]);
}

test.each([
  'const slot = 1 as Slot;',
  'const slots = list as readonly Slot[];',
  'const entry = pair as [string, Slot | null];',
])('error: `%s` outside the file of the brand', (text) => {
  expect(linesOf(`\n${text}`)).toEqual([['packages/server/src/chain/a.ts', 2]]);
});

test.each(['const slot = toSlot(1);', 'const text = value as string;', 'let slot: Slot;'])(
  'behavior: `%s` creates no branded value by a cast',
  (text) => {
    expect(linesOf(text)).toEqual([]);
  },
);

test('behavior: tests may cast', () => {
  expect(linesOf('const slot = 1 as Slot;', 'packages/server/src/chain/a.test.ts')).toEqual([]);
});
