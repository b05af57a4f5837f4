import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ClientEvent } from './base/client-events.ts';
import type { Clock } from './base/clock.ts';
import { isSluiceError } from './base/sluice-error.ts';
import { createClient } from './create-client.ts';
import { parseRetryAfter, retryWaitMs } from './http/retry-wait.ts';
import { codeOf, collect } from './testing/collect.ts';
import { StubFetch, type StubReply } from './testing/stub-fetch.ts';

const url = 'http://service.test/datasets/a';
const line = (number: number) => `{"header":{"number":${number},"hash":"h${number}"}}\n`;

/** Delays pass immediately and are recorded. The timeout of a request passes only if the request gets no response. */
function quickClock(waits: number[]): Clock {
  let nowMs = 0;
  return {
    nowMs: () => nowMs,
    unixMs: () => Date.UTC(2026, 0, 1) + nowMs,
    sleep: async (ms, signal) => {
      // Enough turns for a response that is ready, so that the timeout of the request is cancelled before.
      for (let turn = 0; turn < (ms >= 1_000 ? 50 : 1); turn++) await nextTurn();
      if (signal?.aborted === true) return;
      nowMs += ms;
      waits.push(ms);
    },
  };
}

function setUp(reply: (index: number) => StubReply) {
  const stub = new StubFetch((_, index) => reply(index));
  const events: ClientEvent[] = [];
  const waits: number[] = [];
  const options = { url, fetch: stub.fetch, onEvent: (event: ClientEvent) => events.push(event) };
  const client = createClient(options, { clock: quickClock(waits), random: () => 1 });
  return { client, stub, events, waits };
}

const retriesOf = (events: readonly ClientEvent[]) =>
  events.flatMap((event) => (event.kind === 'retry' ? [[event.error.code, event.waitMs]] : []));

test('behavior: delays grow between retries, and start again after progress', async () => {
  const replies: StubReply[] = [
    'refused',
    { status: 500 },
    { status: 502 },
    { status: 200, body: line(0) },
    'refused',
    { status: 200, body: line(1) },
  ];
  const { client, events } = setUp((index) => replies[index] ?? { status: 500 });
  await collect(client.stream({ fromBlock: 0, toBlock: 1 }));
  expect(retriesOf(events)).toEqual([
    ['network-failed', 250],
    ['service-failed', 500],
    ['service-unavailable', 1000],
    ['network-failed', 250],
  ]);
});

test('behavior: Retry-After is the minimum delay', async () => {
  const headers = { 'retry-after': '7' };
  const { client, events } = setUp((index) =>
    index === 0 ? { status: 429, headers } : { status: 200, body: line(0) },
  );
  await collect(client.stream({ fromBlock: 0, toBlock: 0 }));
  expect(retriesOf(events)).toEqual([['over-limit', 7025]]);
});

test('behavior: a service that does not respond is a timeout', async () => {
  const { client, events } = setUp((index) =>
    index === 0 ? 'silent' : { status: 200, body: line(0) },
  );
  await collect(client.stream({ fromBlock: 0, toBlock: 0 }));
  expect(retriesOf(events)).toEqual([['timeout', 250]]);
});

test('behavior: a service that responds immediately without new blocks gets one request per second', async () => {
  const { client, waits } = setUp((index) =>
    index < 5 ? { status: 204 } : { status: 200, body: line(0) },
  );
  await collect(client.stream({ fromBlock: 0, toBlock: 0 }));
  expect(waits.filter((ms) => ms >= 900)).toHaveLength(5);
});

test.each([
  [400, 'query-invalid'],
  [401, 'key-refused'],
  [403, 'key-refused'],
  [404, 'not-found'],
  [405, 'request-refused'],
  [413, 'request-refused'],
  [302, 'redirected'],
])('error: %i is %s and is not retried', async (status, code) => {
  const body = JSON.stringify({
    error: { code: 'x', message: 'what is wrong', path: 'logs[0].kind', requestId: 'r1' },
  });
  const { client, stub } = setUp(() => ({ status, body, headers: { 'x-request-id': 'r1' } }));
  const work = collect(client.stream({ fromBlock: 0 }));
  const error = await work.catch((thrown: unknown) => thrown);
  if (!isSluiceError(error)) throw error;
  expect(error.code).toBe(code);
  expect(error.retryable).toBe(false);
  expect(error.remedy).not.toBe('');
  expect(error.message).toContain('what is wrong');
  expect(error.message).toContain('logs[0].kind');
  expect(error.reply).toMatchObject({ status, path: 'logs[0].kind', requestId: 'r1' });
  expect(stub.calls).toHaveLength(1);
});

test('error: range-unavailable is tried on every replica before it is thrown', async () => {
  const body = JSON.stringify({ error: { code: 'range-unavailable', message: 'starts at 5' } });
  const stub = new StubFetch((call) =>
    call.url.startsWith('http://b.') ? { status: 200, body: line(0) } : { status: 400, body },
  );
  const open = (urls: readonly string[]) =>
    createClient({ url: urls, fetch: stub.fetch, retry: { firstMs: 1 } });
  const [a, b, c] = [
    'http://a.test/datasets/x',
    'http://b.test/datasets/x',
    'http://c.test/datasets/x',
  ];
  const query = { fromBlock: 0, toBlock: 0 };
  expect(await collect(open([a, b]).stream(query))).toHaveLength(1);
  expect(await codeOf(collect(open([a, c, a]).stream(query)))).toBe('range-unavailable');
});

test('limit: retry.attemptsMax failures without progress end a stream', async () => {
  const stub = new StubFetch(() => 'refused');
  const retry = { attemptsMax: 3, firstMs: 1 };
  const client = createClient({ url, fetch: stub.fetch, retry });
  expect(await codeOf(collect(client.stream({ fromBlock: 0 })))).toBe('network-failed');
  expect(stub.calls).toHaveLength(3);
});

test('default: small calls send the key, retry, and return the response', async () => {
  const answers: Record<string, unknown> = {
    '/head': { number: 9, hash: 'h' },
    '/finalized-head': null,
    '/metadata': { dataset: 'a', aliases: [], real_time: true, start_block: 0 },
    '/status': { dataset: 'a', head: null },
    '/timestamps/1767225600/block': { block_number: 5 },
  };
  const stub = new StubFetch((call, index) =>
    index === 0
      ? { status: 503 }
      : { status: 200, body: JSON.stringify(answers[call.url.slice(url.length)]) },
  );
  const client = createClient({
    url: `${url}/`,
    key: 'K',
    fetch: stub.fetch,
    retry: { firstMs: 1 },
  });
  expect(await client.head()).toEqual({ number: 9, hash: 'h' });
  expect(await client.finalizedHead()).toBeNull();
  expect(await client.metadata()).toMatchObject({ start_block: 0 });
  expect(await client.status()).toMatchObject({ head: null });
  const time = new Date('2026-01-01T00:00:00Z');
  expect(await client.blockAt(time)).toBe(5);
  expect(await client.blockAt(1767225599.5)).toBe(5);
  expect(await client.blockAt(1767225600n)).toBe(5);
  const headers = stub.calls[0]?.init.headers as Record<string, string>;
  expect(headers['authorization']).toBe('Bearer K');
});

test('behavior: a time after the head gives null', async () => {
  const body = JSON.stringify({ error: { code: 'time-not-reached', message: 'none' } });
  const stub = new StubFetch(() => ({ status: 404, body }));
  expect(await createClient({ url, fetch: stub.fetch }).blockAt(1)).toBeNull();
});

test('limit: a small call gives up after five attempts', async () => {
  const stub = new StubFetch(() => 'refused');
  const client = createClient({ url, fetch: stub.fetch, retry: { firstMs: 1 } });
  expect(await codeOf(client.head())).toBe('network-failed');
  expect(stub.calls).toHaveLength(5);
});

function askedForFinality(stub: StubFetch): boolean[] {
  return stub.calls.map(({ init }) => String(init.body).includes('finalizedHead'));
}

function finalizedHeaders(number: number): Record<string, string> {
  return {
    'x-ledger-finalized-head-number': `${number}`,
    'x-ledger-finalized-head-hash': `h${number}`,
  };
}

function lineWithFinality(number: number, finalized: number): string {
  const head = `"finalizedHead":{"number":${finalized},"hash":"h${finalized}"}`;
  return `{"header":{"number":${number},"hash":"h${number}",${head}}}\n`;
}

test('behavior: after a service refused fields.block.finalizedHead, requests to it do not select it', async () => {
  const body = JSON.stringify({
    error: { code: 'query-invalid', message: 'unknown', path: 'fields.block.finalizedHead' },
  });
  const stub = new StubFetch(({ init }, index) =>
    String(init.body).includes('finalizedHead')
      ? { status: 400, body }
      : { status: 200, body: line(index) },
  );
  const client = createClient({ url, fetch: stub.fetch });
  await collect(client.stream({ fromBlock: 0, toBlock: 3 }));
  expect(askedForFinality(stub)).toEqual([false, true, false, false]);
});

test('behavior: finalizedHead is selected only in requests for blocks above the known finalized head', async () => {
  const answers = [
    { headers: finalizedHeaders(2), body: `${line(0)}${line(1)}` },
    { headers: finalizedHeaders(2), body: `${line(2)}${line(3)}` },
    { headers: finalizedHeaders(3), body: lineWithFinality(4, 4_000) },
    { headers: finalizedHeaders(4_000), body: line(5) },
  ];
  const stub = new StubFetch((_, index) => ({ status: 200, ...answers[index] }));
  const client = createClient({ url, fetch: stub.fetch });
  const batches = await collect(client.stream({ fromBlock: 0, toBlock: 5 }));
  expect(askedForFinality(stub)).toEqual([false, false, true, false]);
  expect(batches.map(({ finalizedHead }) => finalizedHead?.number)).toEqual([2, 2, 4_000, 4_000]);
  expect(batches.map(({ cursor }) => cursor.blocks.map(({ number }) => number))).toEqual([
    [1],
    [2, 3],
    [4],
    [5],
  ]);
});

test('behavior: a finalized head in a header advances finality and is removed if the consumer did not select it', async () => {
  const body = `${line(0)}${line(1)}${lineWithFinality(2, 1)}`;
  const stub = new StubFetch(() => ({ status: 200, body }));
  const client = createClient({ url, fetch: stub.fetch });
  const [batch] = await collect(client.stream({ fromBlock: 0, toBlock: 2 }));
  if (batch?.kind !== 'blocks') throw new Error('no blocks');
  expect(batch.finalizedHead).toEqual({ number: 1, hash: 'h1' });
  expect(batch.cursor.blocks.map(({ number }) => number)).toEqual([1, 2]);
  expect(batch.blocks[2]?.header).not.toHaveProperty('finalizedHead');
});

test('error: response-malformed for a finalized block that differs from a delivered one, and no block is lost', async () => {
  const headers = (hash: string) => ({
    'x-ledger-finalized-head-number': '0',
    'x-ledger-finalized-head-hash': hash,
  });
  const { client, events } = setUp((index) =>
    index === 0
      ? { status: 200, body: line(0) + line(1), headers: headers('other') }
      : { status: 200, body: line(0) + line(1), headers: headers('h0') },
  );
  const [batch] = await collect(client.stream({ fromBlock: 0, toBlock: 1 }));
  expect(retriesOf(events)).toEqual([['response-malformed', 250]]);
  expect(batch).toMatchObject({ blocks: [{ header: { number: 0 } }, { header: { number: 1 } }] });
});

test.each([
  ['blocks below the range', line(3)],
  ['blocks above the range', line(5) + line(9)],
  ['blocks out of order', line(6) + line(5)],
  ['a block twice', line(5) + line(5)],
])('error: response-malformed for %s', async (_, body) => {
  const { client } = setUp(() => ({ status: 200, body }));
  expect(await codeOf(collect(client.stream({ fromBlock: 5, toBlock: 8 })))).toBe(
    'response-malformed',
  );
});

test.each([
  [{ url: 'ftp://a/datasets/b' }],
  [{ url: 'not an address' }],
  [{ url: 'http://user:secret@a/datasets/b' }],
  [{ url: [] }],
  [{ url, timeoutMs: 0 }],
  [{ url, retry: { firstMs: -1 } }],
])('error: option-invalid for %j, without repeating the address', async (options) => {
  const error = await Promise.resolve()
    .then(() => createClient(options))
    .catch((thrown: unknown) => thrown);
  if (!isSluiceError(error, 'option-invalid')) throw error;
  expect(error.message).not.toContain('secret');
});

test('error: option-invalid for an invalid range', async () => {
  const client = createClient({ url });
  const open = async () => client.stream({ fromBlock: -1 });
  expect(await codeOf(open())).toBe('option-invalid');
});

test('default: delays are between half and all of a time that doubles up to a limit', () => {
  const limits = { firstMs: 100, maxMs: 1_000 };
  const wait = (attempt: number, random: number) =>
    retryWaitMs(attempt, limits, { random: () => random, retryAfterMs: undefined });
  expect([1, 2, 3, 4, 5, 50].map((attempt) => wait(attempt, 1))).toEqual([
    100, 200, 400, 800, 1000, 1000,
  ]);
  expect([1, 2].map((attempt) => wait(attempt, 0))).toEqual([50, 100]);
});

test('behavior: Retry-After has seconds or a date', () => {
  const clock = quickClock([]);
  expect(parseRetryAfter('3', clock)).toBe(3000);
  expect(parseRetryAfter('Thu, 01 Jan 2026 00:00:05 GMT', clock)).toBe(5000);
  expect(parseRetryAfter('soon', clock)).toBeUndefined();
  expect(parseRetryAfter(null, clock)).toBeUndefined();
});
