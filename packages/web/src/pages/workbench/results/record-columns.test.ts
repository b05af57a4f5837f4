import { expect, test } from 'vitest';
import { characterCount, columnsBetween, type RecordColumn } from './record-columns.ts';

/** At 0, 7, 16, 27 and 55 rem. */
const columns: readonly RecordColumn[] = [
  { name: 'number', width: 'slot' },
  { name: 'logIndex', width: 'number' },
  { name: 'programId', width: 'text' },
  { name: 'message', width: 'wide' },
];

test('default: the columns that reach into the view are rendered', () => {
  expect(columnsBetween(columns, 0, 20)).toEqual({ first: 0, end: 3 });
  expect(columnsBetween(columns, 7, 16)).toEqual({ first: 1, end: 2 });
  expect(columnsBetween(columns, 15.9, 27.1)).toEqual({ first: 1, end: 4 });
  expect(columnsBetween(columns, 0, Number.POSITIVE_INFINITY)).toEqual({ first: 0, end: 4 });
});

test('limit: a text is cut to the characters that fit into its column', () => {
  expect(columns.map(characterCount)).toEqual([12, 16, 21, 57]);
});
