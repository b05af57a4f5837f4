import { DIALECTS } from '@sluice/protocol/dialect';
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
