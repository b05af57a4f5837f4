/** Random queries over given blocks, with filters on values that the blocks have and on other values. */

import type { Block } from '@sluice/ledger/block';
import { DIALECTS } from '@sluice/protocol/dialect';
import {
  fieldNames,
  KINDS,
  LOG_KINDS,
  RECORD_ARRAY_NAMES,
  type RecordArray,
} from '@sluice/protocol/field-table';
import type { QueryBody } from '@sluice/protocol/query-body';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { type FilterRow, filterRows, relationRows } from '@sluice/protocol/request-table';
import fc, { type Arbitrary } from 'fast-check';
import { parseQuery } from '../../query/parse-query.ts';
import type { Query } from '../../query/query.ts';
import { putTestSet, TEST_SETS } from '../../query/testing/test-sets.ts';
import { arbitraryBlocks } from './arbitrary-block.ts';
import { ABSENT_ADDRESS, ADDRESS_POOL } from './arbitrary-values.ts';
import { filteredValues } from './reference/match-record.ts';

type AnyRecord = Readonly<Record<string, unknown>>;

/** Returns some values of a record with which a filter is compared. */
function presentValues(array: RecordArray, name: string, record: AnyRecord): readonly string[] {
  const values = filteredValues(array, name as never, record as never);
  const texts = values.filter((value) => typeof value === 'string');
  // A discriminator filter has many values, one for each length.
  return texts.length > 16 ? [0, 1, 5, 16].map((index) => texts[index] as string) : texts;
}

function absentValues(row: FilterRow): readonly string[] {
  if (row.value === 'logKind') return LOG_KINDS;
  if ('bytes' in row) return [`0x${'5A'.repeat(row.bytes)}`, `0x${'00'.repeat(row.bytes)}`];
  return [ABSENT_ADDRESS, ...ADDRESS_POOL.slice(0, 3)];
}

/** Returns the values of a filter in one of several forms: as they are; or, if they are addresses, as a set, or as a list of one address and a set of the others. */
function orSet(values: readonly string[], row: FilterRow): Arbitrary<unknown> {
  if (row.value !== 'address') return fc.constant(values);
  return fc.constantFrom('list', 'list', 'set', 'both').map((form) => {
    if (form === 'list') return values;
    if (form === 'set') return putTestSet(values);
    return [...values.slice(0, 1), putTestSet(values.slice(1))];
  });
}

/** A list, a single value, an empty list or null. Most of them match the record that they were made for. */
function arbitraryList(present: readonly string[], row: FilterRow) {
  const others = fc.array(fc.constantFrom(...absentValues(row)), { maxLength: 3 });
  const misses: Arbitrary<unknown> = others.chain((values) => orSet(values, row));
  const rare = fc.constantFrom<unknown>([], null);
  if (present.length === 0) {
    return fc.oneof({ weight: 4, arbitrary: misses }, { weight: 1, arbitrary: rare });
  }
  const value = fc
    .tuple(fc.constantFrom(...present), fc.boolean())
    .map(([text, isUpper]) =>
      isUpper && 'bytes' in row ? `0x${text.slice(2).toUpperCase()}` : text,
    );
  const hits: Arbitrary<unknown> = fc.oneof(
    value,
    fc.tuple(value, others).chain(([text, more]) => orSet([...more, text, ...more.slice(1)], row)),
  );
  return fc.oneof(
    { weight: 12, arbitrary: hits },
    { weight: 1, arbitrary: misses },
    { weight: 1, arbitrary: rare },
  );
}

/** An item made for one record of the blocks, or for none: filters that mostly match it, and some relations. */
function arbitraryItem(array: RecordArray, records: readonly AnyRecord[]) {
  const filters = filterRows(array) as readonly (readonly [string, FilterRow])[];
  const relations = relationRows(array).map(([name]) => name as string);
  const record = records.length === 0 ? fc.constant(undefined) : fc.constantFrom(...records);
  const flags = fc.record(Object.fromEntries(relations.map((name) => [name, fc.boolean()])), {
    requiredKeys: [],
  });
  return fc
    .tuple(record, fc.subarray([...filters], { maxLength: Math.min(3, filters.length) }))
    .chain(([match, chosen]) => {
      const values = chosen.map(([name, row]) => [
        name,
        row.value === 'boolean'
          ? fc.constantFrom(true, false, null)
          : arbitraryList(match === undefined ? [] : presentValues(array, name, match), row),
      ]);
      return fc.tuple(
        fc.record(Object.fromEntries(values) as Record<string, Arbitrary<unknown>>),
        flags,
      );
    })
    .map(([values, wanted]) => ({ ...values, ...wanted }));
}

function arbitraryItems(array: RecordArray, blocks: readonly Block[]) {
  const records = blocks.flatMap((block) => block[array] as readonly unknown[]) as AnyRecord[];
  const items = fc.array(arbitraryItem(array, records), { minLength: 1, maxLength: 3 });
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 2, arbitrary: items },
    { weight: 1, arbitrary: fc.constant([]) },
  );
}

function arbitraryFields(dialect: (typeof DIALECTS)[number]) {
  const selector = (kind: (typeof KINDS)[number]) =>
    fc.record(Object.fromEntries(fieldNames(kind, dialect).map((name) => [name, fc.boolean()])), {
      requiredKeys: [],
    });
  const everything = Object.fromEntries(
    KINDS.map((kind) => [
      kind,
      Object.fromEntries(fieldNames(kind, dialect).map((name) => [name, true])),
    ]),
  );
  return fc.oneof(
    fc.constant(undefined),
    fc.constant(everything),
    fc.record(Object.fromEntries(KINDS.map((kind) => [kind, selector(kind)])), {
      requiredKeys: [],
    }),
  );
}

function arbitraryRange(blocks: readonly Block[]) {
  const numbers = blocks.map((block) => block.header.number as number);
  const bounds = [0, ...numbers.flatMap((number) => [Math.max(0, number - 1), number, number + 1])];
  const some = fc
    .tuple(fc.constantFrom(...bounds), fc.constantFrom(undefined, ...bounds))
    .map(([a, b]) => ({
      fromBlock: Math.min(a, b ?? a),
      toBlock: b === undefined ? undefined : Math.max(a, b),
    }));
  const all = fc.constant({ fromBlock: 0, toBlock: undefined });
  return fc.oneof({ weight: 3, arbitrary: all }, { weight: 1, arbitrary: some });
}

/** A valid request body, as a client might write it. */
function arbitraryQueryBody(blocks: readonly Block[]): Arbitrary<QueryBody> {
  return fc
    .constantFrom(...DIALECTS)
    .chain((dialect) =>
      fc.record({
        type: dialect === 'ledger' ? fc.constantFrom(undefined, dialect) : fc.constant(dialect),
        range: arbitraryRange(blocks),
        includeAllBlocks: fc.constantFrom(undefined, undefined, false, true),
        fields: arbitraryFields(dialect),
        ...(Object.fromEntries(
          RECORD_ARRAY_NAMES.map((array) => [array, arbitraryItems(array, blocks)]),
        ) as Record<RecordArray, Arbitrary<unknown>>),
      }),
    )
    .map(({ range, ...rest }) => {
      const entries = Object.entries({ ...range, ...rest });
      return Object.fromEntries(
        entries.filter(([, value]) => value !== undefined),
      ) as unknown as QueryBody;
    });
}

export const parseTestQuery = (body: QueryBody): Query =>
  parseQuery(body, { limits: QUERY_LIMITS, dialects: DIALECTS, sets: TEST_SETS });

export function arbitraryQuery(blocks: readonly Block[]): Arbitrary<Query> {
  return arbitraryQueryBody(blocks).map(parseTestQuery);
}

/** Blocks and a query made for them, the input for comparing two engines. */
export interface QueryCase {
  readonly blocks: readonly Block[];
  readonly body: QueryBody;
  readonly query: Query;
}

export function arbitraryQueryCase(
  options?: Parameters<typeof arbitraryBlocks>[0],
): Arbitrary<QueryCase> {
  return arbitraryBlocks(options).chain((blocks) =>
    arbitraryQueryBody(blocks).map((body) => ({ blocks, body, query: parseTestQuery(body) })),
  );
}
