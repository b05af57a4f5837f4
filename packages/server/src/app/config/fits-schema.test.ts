import fc from 'fast-check';
import type { TSchema } from 'typebox';
import { Check } from 'typebox/value';
import { expect, test } from 'vitest';
import { fitsSchema, type SchemaNode } from './apply-schema.ts';
import { configSchema } from './config-schema.ts';

/** Returns the schemas of single values with all their keywords. */
function leavesOf(schema: SchemaNode): SchemaNode[] {
  const below = [
    ...Object.values(schema.properties ?? {}),
    ...Object.values(schema.patternProperties ?? {}),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(schema.anyOf ?? []),
  ];
  const own = schema.anyOf?.every((one) => leavesOf(one)[0] === one) ? [schema] : [];
  return below.length === 0 ? [schema] : [...own, ...below.flatMap(leavesOf)];
}

const leaves = leavesOf(configSchema as SchemaNode);
/** Keywords that do not restrict values. */
const notes = ['description', 'expected', 'path', 'secret', 'default', 'defaultText'];
const known = ['type', 'anyOf', 'enum', 'const', 'minimum', 'maximum', 'minLength', 'pattern'];

test('default: the schemas use only supported keywords', () => {
  expect(leaves.length).toBeGreaterThan(50);
  const words = new Set(leaves.flatMap((leaf) => Object.keys(leaf)));
  expect([...words].filter((word) => ![...notes, ...known].includes(word))).toEqual([]);
});

test('property: a value fits if and only if the library accepts it, for every key', () => {
  for (const leaf of leaves) {
    const bounds = [leaf.minimum, leaf.maximum].flatMap((bound) =>
      bound === undefined ? [] : [bound - 1, bound - 0.5, bound, bound + 0.5, bound + 1],
    );
    const choices = [...(leaf.enum ?? []), ...(leaf.const === undefined ? [] : [leaf.const])];
    const texts = ['', ' ', 'all', '7d', '50GB', '100', 'http://a.b', 'mine', 'Mine', 'a\nb'];
    const fixed = [...bounds, ...choices, ...texts, ...choices.map((one) => `${one} `)];
    const odd = [null, undefined, true, false, Number.NaN, Number.POSITIVE_INFINITY, 1n, [], {}];
    const pattern = leaf.pattern === undefined ? [] : [fc.stringMatching(new RegExp(leaf.pattern))];
    const value = fc.oneof(
      fc.constantFrom(...fixed, ...odd),
      fc.double(),
      fc.integer(),
      fc.string({ unit: 'binary' }),
      ...pattern,
    );
    fc.assert(
      fc.property(value, (one) => {
        expect(fitsSchema(leaf, one)).toBe(Check(leaf as TSchema, one));
      }),
      { numRuns: 150 },
    );
  }
});
