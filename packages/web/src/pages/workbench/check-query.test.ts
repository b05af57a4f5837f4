/** Compares the checks of the workbench with the parser of the service. */

import { isCodedError } from '@sluice/base/errors';
import { DIALECTS } from '@sluice/protocol/dialect';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseQuery } from '../../../../server/src/query/parse-query.ts';
import { checkQuery } from './check-query.ts';
import { formatPath } from './problem-list.tsx';
import type { JsonObject } from './query-model.ts';

const options = { dialects: DIALECTS, limits: QUERY_LIMITS };
const address = '11111111111111111111111111111111';

/** Returns the path that the service refuses, or `undefined`. */
function refusal(query: JsonObject): string | undefined {
  try {
    parseQuery(query, options);
    return undefined;
  } catch (error) {
    if (!isCodedError(error)) throw error;
    return String(error.detail['path']);
  }
}

const cases: readonly JsonObject[] = [
  {},
  { fromBlock: 1 },
  { fromBlock: -1 },
  { fromBlock: 1.5 },
  { fromBlock: '1' },
  { fromBlock: 5, toBlock: 4 },
  { fromBlock: 5, toBlock: null },
  { fromBlock: 5, type: 'solana' },
  { type: 'solana' },
  { type: 'solana', logs: [{ programId: Array.from({ length: 1_001 }, () => address) }] },
  { fromBlock: 5, logs: [{ programId: Array.from({ length: 1_001 }, () => address) }] },
  { fromBlock: 5, type: 'other' },
  { fromBlock: 5, includeAllBlocks: 'yes' },
  { fromBlock: 5, parentBlockHash: 7 },
  { fromBlock: 5, sort: true },
  { fromBlock: 5, fields: [] },
  { fromBlock: 5, fields: { block: { number: true, nothing: true } } },
  { fromBlock: 5, fields: { block: { number: 1 } } },
  { fromBlock: 5, fields: { reward: { pubKey: true } }, type: 'solana' },
  { fromBlock: 5, instructions: {} },
  { fromBlock: 5, instructions: [1] },
  { fromBlock: 5, instructions: [{ programId: address }] },
  { fromBlock: 5, instructions: [{ programId: [address, 'short'] }] },
  { fromBlock: 5, instructions: [{ d8: ['0x0011223344556677'], d1: '0x0' }] },
  { fromBlock: 5, instructions: [{ discriminator: ['0x', '0x001'] }] },
  { fromBlock: 5, instructions: [{ isCommitted: null, transaction: 'yes' }] },
  { fromBlock: 5, logs: [{ kind: ['log', 'noise'] }] },
  { fromBlock: 5, rewards: Array.from({ length: 101 }, () => ({})) },
];

for (const query of cases) {
  test(`behavior: ${JSON.stringify(query).slice(0, 80)} has the same problems as at the service`, () => {
    const refused = refusal(query);
    const paths = checkQuery(query, options).map(({ path }) => formatPath(path));
    expect(paths.length === 0).toBe(refused === undefined);
    // Limits over all arrays are reported for the whole query.
    if (refused !== undefined && paths[0] !== '') expect(paths).toContain(refused);
  });
}

test('property: a query has problems exactly where the service refuses it', () => {
  const value = fc.constantFrom(
    null,
    true,
    1,
    -1,
    'x',
    address,
    '0x00',
    [],
    ['0x00'],
    [address],
    {},
  );
  const keys = ['fromBlock', 'toBlock', 'fields', 'logs', 'transactions', 'type', 'other'];
  const item = fc.dictionary(fc.constantFrom('programId', 'd1', 'kind', 'transaction', 'x'), value);
  const query = fc
    .record({
      base: fc.dictionary(fc.constantFrom(...keys), value),
      instructions: fc.array(item, { maxLength: 3 }),
    })
    .map(({ base, instructions }) => ({ ...base, instructions }));
  fc.assert(
    fc.property(query, (one) => {
      expect(checkQuery(one, options).length === 0).toBe(refusal(one) === undefined);
    }),
    { numRuns: 500 },
  );
});
