import { expect, test } from 'vitest';
import { parseSource } from '../source-file.ts';
import { findTestFaults } from './tests.ts';

function judge(text: string): string[] {
  const file = parseSource({ path: 'packages/server/src/base/a.test.ts', text });
  return findTestFaults([file]).map(({ message }) => message);
}

test('default: names with a known prefix are accepted', () => {
  expect(judge("test('limit: at most ten', f); test.each(a)('error: %s', f);")).toEqual([]);
});

test('error: a name without a prefix is found, also in tables and templates', () => {
  expect(judge("test('fork 2', f);")).toEqual([
    'the name "fork 2" must start with default:, behavior:, error:, limit: or property:',
  ]);
  expect(judge("test.each(a)('fork %s', f);")).toHaveLength(1);
  expect(judge("test.skipIf(b)('fork', f);")).toHaveLength(1);
  expect(judge(['test(`fork $', '{i}`, f);'].join(''))).toHaveLength(1);
});

test('error: disabled and exclusive tests are found', () => {
  expect(judge("test.only('default: a', f);")).toHaveLength(1);
  expect(judge("describe.skip('a', f);")).toHaveLength(1);
  expect(judge("test.todo('default: a');")).toHaveLength(1);
});
