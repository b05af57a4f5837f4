import { expect, test } from 'vitest';
import { parseSource } from '../source-file.ts';
import { findCastsBeyond } from './casts.ts';

const text = 'const a = b as string; const c = d as unknown as number; const e = [1] as const;';

function judge(path: string, countMax: number): number {
  return findCastsBeyond([parseSource({ path, text })], countMax).length;
}

test('limit: casts are counted, and as const is not one', () => {
  expect(judge('packages/server/src/chain/a.ts', 3)).toBe(0);
  expect(judge('packages/server/src/chain/a.ts', 2)).toBe(1);
});

test.each([
  'packages/server/src/chain/a.test.ts',
  'packages/server/src/chain/testing/a.ts',
  'test/docs/a.ts',
])('behavior: %s is not product code', (path) => {
  expect(judge(path, 0)).toBe(0);
});
