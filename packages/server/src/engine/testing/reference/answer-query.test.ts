import { DIALECTS } from '@sluice/protocol/dialect';
import {
  defaultFieldNames,
  KINDS,
  RECORD_ARRAY_NAMES,
  RECORD_ARRAYS,
  type RecordArray,
} from '@sluice/protocol/field-table';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { buildQuerySchema } from '@sluice/protocol/query-schema';
import { filterRows, relationRows } from '@sluice/protocol/request-table';
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import type { FieldLists, Item, Query } from '../../../query/query.ts';
import { arbitraryQueryCase } from '../arbitrary-query.ts';
import { describeLaws, withItems } from '../describe-laws.ts';
import { linesWithRecords, readLines } from '../read-lines.ts';
import { answerQuery } from './answer-query.ts';

describeLaws('laws of an answer', answerQuery, { numRuns: 100 });

describe('the coverage of random queries', () => {
  const cases = fc.sample(arbitraryQueryCase({ minLength: 1 }), { seed: 4, numRuns: 600 });

  test('behavior: most queries select something, and some nothing', () => {
    const hits = cases.filter(
      ({ blocks, query }) => linesWithRecords(answerQuery(query, blocks)).length > 0,
    );
    expect(hits.length).toBeGreaterThan(cases.length / 3);
    expect(hits.length).toBeLessThan(cases.length * 0.9);
  });

  test('behavior: every filter and every relation changes some answer', () => {
    const decided = new Set<string>();
    for (const { blocks, query } of cases) {
      const answer = answerQuery(query, blocks);
      for (const array of RECORD_ARRAY_NAMES) {
        for (const name of namesUsed(query, array)) {
          if (decided.has(`${array}.${name}`)) continue;
          const without = withItems(query, (items) => items.map((item) => dropName(item, name)));
          if (answerQuery(without, blocks) !== answer) decided.add(`${array}.${name}`);
        }
      }
    }
    const all = RECORD_ARRAY_NAMES.flatMap((array) =>
      [...filterRows(array), ...relationRows(array)].map(([name]) => `${array}.${name}`),
    );
    expect(all.filter((name) => !decided.has(name))).toEqual([]);
  });

  test('behavior: the schema accepts what the parser accepts', () => {
    const schema = Compile(buildQuerySchema(DIALECTS, QUERY_LIMITS));
    for (const { body } of cases) expect(schema.Check(body)).toBe(true);
  });

  test('default: without `fields`, a record has all fields that are not marked (ext)', () => {
    for (const { blocks, query } of cases.slice(0, 50)) {
      const { dialect } = query;
      const fields = Object.fromEntries(
        KINDS.map((kind) => [kind, defaultFieldNames(kind, dialect)]),
      ) as unknown as FieldLists;
      for (const line of readLines(answerQuery({ ...query, fields }, blocks))) {
        for (const array of RECORD_ARRAY_NAMES) {
          const names = defaultFieldNames(RECORD_ARRAYS[array], dialect);
          for (const record of line.records[array]) expect(Object.keys(record)).toEqual(names);
        }
      }
    }
  });
});

function namesUsed(query: Query, array: RecordArray): readonly string[] {
  return (query[array] as readonly Item<RecordArray>[]).flatMap((item) => [
    ...Object.keys(item.filters),
    ...Object.entries(item.relations).flatMap(([name, wanted]) => (wanted === true ? [name] : [])),
  ]);
}

function dropName<A extends RecordArray>(item: Item<A>, name: string): Item<A> {
  const filters = Object.entries(item.filters).filter(([known]) => known !== name);
  const relations = Object.entries(item.relations).map(([known, wanted]) => [
    known,
    known !== name && wanted,
  ]);
  return {
    filters: Object.fromEntries(filters),
    relations: Object.fromEntries(relations),
  } as unknown as Item<A>;
}
