import { expect, test } from 'vitest';
import { createClient, listDatasets } from './create-client.ts';
import { codeOf } from './testing/collect.ts';
import { StubFetch, type StubReply } from './testing/stub-fetch.ts';

const url = 'http://service.test/datasets/a';

function setUp(reply: StubReply) {
  const stub = new StubFetch(() => reply);
  return { client: createClient({ url, fetch: stub.fetch }), calls: stub.calls };
}

const header = '{"number":7,"hash":"h7","timestamp":1767225600}';
const transaction = '{"transactionIndex":0,"fee":18446744073709551615,"err":null}';

function failure(status: number, code: string): StubReply {
  return { status, body: JSON.stringify({ error: { code, message: 'no', requestId: '1' } }) };
}

test('default: a block has every digit, and an array for each kind', async () => {
  const body = `{"header":${header},"transactions":[${transaction}]}`;
  const { client, calls } = setUp({ status: 200, body });
  const block = await client.block(7);
  expect(calls[0]?.url).toBe(`${url}/blocks/7`);
  expect(block.header.timestamp).toBe(1_767_225_600n);
  expect(block.transactions[0]?.fee).toBe(18_446_744_073_709_551_615n);
  expect(block.rewards).toEqual([]);
});

test('error: not-stored has the reason why a slot has no block, and does not blame the address', async () => {
  const { client } = setUp(failure(404, 'slot-skipped'));
  const error: unknown = await client.block(7).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'not-stored', reply: { code: 'slot-skipped' } });
  expect(String(error)).not.toContain('url');
});

test('behavior: an unknown signature gives null, and any other error is thrown', async () => {
  expect(await setUp(failure(404, 'transaction-unknown')).client.transaction('x')).toBe(null);
  const { client } = setUp(failure(404, 'dataset-unknown'));
  expect(await codeOf(client.transaction('x'))).toBe('not-found');
});

test('behavior: transactions of an account are returned as blocks, page by page', async () => {
  const body = `{"transactions":[{"header":${header},"transactions":[${transaction}]}],"next":"7-0"}`;
  const { client, calls } = setUp({ status: 200, body });
  const page = await client.accountTransactions('abc', { before: '9-1', limit: 5 });
  expect(calls[0]?.url).toBe(`${url}/accounts/abc/transactions?before=9-1&limit=5`);
  expect(page.next).toBe('7-0');
  expect(page.transactions[0]?.transactions[0]?.fee).toBe(18_446_744_073_709_551_615n);
});

test('behavior: activity and estimate send their parameters', async () => {
  const { client, calls } = setUp({ status: 200, body: '{"blocks":3}' });
  expect(await client.activity({ from: 1, to: 2 })).toEqual({ blocks: 3 });
  await client.activity();
  await client.estimate({ fromBlock: 1, logs: [{}] });
  await client.coverage({ from: 7 });
  expect(calls.map((call) => call.url.slice(url.length))).toEqual([
    '/activity?from=1&to=2',
    '/activity',
    '/estimate',
    '/coverage?from=7',
  ]);
  expect(calls[2]?.init).toMatchObject({ method: 'POST', body: '{"fromBlock":1,"logs":[{}]}' });
});

test('behavior: a digest continues until its range is complete or not final, and adds the parts modulo 2^256', async () => {
  const records = {
    transactions: 1,
    instructions: 2,
    logs: 0,
    balances: 0,
    tokenBalances: 0,
    rewards: 3,
  };
  const part = { version: 1, isComplete: false, blocks: 1, records };
  const parts = [
    { ...part, fromBlock: 1, toBlock: 9, digest: 'f'.repeat(64) },
    { ...part, fromBlock: 10, toBlock: 19, digest: '3'.padStart(64, '0') },
    { ...part, fromBlock: 20, toBlock: 19, blocks: 0, digest: '0'.repeat(64) },
  ];
  const stub = new StubFetch(() => ({ status: 200, body: JSON.stringify(parts.shift()) }));
  const client = createClient({ url, fetch: stub.fetch });
  expect(await client.digest({ to: 30 })).toEqual({
    version: 1,
    fromBlock: 1,
    toBlock: 19,
    isComplete: false,
    blocks: 2,
    records: { ...records, transactions: 2, instructions: 4, rewards: 6 },
    digest: '2'.padStart(64, '0'),
  });
  expect(stub.calls.map((call) => call.url.slice(url.length))).toEqual([
    '/digest?to=30',
    '/digest?from=10&to=30',
    '/digest?from=20&to=30',
  ]);
});

test('behavior: a count continues until its range is complete, and adds the numbers', async () => {
  const none = {
    transactions: 0,
    instructions: 0,
    logs: 0,
    balances: 0,
    tokenBalances: 0,
    rewards: 0,
  };
  const parts = [
    {
      fromBlock: 1,
      toBlock: 9,
      isComplete: false,
      blocks: 0,
      ...none,
      firstBlock: null,
      lastBlock: null,
    },
    {
      fromBlock: 10,
      toBlock: 19,
      isComplete: false,
      blocks: 2,
      ...none,
      logs: 3,
      firstBlock: 12,
      lastBlock: 14,
    },
    {
      fromBlock: 20,
      toBlock: 30,
      isComplete: true,
      blocks: 1,
      ...none,
      logs: 4,
      firstBlock: 25,
      lastBlock: 25,
    },
  ];
  const rest = [...parts];
  const stub = new StubFetch(() => ({ status: 200, body: JSON.stringify(rest.shift()) }));
  const client = createClient({ url, fetch: stub.fetch });
  const sum = await client.count({ fromBlock: 1, parentBlockHash: 'x', toBlock: 30, logs: [{}] });
  const found = { blocks: 3, ...none, logs: 7, firstBlock: 12, lastBlock: 25 };
  expect(sum).toEqual({ fromBlock: 1, toBlock: 30, isComplete: true, ...found });
  const sent = stub.calls.map(({ init }) => JSON.parse(String(init?.body)));
  expect(sent.map(({ fromBlock, parentBlockHash }) => [fromBlock, parentBlockHash])).toEqual([
    [1, 'x'],
    [10, undefined],
    [20, undefined],
  ]);
});

test('behavior: the datasets of a service are listed from the address of the service', async () => {
  const stub = new StubFetch(() => ({ status: 200, body: '[{"dataset":"a"}]' }));
  const found = await listDatasets({ url: 'http://service.test', fetch: stub.fetch });
  expect(found.map(({ dataset }) => dataset)).toEqual(['a']);
  expect(stub.calls[0]?.url).toBe('http://service.test/datasets');
});
