import { DIALECTS } from '@sluice/protocol/dialect';
import { fieldRows, KINDS } from '@sluice/protocol/field-table';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { describe, expect, test } from 'vitest';
import { answerQuery } from '../../packages/server/src/engine/testing/reference/answer-query.ts';
import { answerFast } from '../../packages/server/src/engine/testing/answer-fast.ts';
import type { Block } from '../../packages/ledger/src/block.ts';
import { parseQueryBody } from '../../packages/server/src/query/parse-query.ts';
import type { Query } from '../../packages/server/src/query/query.ts';
import { readGoldenBlocks, readGoldenQueries } from './read-golden.ts';

type Engine = (query: Query, blocks: readonly Block[]) => string | Promise<string>;

/** Every engine must return the same bytes. */
const engines: Readonly<Record<string, Engine>> = {
  reference: answerQuery,
  segment: (query, blocks) => answerFast(query, blocks),
  'one-block segment': (query, blocks) => answerFast(query, blocks, 1),
};

const blocks = readGoldenBlocks();
const queries = readGoldenQueries();

for (const [name, answer] of Object.entries(engines)) {
  describe(`the ${name} engine`, () => {
    for (const { name: question, body, expected } of queries) {
      test(`behavior: ${question}`, async () => {
        const query = parseQueryBody(body, { limits: QUERY_LIMITS, dialects: DIALECTS });
        expect(await answer(query, blocks)).toBe(expected);
      });
    }
  });
}

test('behavior: every golden query has a description and differs from the others', () => {
  expect(queries.length).toBeGreaterThanOrEqual(30);
  expect(new Set(queries.map(({ body }) => body)).size).toBe(queries.length);
  for (const { about } of queries) expect(about).toMatch(/\w.*\.\n$/);
});

test('behavior: every-field-there-is selects every field that follows from a block alone', () => {
  const golden = queries.find(({ name }) => name === 'every-field-there-is');
  const { fields } = JSON.parse(golden?.body ?? '{}') as {
    readonly fields: Readonly<Record<string, object>>;
  };
  const missing = KINDS.flatMap((kind) =>
    fieldRows(kind).flatMap(([name]) => (name in (fields[kind] ?? {}) ? [] : [`${kind}.${name}`])),
  );
  // A block alone has neither the head of its chain nor IDLs.
  expect(missing).toEqual(['block.finalizedHead', 'instruction.decoded', 'log.decoded']);
});
