import { ERRORS, isCodedError } from '@sluice/base/errors';
import { DIALECTS } from '@sluice/protocol/dialect';
import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { filterRows, relationRows } from '@sluice/protocol/request-table';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseQueryBody } from './parse-query.ts';

const options = { limits: QUERY_LIMITS, dialects: DIALECTS };

/** Expects either a query or a coded error with a path. Any other exception fails the test. */
function check(body: Uint8Array | string): void {
  try {
    parseQueryBody(body, options);
  } catch (error) {
    if (!isCodedError(error)) throw error;
    expect([400, 413]).toContain((ERRORS[error.code] as { status?: number }).status);
    expect(error.detail['path']).toBeTypeOf('string');
    expect(error.detail['allowed']).toBeTypeOf('string');
    expect(error.message.length).toBeLessThan(1000);
  }
}

const itemKeys = RECORD_ARRAY_NAMES.flatMap((array) =>
  [...filterRows(array), ...relationRows(array)].map(([name]): string => name),
);
const keys = [
  ...['type', 'fromBlock', 'toBlock', 'parentBlockHash', 'includeAllBlocks', 'fields', 'block'],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', ''],
  ...RECORD_ARRAY_NAMES,
  ...itemKeys,
];

/** Arbitrary JSON that resembles a query. */
const { value: arbitraryNearQuery } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<unknown>(
      null,
      true,
      false,
      0,
      1,
      -1,
      1.5,
      1e300,
      '',
      '0x',
      '0x09',
      'log',
      'ledger',
    ),
    fc.constantFrom('So11111111111111111111111111111111111111112', '1'.repeat(32), 'x'.repeat(200)),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.oneof(fc.constantFrom(...keys), fc.string()), tie('value'), { maxKeys: 4 }),
  ),
}));

test('property: any bytes give a query or a coded error (I-90)', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), check));
  fc.assert(fc.property(fc.json(), check));
});

test('property: any JSON that resembles a query gives a query or a coded error', () => {
  fc.assert(
    fc.property(arbitraryNearQuery, fc.constantFrom(...keys), (value, key) => {
      check(JSON.stringify(value));
      check(JSON.stringify({ fromBlock: 1, [key]: value }));
      check(JSON.stringify({ fromBlock: 1, instructions: [value, { [key]: value }] }));
      check(
        JSON.stringify({ fromBlock: 1, fields: { instruction: value, log: { [key]: value } } }),
      );
    }),
  );
});

test('property: a valid body with one changed byte gives a query or a coded error', () => {
  const body = new TextEncoder().encode(
    '{"fromBlock":9007199254740993,"toBlock":1e300,"fields":{"log":{"kind":true}},"logs":[{"kind":["log"]}]}',
  );
  fc.assert(
    fc.property(fc.nat({ max: body.length - 1 }), fc.integer({ min: 0, max: 255 }), (at, byte) => {
      const changed = body.slice();
      changed[at] = byte;
      check(changed);
    }),
    { numRuns: 500 },
  );
});
