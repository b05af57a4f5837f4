/** What each route of a lookup passes on and writes, with lookups that the test controls. */

import { encodeBase58 } from '@sluice/base/base58';
import { afterEach, expect, test } from 'vitest';
import { emptySnapshot } from '../../chain/chain-snapshot.ts';
import type { DatasetLookups } from '../../stream/lookups/dataset-lookups.ts';
import { makeHash } from '../../stream/testing/make-block.ts';
import { errorOf, HttpFixture, makeChain } from '../testing/http-fixture.ts';

let fixture: HttpFixture;
afterEach(() => fixture.close());

/** Starts a service whose lookups answer with a value and record what they were called with. */
async function start(value: unknown, snapshot = emptySnapshot): Promise<unknown[]> {
  const calls: unknown[] = [];
  const lookUp = async (...given: unknown[]) => {
    calls.push(given[0]);
    expect(given[1]).toBeInstanceOf(AbortSignal);
    return { value, snapshot };
  };
  const lookups = {
    transaction: lookUp,
    accountTransactions: lookUp,
    activity: lookUp,
    estimate: lookUp,
  };
  fixture = await HttpFixture.start({ lookups: lookups as unknown as DatasetLookups });
  return calls;
}

const base = '/datasets/ledger-test';
const address = encodeBase58(Buffer.alloc(32, 7));
const signature = encodeBase58(Buffer.alloc(64, 9));

test('default: a transaction is looked up by its signature', async () => {
  const calls = await start('{"a":1}\n');
  const answer = await fixture.get(`${base}/transactions/${signature}`);
  expect([answer.status, answer.body.toString()]).toEqual([200, '{"a":1}']);
  expect(Buffer.from(calls[0] as Uint8Array)).toEqual(Buffer.alloc(64, 9));
});

test.each([
  ['transactions', 'signature', '1'.repeat(63), '64'],
  ['transactions', 'signature', '1'.repeat(65), '64'],
  ['transactions', 'signature', 'z'.repeat(89), '64'],
  ['accounts', 'address', '1'.repeat(31), '32'],
  ['accounts', 'address', '1'.repeat(33), '32'],
  ['accounts', 'address', 'z'.repeat(45), '32'],
  ['accounts', 'address', '0'.repeat(32), '32'],
])('error: parameter-invalid for %s with the %s %s', async (kind, path, text, length) => {
  const calls = await start('');
  const rest = kind === 'accounts' ? '/transactions' : '';
  const answer = await fixture.get(`${base}/${kind}/${text}${rest}`);
  expect(answer.status).toBe(400);
  expect(errorOf(answer)).toMatchObject({
    code: 'parameter-invalid',
    path,
    message: expect.stringContaining(`base58 of ${length} bytes`),
  });
  expect(calls).toEqual([]);
});

test.each([
  ['', null, 20],
  ['?before=7&limit=1', { slot: 7, ordinal: 0 }, 1],
  ['?before=7-3&limit=100', { slot: 7, ordinal: 3 }, 100],
  ['?before=9999999999999999', { slot: Number.MAX_SAFE_INTEGER, ordinal: 0 }, 20],
])('behavior: the page of an account with %j', async (search, before, limit) => {
  const calls = await start({ lines: [], next: null });
  const answer = await fixture.get(`${base}/accounts/${address}/transactions${search}`);
  expect(answer.body.toString()).toBe('{"transactions":[],"next":null}');
  expect(calls).toEqual([{ address: new Uint8Array(32).fill(7), before, limit }]);
});

test.each([
  '?before=',
  '?before=-1',
  '?before=1-',
  '?before=x1',
  '?before=1-1x',
  '?before=12345678901234567',
  '?before=1-1234567890',
  '?limit=0',
  '?limit=101',
])('error: parameter-invalid for the page %s', async (search) => {
  await start({ lines: [], next: null });
  const answer = await fixture.get(`${base}/accounts/${address}/transactions${search}`);
  expect([answer.status, errorOf(answer).code]).toEqual([400, 'parameter-invalid']);
});

test.each([
  [{ slot: 5, ordinal: 0 }, '"5"'],
  [{ slot: 5, ordinal: 2 }, '"5-2"'],
])('behavior: a page of an account ends with the place of the next one %j', async (next, text) => {
  await start({ lines: ['{"a":1}\n', '{"b":2}\n'], next });
  const answer = await fixture.get(`${base}/accounts/${address}/transactions`);
  expect(answer.body.toString()).toBe(`{"transactions":[{"a":1},{"b":2}],"next":${text}}`);
});

test('default: the activity of a range is JSON, with the heads of its state', async () => {
  const calls = await start({ blocks: 3 }, makeChain().snapshot());
  const answer = await fixture.get(`${base}/activity?from=1&to=2&limit=3`);
  expect([answer.status, answer.body.toString()]).toEqual([200, '{"blocks":3}']);
  expect(calls).toEqual([{ from: 1, to: 2, limit: 3 }]);
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'x-ledger-head-number': '110',
    'x-ledger-finalized-head-number': '103',
    'x-ledger-finalized-head-hash': makeHash('a', 103),
  });
  await fixture.get(`${base}/activity`);
  expect(calls[1]).toEqual({ limit: 20 });
});

test('behavior: the heads are missing while there are none', async () => {
  await start({});
  const { headers } = await fixture.get(`${base}/activity`);
  expect(Object.keys(headers).filter((name) => name.startsWith('x-ledger'))).toEqual([]);
});

test('default: an estimate gets the parsed query, and its bytes are released', async () => {
  const calls = await start({ fromBlock: 100 });
  const path = `${base}/estimate`;
  const answer = await fixture.query({ fromBlock: 100, toBlock: 105 }, { path });
  expect([answer.status, answer.body.toString()]).toEqual([200, '{"fromBlock":100}']);
  expect(calls).toMatchObject([{ fromBlock: 100, toBlock: 105, dialect: 'ledger' }]);
  const invalid = await fixture.query({ fromBlok: 1 }, { path });
  expect([invalid.status, errorOf(invalid).code]).toEqual([400, 'query-key-unknown']);
  const other = await fixture.query({ type: 'solana', fromBlock: 1 }, { path });
  expect(errorOf(other).code).toBe('query-type-not-allowed');
  expect(await fixture.metrics.text()).toContain('sluice_http_query_bytes 0\n');
});
