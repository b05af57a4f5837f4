import { isCodedError } from '@sluice/base/errors';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { expect, test } from 'vitest';
import { parseQuery, parseQueryBody } from './parse-query.ts';
import { countValues } from './query.ts';
import { joinPath, quote, requireKnownKeys } from './query-refusal.ts';

const A = 'So11111111111111111111111111111111111111112';
const options = { limits: QUERY_LIMITS, dialects: ['ledger', 'solana'] as const };

function details(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    if (isCodedError(error)) return { code: error.code, ...error.detail };
    throw error;
  }
  return 'accepted';
}

const refusal = (body: object) => details(() => parseQuery({ fromBlock: 0, ...body }, options));

const cases: [body: object, code: string, details: Readonly<Record<string, string>>][] = [
  [
    { fromBlock: 'x' },
    'query-block-number-invalid',
    { path: 'fromBlock', found: '"x"', allowed: 'a non-negative integer' },
  ],
  [
    { fromBlock: undefined },
    'query-key-missing',
    { path: 'fromBlock', found: 'nothing', allowed: 'the number of the first block' },
  ],
  [
    { parentBlockHash: true },
    'query-value-invalid',
    { path: 'parentBlockHash', found: 'true', allowed: 'a string' },
  ],
  [{ fields: 5 }, 'query-value-invalid', { path: 'fields', found: '5', allowed: 'an object' }],
  [
    { logs: {} },
    'query-value-invalid',
    { path: 'logs', found: 'a value of type object', allowed: 'an array' },
  ],
  [
    { balances: [{ account: 1 }] },
    'query-value-invalid',
    { path: 'balances[0].account', found: '1', allowed: 'a string or a list of strings' },
  ],
  [
    { balances: [{ account: [1] }] },
    'query-value-invalid',
    { path: 'balances[0].account[0]', found: '1', allowed: 'a string or { "set": NAME }' },
  ],
  [
    { type: 'evm' },
    'query-type-not-allowed',
    { path: 'type', found: '"evm"', allowed: 'ledger, solana' },
  ],
];
test.each(cases)('error: %j gives %s with all details', (body, code, expected) => {
  expect(refusal(body)).toStrictEqual({ code, ...expected });
});

test('error: query-type-not-allowed says how a dialect that exists becomes allowed', () => {
  const parse = () =>
    parseQuery({ fromBlock: 0, type: 'solana' }, { ...options, dialects: ['ledger'] });
  expect(details(parse)).toMatchObject({
    remedy: expect.stringContaining('dialects: [ledger, solana]'),
  });
});

test('error: query-address-invalid and query-discriminator-invalid say what is allowed', () => {
  expect(refusal({ balances: [{ account: '1' }] })).toMatchObject({
    allowed: 'base58 of 32 bytes',
  });
  const discriminator = (value: string) => refusal({ instructions: [{ discriminator: value }] });
  expect(discriminator('0x1')).toMatchObject({
    allowed: '0x and an even number of hex digits, 0 to 32',
  });
  expect(discriminator(`0x${'00'.repeat(16)}`)).toBe('accepted');
  expect(discriminator(`0x${'00'.repeat(17)}`)).toMatchObject({
    code: 'query-discriminator-invalid',
  });
  // The right length, but `0x` is not at the beginning.
  expect(discriminator('000x')).toMatchObject({ code: 'query-discriminator-invalid' });
});

test('error: the limits of items, values and bytes are stated', () => {
  const limits = { ...QUERY_LIMITS, itemCountMax: 2, listValueCountMax: 2, valueCountMax: 3 };
  const parse = (body: object) => {
    return details(() => parseQuery({ fromBlock: 0, ...body }, { ...options, limits }));
  };
  expect(parse({ logs: [{}, {}, {}] })).toMatchObject({
    allowed: '2 items in all arrays together',
  });
  expect(parse({ balances: [{ account: [A, A, A] }] })).toMatchObject({
    allowed: '2 values in one list',
  });
  expect(parse({ balances: [{ account: [A, A] }, { account: [A, A] }] })).toMatchObject({
    allowed: '3 values in all lists together',
  });
  const small = { ...options, limits: { ...QUERY_LIMITS, bodyBytesMax: 5 } };
  expect(details(() => parseQueryBody('{"fromBlock":1}', small))).toEqual({
    code: 'query-too-large',
    path: '$',
    found: '15',
    allowed: '5 bytes',
  });
});

test('error: query-not-utf8 and query-not-json keep their cause', () => {
  const caught = (body: Uint8Array | string) => {
    try {
      parseQueryBody(body, options);
    } catch (error) {
      return error;
    }
    return expect.unreachable('the query was accepted');
  };
  expect(caught(Uint8Array.of(0x22, 0xff))).toMatchObject({
    detail: { path: '$', allowed: 'UTF-8' },
    cause: expect.any(TypeError),
  });
  expect(caught('{')).toMatchObject({
    detail: { path: '$', found: expect.stringContaining('JSON'), allowed: 'JSON' },
    cause: expect.any(SyntaxError),
  });
});

test('limit: texts of a client are quoted in full up to 64 characters', () => {
  const text = 'x'.repeat(64);
  expect(quote(text)).toBe(`"${text}"`);
  expect(quote(`${text}y`)).toBe(`"${text}"…`);
  expect(joinPath('logs', text)).toBe(`logs.${text}`);
  expect(joinPath('logs', `${text}y`)).toBe(`logs["${text}"…]`);
  expect(joinPath('logs', 'a-b')).toBe('logs["a-b"]');
});

test('error: query-key-unknown where no key is allowed', () => {
  const check = () => requireKnownKeys({ x: 1 }, [], 'here');
  expect(details(check)).toEqual({
    code: 'query-key-unknown',
    path: 'here.x',
    found: '"x"',
    allowed: 'no keys',
  });
});

test('behavior: items are sorted by their key, and only the header always has its number', () => {
  const query = parseQuery(
    { fromBlock: 0, logs: [{ kind: 'other' }, { kind: 'data' }, { kind: 'log' }], fields: {} },
    options,
  );
  expect(query.logs.map(({ filters }) => filters.kind)).toEqual([['data'], ['log'], ['other']]);
  expect(query.fields).toMatchObject({ block: ['number'], transaction: [], log: [] });
});

test('behavior: the values of all lists are counted', () => {
  const query = parseQuery(
    {
      fromBlock: 0,
      logs: [{ kind: ['log', 'data'], programId: A }],
      instructions: [{ isCommitted: true, d1: ['0x01', '0x02'] }, {}],
    },
    options,
  );
  expect(countValues(query)).toBe(5);
});
