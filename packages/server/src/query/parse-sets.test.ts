import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { expect, test } from 'vitest';
import type { AddressSets } from './address-set.ts';
import { parseQuery } from './parse-query.ts';
import { countValues, setsOf } from './query.ts';
import { queryKey } from './query-key.ts';
import { makeSet } from './testing/test-sets.ts';

const token = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';
const system = '11111111111111111111111111111111';
const [first, second] = [makeSet('mine', [token]), makeSet('mine', [token, system])];
const sets = (current = first): AddressSets => ({
  find: (name, version = current.version) =>
    [first, second].find((set) => name === 'mine' && set.version === version),
});

const parse = (item: object, known: AddressSets | undefined = sets()) =>
  parseQuery(
    { fromBlock: 0, instructions: [item] },
    { limits: QUERY_LIMITS, dialects: ['ledger'], sets: known },
  );

test('behavior: a set is alone or in a list, once, after the addresses', () => {
  const programsOf = (programId: unknown) =>
    parse({ programId }).instructions[0]?.filters.programId;
  expect(programsOf({ set: 'mine' })).toEqual([first]);
  expect(programsOf([{ set: 'mine' }, token, { set: 'mine' }])).toEqual([token, first]);
  const both = parse({ programId: [{ set: 'mine', version: second.version }, { set: 'mine' }] });
  expect(
    setsOf(both)
      .map(({ version }) => version)
      .sort(),
  ).toEqual([first.version, second.version].sort());
});

test('behavior: the same query with another version of a set is another query', () => {
  const item = { a0: { set: 'mine' } };
  expect(queryKey(parse(item, sets(first)))).toBe(queryKey(parse(item, sets(first))));
  expect(queryKey(parse(item, sets(first)))).not.toBe(queryKey(parse(item, sets(second))));
});

test('limit: a selection with a large set counts as many values, so that threads do not keep the memory of old versions', () => {
  const memory = new SharedArrayBuffer(34 << 20);
  const large = { name: 'large', version: 'x', count: 1_000_000, memory };
  const query = parse({ a0: { set: 'large' } }, { find: () => large });
  expect(countValues(query)).toBe(1 + (34 << 20) / 512);
});

test.each([
  ['query-value-invalid', 'instructions[0].a0.set', { a0: {} }],
  ['query-value-invalid', 'instructions[0].a0[0].set', { a0: [{ set: 1 }] }],
  ['query-value-invalid', 'instructions[0].a0[0].version', { a0: [{ set: 'mine', version: 1 }] }],
  ['query-key-unknown', 'instructions[0].a0.name', { a0: { set: 'mine', name: 'x' } }],
  ['query-set-unknown', 'instructions[0].a0.set', { a0: { set: 'min' } }],
  ['query-set-changed', 'instructions[0].a0.version', { a0: { set: 'mine', version: 'x' } }],
  ['query-value-invalid', 'instructions[0].d1[0]', { d1: [{ set: 'mine' }] }],
  [
    'query-value-invalid',
    'instructions[0].programId',
    { programId: [token, { set: 'mine' }], name: ['transfer'] },
  ],
])('error: %s at %s', (code, path, item) => {
  expect(() => parse(item)).toThrowError(
    expect.objectContaining({ code, detail: expect.objectContaining({ path }) }),
  );
});

test('error: query-set-unknown has the commands of the operator, and no names of other sets', () => {
  const refusal = (name: string) => {
    try {
      parse({ a0: { set: name } });
    } catch (error) {
      return String(error);
    }
    return 'accepted';
  };
  expect(refusal('min')).toMatch(/sluice sets list.*sluice sets put/);
  expect(refusal('min')).not.toMatch(/mine/);
  expect(refusal('absent')).toBe(refusal('min').replaceAll('min', 'absent'));
});
