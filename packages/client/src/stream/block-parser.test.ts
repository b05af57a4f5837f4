import { FIELDS, fieldRows, KINDS, RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import { expect, test } from 'vitest';
import { decodeMarked } from '../base/exact-json.ts';
import { isSluiceError } from '../base/sluice-error.ts';
import { buildBlockParser } from './block-parser.ts';

const header = '"header":{"number":1,"hash":"h"}';
const everyField = Object.fromEntries(
  KINDS.map((kind) => [kind, Object.fromEntries(fieldRows(kind).map(([name]) => [name, true]))]),
);

test('behavior: every 64-bit field of the table becomes a bigint, and no other field does', () => {
  const parse = buildBlockParser(everyField);
  for (const array of RECORD_ARRAY_NAMES) {
    const kind = array === 'tokenBalances' ? 'tokenBalance' : (array.slice(0, -1) as 'log');
    const rows = fieldRows(kind).filter(([, { wire }]) => /quantity|seconds|integer/.test(wire));
    const record = `{${rows.map(([name]) => `"${name}":7`).join()}}`;
    const block = parse(`{${header},"${array}":[${record}]}`);
    const [parsed] = block[array] as readonly Record<string, unknown>[];
    for (const [name, { wire }] of rows) {
      expect(parsed?.[name], `${kind}.${name}`).toBe(wire === 'integer' ? 7 : 7n);
    }
  }
  expect(FIELDS.block.timestamp.wire).toBe('seconds');
  const { header: head } = parse('{"header":{"number":1,"hash":"h","timestamp":7}}');
  expect(head['timestamp']).toBe(7n);
});

test('behavior: decimal text becomes a bigint, null stays null, and a missing field stays missing', () => {
  const parse = buildBlockParser(everyField);
  const block = parse(
    `{${header},"transactions":[{"fee":"18446744073709551615"},{"fee":null},{}]}`,
  );
  expect(block['transactions']).toEqual([{ fee: 18446744073709551615n }, { fee: null }, {}]);
});

test('default: a block has all six arrays', () => {
  const block = buildBlockParser({})(`{${header}}`);
  expect(block).toEqual({
    header: { number: 1, hash: 'h' },
    ...Object.fromEntries(RECORD_ARRAY_NAMES.map((array) => [array, []])),
  });
});

test.each([
  ['not JSON', '{"header":'],
  ['not an object', 'null'],
  ['no header', '{}'],
  ['no hash', '{"header":{"number":1}}'],
  ['a negative slot', '{"header":{"number":-1,"hash":"h"}}'],
  ['records that are not an array', `{${header},"logs":{}}`],
  ['a fraction as a quantity', `{${header},"transactions":[{"fee":1.5}]}`],
  ['a rounded quantity', `{${header},"transactions":[{"fee":1e20}]}`],
])('error: response-malformed for a line with %s', (_, line) => {
  const parse = buildBlockParser(everyField);
  let thrown: unknown;
  try {
    parse(line);
  } catch (error) {
    thrown = error;
  }
  expect(isSluiceError(thrown, 'response-malformed')).toBe(true);
});

test('behavior: decoded integers of 16 digits are numbers, and text keeps its digits', () => {
  const parse = buildBlockParser(everyField);
  const decoded =
    '{"program":"p","name":"n","args":{"a":9007199254740991,"b":"18446744073709551615"}}';
  const line = decodeMarked(
    new TextEncoder().encode(
      `{${header},"instructions":[{"decoded":${decoded}}],"logs":[{"decoded":null}]}`,
    ),
  );
  const block = parse(line);
  expect(block['instructions']).toEqual([{ decoded: JSON.parse(decoded) }]);
  expect(block['logs']).toEqual([{ decoded: null }]);
});
