/** Laws that hold for the responses of the reference engine and of the engine. */

import type { Block } from '@sluice/ledger/block';
import { DIALECTS } from '@sluice/protocol/dialect';
import {
  type FieldName,
  fieldNames,
  KINDS,
  type Kind,
  RECORD_ARRAY_NAMES,
  RECORD_ARRAYS,
  type RecordArray,
} from '@sluice/protocol/field-table';
import { buildLineSchema } from '@sluice/protocol/line-schema';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { parseQueryBody } from '../../query/parse-query.ts';
import type { FieldLists, Item, Items, Query } from '../../query/query.ts';
import { queryKey } from '../../query/query-key.ts';
import { TEST_SETS } from '../../query/testing/test-sets.ts';
import { arbitraryQueryCase } from './arbitrary-query.ts';
import { linesWithRecords, readLines } from './read-lines.ts';

const everyField = Object.fromEntries(
  KINDS.map((kind) => [kind, fieldNames(kind, 'solana')]),
) as unknown as FieldLists;

/** Selects every field, in the dialect with exact text, so that `JSON.parse` rounds nothing and different records have different texts. */
const inFull = (query: Query): Query => ({ ...query, dialect: 'solana', fields: everyField });

/** Returns the texts of all records by block and kind. */
function recordTexts(answer: string): Map<string, Set<string>> {
  const texts = new Map<string, Set<string>>();
  for (const line of linesWithRecords(answer)) {
    for (const array of RECORD_ARRAY_NAMES) {
      const records = line.records[array].map((record) => JSON.stringify(record));
      if (records.length > 0) texts.set(`${line.number} ${array}`, new Set(records));
    }
  }
  return texts;
}

function unite(answers: readonly string[]): Map<string, Set<string>> {
  const united = new Map<string, Set<string>>();
  for (const answer of answers) {
    for (const [key, texts] of recordTexts(answer)) {
      united.set(key, new Set([...(united.get(key) ?? []), ...texts]));
    }
  }
  return united;
}

export function withItems(
  query: Query,
  change: <A extends RecordArray>(items: readonly Item<A>[]) => readonly Item<A>[],
): Query {
  const items = RECORD_ARRAY_NAMES.map((array) => [
    array,
    change(query[array] as readonly Item<RecordArray>[]),
  ]);
  return { ...query, ...(Object.fromEntries(items) as unknown as Items) };
}

/** Defines the laws as tests of one engine. */
export function describeLaws(
  name: string,
  answer: (query: Query, blocks: readonly Block[]) => string,
  options: { readonly numRuns: number },
): void {
  describe(name, () => {
    test('property: I-35 the same query gives the same bytes for every form of its body', () => {
      fc.assert(
        fc.property(arbitraryQueryCase(), ({ blocks, body, query }) => {
          const reversed = Object.fromEntries(
            Object.entries(body)
              .reverse()
              .map(([key, value]) => [
                key,
                Array.isArray(value) ? [...value, ...value].reverse() : value,
              ]),
          );
          const again = parseQueryBody(JSON.stringify(reversed), {
            limits: QUERY_LIMITS,
            dialects: DIALECTS,
            sets: TEST_SETS,
          });
          expect(queryKey(again)).toBe(queryKey(query));
          expect(answer(again, blocks)).toBe(answer(query, blocks));
        }),
        options,
      );
    });

    test('property: I-51 two items give the union of their answers', () => {
      fc.assert(
        fc.property(arbitraryQueryCase(), ({ blocks, query }) => {
          const whole = inFull(query);
          const even = withItems(whole, (items) => items.filter((_, at) => at % 2 === 0));
          const odd = withItems(whole, (items) => items.filter((_, at) => at % 2 === 1));
          expect(recordTexts(answer(whole, blocks))).toEqual(
            unite([answer(even, blocks), answer(odd, blocks)]),
          );
        }),
        options,
      );
    });

    test('property: I-51 a list gives the union of the answers for its values', () => {
      fc.assert(
        fc.property(arbitraryQueryCase(), ({ blocks, query }) => {
          const whole = inFull(query);
          const split = withItems(whole, (items) => items.flatMap(splitLists));
          expect(answer(split, blocks)).toBe(answer(whole, blocks));
        }),
        options,
      );
    });

    test('property: I-51 an additional field changes no block and no record', () => {
      fc.assert(
        fc.property(arbitraryQueryCase(), fc.nat(), fc.nat(), ({ blocks, query }, a, b) => {
          const kind = KINDS[a % KINDS.length] as Kind;
          const names = fieldNames(kind, query.dialect);
          const name = names[b % names.length] as FieldName<Kind>;
          const list: readonly string[] = query.fields[kind];
          fc.pre(!list.includes(name));
          const more = names.filter((known) => known === name || list.includes(known));
          const fields = { ...query.fields, [kind]: more } as FieldLists;
          const lines = readLines(answer({ ...query, fields }, blocks));
          expect(lines.map((line) => dropField(line.text, kind, name))).toEqual(
            readLines(answer(query, blocks)).map((line) => JSON.parse(line.text)),
          );
        }),
        options,
      );
    });

    test('property: I-51 includeAllBlocks only adds header-only lines', () => {
      fc.assert(
        fc.property(arbitraryQueryCase(), ({ blocks, query }) => {
          const some = answer({ ...query, includeAllBlocks: false }, blocks);
          const all = answer({ ...query, includeAllBlocks: true }, blocks);
          expect(linesWithRecords(all)).toEqual(linesWithRecords(some));
          const covered = blocks.filter(
            ({ header }) =>
              header.number >= query.fromBlock && header.number <= (query.toBlock ?? Infinity),
          );
          expect(readLines(all).map((line) => line.number)).toEqual(
            covered.map((block) => block.header.number),
          );
          expect(readLines(some).at(-1)?.number).toBe(covered.at(-1)?.header.number);
          expect(readLines(some).filter((line) => line.isHeaderOnly).length).toBeLessThanOrEqual(1);
        }),
        options,
      );
    });

    test('property: I-48 any split of the range gives the lines of one request', () => {
      fc.assert(
        fc.property(
          arbitraryQueryCase(),
          fc.array(fc.nat({ max: 6 })),
          ({ blocks, query }, cuts) => {
            const numbers = blocks.map((block) => block.header.number as number);
            const starts = [...new Set(cuts.flatMap((cut) => numbers[cut] ?? []))]
              .filter((start) => start > query.fromBlock && start <= (query.toBlock ?? Infinity))
              .sort((a, b) => a - b);
            const bounds = [query.fromBlock, ...starts];
            const answerParts = (whole: Query) =>
              bounds
                .map((fromBlock, at) => {
                  const next = bounds[at + 1];
                  const toBlock = next === undefined ? whole.toBlock : next - 1;
                  return answer({ ...whole, fromBlock, toBlock }, blocks);
                })
                .join('');
            const all = { ...query, includeAllBlocks: true };
            expect(answerParts(all)).toBe(answer(all, blocks));
            expect(linesWithRecords(answerParts(query))).toEqual(
              linesWithRecords(answer(query, blocks)),
            );
          },
        ),
        options,
      );
    });

    test('property: a line is compact JSON and valid against its schema', () => {
      const schemas = {
        ledger: Compile(buildLineSchema('ledger')),
        solana: Compile(buildLineSchema('solana')),
      };
      fc.assert(
        fc.property(arbitraryQueryCase(), ({ blocks, query }) => {
          for (const { text } of readLines(answer(query, blocks))) {
            expect(schemas[query.dialect].Check(JSON.parse(text))).toBe(true);
          }
          // Without 64-bit integers and verbatim error objects, `JSON.parse` loses nothing.
          const fields = {
            ...everyField,
            block: everyField.block.filter((name) => name !== 'timestamp'),
            transaction: everyField.transaction.filter((name) => name !== 'err'),
          };
          for (const { text } of readLines(
            answer({ ...query, dialect: 'solana', fields }, blocks),
          )) {
            expect(JSON.stringify(JSON.parse(text))).toBe(text);
          }
        }),
        options,
      );
    });
  });
}

/** Returns one item per value of the item's first list with several values. */
function splitLists<A extends RecordArray>(item: Item<A>): readonly Item<A>[] {
  for (const [name, value] of Object.entries<unknown>(item.filters)) {
    if (!Array.isArray(value) || value.length < 2) continue;
    return value.map((member) => ({ ...item, filters: { ...item.filters, [name]: [member] } }));
  }
  return [item];
}

function dropField(text: string, kind: Kind, name: string): unknown {
  const line = JSON.parse(text);
  const array = RECORD_ARRAY_NAMES.find((known) => RECORD_ARRAYS[known] === kind);
  for (const record of array === undefined ? [line.header] : (line[array] ?? [])) {
    expect(Object.keys(record)).toContain(name);
    delete record[name];
  }
  return line;
}
