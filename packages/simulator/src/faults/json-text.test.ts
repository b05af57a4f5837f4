import fc from 'fast-check';
import { expect, test } from 'vitest';
import { replaceEverywhere } from './json-text.ts';

const key = fc.constantFrom('a', 'b', 'c"', 'logMessages', '\\');
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(
      fc.string(),
      fc.constantFrom('"a":1', '{', ']', 'a":[', '\\"'),
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(key, tie('any'), { maxKeys: 4 }),
  ),
})).any;
const object = fc.dictionary(key, value, { maxKeys: 5 });

function replaceDeep(at: unknown, name: string): unknown {
  if (Array.isArray(at)) return at.map((item) => replaceDeep(item, name));
  if (typeof at !== 'object' || at === null) return at;
  return Object.fromEntries(
    Object.entries(at).map(([own, item]) => [own, own === name ? 7 : replaceDeep(item, name)]),
  );
}

test('property: edits of the text equal edits of the value', () => {
  fc.assert(
    fc.property(object, key, (before, name) => {
      const text = JSON.stringify(before);
      expect(JSON.parse(replaceEverywhere(text, name, '7'))).toEqual(replaceDeep(before, name));
    }),
    { numRuns: 1_000 },
  );
});

test('behavior: integers that a JavaScript number cannot represent are unchanged', () => {
  const text = '{"a":[18446744073709551615],"b":-9007199254740993}';
  expect(replaceEverywhere(text, 'a', 'null')).toBe('{"a":null,"b":-9007199254740993}');
});
