import { gunzipSync, gzipSync } from 'node:zlib';
import { CodedError } from '@sluice/base/errors';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { makeHash } from '../stream/testing/make-block.ts';
import { settle } from '../stream/testing/manual-clock.ts';
import { MemoryDataset } from '../stream/testing/memory-dataset.ts';
import { errorOf, HttpFixture, type HttpResponse, matchBody } from './testing/http-fixture.ts';

let fixture: HttpFixture;
beforeEach(async () => {
  fixture = await HttpFixture.start();
});
afterEach(() => fixture.close());

async function restart(options: Parameters<typeof HttpFixture.start>[0]): Promise<void> {
  await fixture.close();
  fixture = await HttpFixture.start(options);
}

function numbers(answer: HttpResponse): number[] {
  const lines = answer.body.toString().split('\n').slice(0, -1);
  return lines.map((line) => (JSON.parse(line) as { header: { number: number } }).header.number);
}

describe('heads and metadata', () => {
  test('default: the dataset is found by name and by alias', async () => {
    const expected = {
      dataset: 'ledger-test',
      aliases: ['ledger-alias'],
      real_time: true,
      start_block: 99,
    };
    for (const name of ['ledger-test', 'ledger-alias']) {
      const answer = await fixture.get(`/datasets/${name}/metadata?x=1`);
      expect([answer.status, JSON.parse(answer.body.toString())]).toEqual([200, expected]);
    }
    expect(JSON.parse((await fixture.get('/datasets')).body.toString())).toEqual([expected]);
  });

  test('default: a head has a number and a hash', async () => {
    const head = await fixture.get('/datasets/ledger-test/head');
    expect(JSON.parse(head.body.toString())).toEqual({ number: 110, hash: makeHash('a', 110) });
    const finalized = await fixture.get('/datasets/ledger-test/finalized-head');
    expect(JSON.parse(finalized.body.toString())).toEqual({
      number: 103,
      hash: makeHash('a', 103),
    });
    expect(head.headers['content-type']).toMatch(/^application\/json/);
  });

  test('behavior: a dataset without a start has null heads, is not listed, and gets 503 otherwise', async () => {
    await restart({ dataset: new MemoryDataset({ isStarted: false }) });
    expect((await fixture.get('/datasets/ledger-test/head')).body.toString()).toBe('null');
    expect((await fixture.get('/datasets')).body.toString()).toBe('[]');
    const metadata = await fixture.get('/datasets/ledger-test/metadata');
    expect([metadata.status, errorOf(metadata).code]).toEqual([503, 'dataset-starting']);
    expect(metadata.headers['retry-after']).toBe('2');
    expect((await fixture.query({ fromBlock: 0 })).status).toBe(503);
  });

  test('behavior: a time returns the first block at or after it', async () => {
    const at = (seconds: number | string) =>
      fixture.get(`/datasets/ledger-test/timestamps/${seconds}/block`);
    const base = 1_738_368_000;
    expect(JSON.parse((await at(base + 104)).body.toString())).toEqual({ block_number: 106 });
    expect(JSON.parse((await at(0)).body.toString())).toEqual({ block_number: 100 });
    const later = await at(base + 111);
    expect([later.status, errorOf(later)]).toEqual([
      404,
      expect.objectContaining({ code: 'time-not-reached', path: 'seconds' }),
    ]);
    const invalid = await at('soon');
    expect([invalid.status, errorOf(invalid)]).toEqual([
      400,
      expect.objectContaining({ code: 'time-invalid', path: 'seconds' }),
    ]);
    for (const text of ['1x', 'x1', '-', '1.5']) expect((await at(text)).status).toBe(400);
    expect(fixture.dataset.leaseCount).toBe(0);
    // Times far in the future and in the past are valid.
    expect((await at('9'.repeat(20))).status).toBe(404);
    expect(JSON.parse((await at(`-${'9'.repeat(20)}`)).body.toString())).toEqual({
      block_number: 100,
    });
  });

  test('behavior: the status has the stored range and no path', async () => {
    const answer = await fixture.get('/datasets/ledger-test/status');
    expect(JSON.parse(answer.body.toString())).toMatchObject({
      votes: 'drop',
      start_block: 99,
      block_count: 9,
      head_lag_seconds: 2,
      head: { number: 110 },
      storage: { kind: 'open' },
    });
  });
});

describe('streams', () => {
  test('default: a bounded range has the head headers of its state (I-45)', async () => {
    const answer = await fixture.query({ fromBlock: 99, toBlock: 110 });
    expect([answer.status, numbers(answer)]).toEqual([200, [102, 108, 110]]);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/jsonl',
      'x-ledger-finalized-head-number': '103',
      'x-ledger-finalized-head-hash': makeHash('a', 103),
      'x-ledger-head-number': '110',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      vary: 'Accept-Encoding',
    });
    expect(answer.headers['content-encoding']).toBeUndefined();
    expect(answer.body.toString().endsWith('}\n')).toBe(true);
  });

  test('behavior: the finalized stream ends at the finalized head', async () => {
    const path = '/datasets/ledger-test/finalized-stream';
    const answer = await fixture.query({ fromBlock: 99, toBlock: 103 }, { path });
    expect(numbers(answer)).toEqual([102, 103]);
  });

  test('behavior: gzip decodes to the same bytes for all piece sizes (I-50)', async () => {
    const plain = await fixture.query({ fromBlock: 99, toBlock: 110 });
    const headers = { 'accept-encoding': 'gzip' };
    const zipped = await fixture.query({ fromBlock: 99, toBlock: 110 }, { headers });
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(zipped.body).equals(plain.body)).toBe(true);
  });

  test('behavior: a range of skipped slots gets an empty 200 with the heads (I-38)', async () => {
    const headers = { 'accept-encoding': 'gzip' };
    const answer = await fixture.query({ fromBlock: 104, toBlock: 105 }, { headers });
    expect([answer.status, answer.body.length, answer.isComplete]).toEqual([200, 0, true]);
    expect(answer.headers).toMatchObject({
      'x-ledger-head-number': '110',
      'content-type': 'application/jsonl',
    });
  });

  test('behavior: a request above the data gets 204 with the heads and no body (I-39)', async () => {
    const pending = fixture.query({ fromBlock: 111 });
    await waitForWaiters(1);
    await fixture.manualClock.advance(5_200);
    const answer = await pending;
    expect([answer.status, answer.body.length]).toEqual([204, 0]);
    expect(answer.headers).toMatchObject({
      'x-ledger-head-number': '110',
      'x-ledger-finalized-head-number': '103',
    });
  });

  test('behavior: 2^63-1 and beyond are above the data (F-67)', async () => {
    const pending = fixture.send({
      method: 'POST',
      path: '/datasets/ledger-test/stream',
      headers: { 'content-type': 'application/json' },
      body: '{"fromBlock":9223372036854775807}',
    });
    await waitForWaiters(1);
    await fixture.manualClock.advance(5_200);
    expect((await pending).status).toBe(204);
  });

  test('behavior: a wrong parent gets 409 with only the blocks below', async () => {
    const answer = await fixture.query({ fromBlock: 101, parentBlockHash: 'wrong' });
    expect([answer.status, JSON.parse(answer.body.toString())]).toEqual([
      409,
      {
        previousBlocks: [
          { number: 98, hash: makeHash('a', 98) },
          { number: 100, hash: makeHash('a', 100) },
        ],
      },
    ]);
  });

  test('behavior: a followed response sends new blocks, each decodable immediately', async () => {
    for (const encoding of ['identity', 'gzip']) {
      const socket = await fixture.connect();
      const body = JSON.stringify(matchBody({ fromBlock: 108 }));
      const received: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => received.push(chunk));
      const text = () => Buffer.concat(received).toString('latin1');
      socket.write(post(body, `accept-encoding: ${encoding}\r\n`));
      await until(() => text().includes('\r\n\r\n') && fixture.streams.waiterCount === 1);
      const before = text().length;
      const next = (fixture.dataset.snapshot().head?.number ?? 0) + 1;
      fixture.dataset.extend([next, next + 1], 'a', () => true);
      await until(() => text().length > before + 20);
      socket.destroy();
      await until(() => fixture.streams.waiterCount === 0);
    }
  });

  test('behavior: the dialect solana has its own header names, and an empty response is delayed', async () => {
    await restart({ dialects: ['ledger', 'solana'] });
    const answer = await fixture.query({ type: 'solana', fromBlock: 99, toBlock: 101, fields: {} });
    expect(answer.headers).toMatchObject({
      'x-sqd-finalized-head-number': '103',
      'x-sqd-finalized-head-hash': makeHash('a', 103),
      'x-sqd-head-number': '110',
    });
    expect(Object.keys(answer.headers).some((name) => name.startsWith('x-ledger'))).toBe(false);
    let isDone = false;
    const empty = fixture
      .query({ type: 'solana', fromBlock: 104, toBlock: 105, fields: {} })
      .finally(() => {
        isDone = true;
      });
    await until(() => fixture.manualClock.sleeperCount >= 2);
    await fixture.manualClock.advance(900);
    expect(isDone).toBe(false);
    await fixture.manualClock.advance(200);
    expect((await empty).status).toBe(200);
  });
});

describe('refusals', () => {
  test('error: a query is refused with the path of the value (I-94)', async () => {
    const answer = await fixture.query({ fromBlock: 1, toBlok: 2 });
    expect([answer.status, errorOf(answer).code, errorOf(answer).path]).toEqual([
      400,
      'query-key-unknown',
      'toBlok',
    ]);
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(fixture.dataset.leaseCount).toBe(0);
  });

  test('error: range-unavailable names the lowest slot', async () => {
    const error = errorOf(await fixture.query({ fromBlock: 98 }));
    expect([error.code, error.path, error.message]).toEqual([
      'range-unavailable',
      'fromBlock',
      expect.stringContaining('99'),
    ]);
  });

  test('error: the dialect solana is refused if the dataset does not allow it', async () => {
    const answer = await fixture.query({ type: 'solana', fromBlock: 99 });
    expect([answer.status, errorOf(answer).code]).toEqual([400, 'query-type-not-allowed']);
  });

  test('error: unknown paths and datasets get 404 in every spelling (F-64, trap: encoded paths)', async () => {
    const names = ['nope', '..%2f..%2fetc', '%00', 'a'.repeat(200), 'LEDGER-TEST', '__proto__'];
    for (const name of names) {
      const answer = await fixture.get(`/datasets/${name}/head`);
      expect([name, answer.status]).toEqual([name, 404]);
      expect(errorOf(answer).code).toBe('dataset-unknown');
    }
    expect(errorOf(await fixture.get('/nope')).code).toBe('path-unknown');
    const broken = await fixture.get('/datasets/%zz/head');
    expect([broken.status, errorOf(broken).code]).toEqual([400, 'request-malformed']);
  });

  test('behavior: a character of a path may be percent-encoded, also in a name and with a wrong method', async () => {
    for (const path of ['ledger%2Dtest/head', 'ledger-tes%74/he%61d']) {
      expect([path, (await fixture.get(`/datasets/${path}`)).status]).toEqual([path, 200]);
    }
    expect((await fixture.get('/datasets/ledger%2dtest/stre%61m')).status).toBe(405);
  });

  test('error: a wrong method gets 405 with Allow, and 404 for an unknown dataset', async () => {
    const get = await fixture.get('/datasets/ledger-test/stream');
    expect([get.status, get.headers.allow, errorOf(get).code]).toEqual([
      405,
      'POST',
      'method-wrong',
    ]);
    for (const method of ['POST', 'DELETE', 'PROPFIND', 'OPTIONS']) {
      const answer = await fixture.send({ method, path: '/datasets/ledger-test/head' });
      expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, 'GET, HEAD']);
    }
    expect((await fixture.get('/datasets/nope/stream')).status).toBe(404);
  });

  test('error: only JSON is accepted, and the error says so (trap: text/plain)', async () => {
    const types = ['text/plain', 'application/jsonl', 'application/json; charset=latin1', ';;'];
    for (const type of types) {
      const answer = await fixture.query({ fromBlock: 99 }, { headers: { 'content-type': type } });
      expect([type, answer.status, errorOf(answer).code]).toEqual([
        type,
        415,
        'content-type-wrong',
      ]);
    }
    for (const type of ['application/json;charset=UTF-8', 'Application/JSON; charset="utf-8"']) {
      const headers = { 'content-type': type };
      const answer = await fixture.query({ fromBlock: 99, toBlock: 100 }, { headers });
      expect([type, answer.status]).toEqual([type, 200]);
    }
  });

  test('error: a body is plain or gzip; anything else is 415 (F-58)', async () => {
    for (const encoding of ['gzip, gzip', 'br', 'deflate']) {
      const headers = { 'content-encoding': encoding };
      const answer = await fixture.query({ fromBlock: 99 }, { headers });
      expect([encoding, answer.status]).toEqual([encoding, 415]);
    }
  });

  test('behavior: a gzip body is accepted', async () => {
    const body = gzipSync(JSON.stringify(matchBody({ fromBlock: 99, toBlock: 102 })));
    expect(numbers(await postGzip(body))).toEqual([102]);
  });

  test('error: a truncated or damaged gzip body gets 400 (F-58)', async () => {
    const body = gzipSync(JSON.stringify(matchBody({ fromBlock: 99, toBlock: 102 })));
    const damaged = Buffer.from(body);
    damaged[body.length - 6] = (damaged[body.length - 6] as number) ^ 0xff;
    for (const broken of [body.subarray(0, -4), damaged, Buffer.from('{}'), Buffer.alloc(0)]) {
      const answer = await postGzip(broken);
      expect([answer.status, errorOf(answer).code]).toEqual([400, 'body-not-gzip']);
    }
  });

  test('limit: a body above 1 MiB is 413, on the wire, chunked, or decompressed (S-04, trap: maxOutputLength)', async () => {
    const big = `{"fromBlock":99,"x":"${'x'.repeat(1_048_576)}"}`;
    const headers = { 'content-type': 'application/json' };
    const path = '/datasets/ledger-test/stream';
    const sent = await fixture.send({ method: 'POST', path, headers, body: big });
    const chunked = { ...headers, 'transfer-encoding': 'chunked' };
    const inChunks = await fixture.send({ method: 'POST', path, headers: chunked, body: big });
    const bomb = await postGzip(gzipSync(Buffer.alloc(64 * 1024 * 1024, ' ')));
    for (const answer of [sent, inChunks, bomb]) {
      expect([answer.status, errorOf(answer).code]).toEqual([413, 'body-too-large']);
    }
  });

  test('error: names of prototype properties are unknown keys (F-61)', async () => {
    for (const key of ['__proto__', 'constructor', 'toString']) {
      const answer = await fixture.send({
        method: 'POST',
        path: '/datasets/ledger-test/stream',
        headers: { 'content-type': 'application/json' },
        body: `{"fromBlock":99,"${key}":{}}`,
      });
      expect([key, answer.status]).toEqual([key, 400]);
    }
  });

  test('error: internal-error contains no internals and is logged (I-95)', async () => {
    fixture.dataset.fault = new TypeError('/secret/path');
    const answer = await fixture.query({ fromBlock: 100, toBlock: 102 });
    expect([answer.status, errorOf(answer).code]).toEqual([500, 'internal-error']);
    expect(answer.body.toString()).not.toContain('secret');
    expect(fixture.errors.join()).toContain('/secret/path');
  });

  test('error: storage-unreachable: unreadable data gets 503, and the rest is served (I-76)', async () => {
    fixture.dataset.fault = new CodedError('segment-damaged', { unit: '/secret/unit' });
    const answer = await fixture.query({ fromBlock: 100, toBlock: 102 });
    expect([answer.status, errorOf(answer).code]).toEqual([503, 'storage-unreachable']);
    expect(answer.headers['retry-after']).toBe('10');
    expect(answer.body.toString()).not.toContain('secret');
    expect(JSON.parse(fixture.errors[0] as string)).toMatchObject({
      code: 'segment-damaged',
      dataset: 'ledger-test',
      requestId: answer.headers['x-request-id'],
    });
    expect((await fixture.get('/datasets/ledger-test/head')).status).toBe(200);
  });

  test('behavior: the request id is ours unless the client sent a valid one', async () => {
    const mine = await fixture.get('/datasets', { 'x-request-id': 'abc_1-2' });
    expect(mine.headers['x-request-id']).toBe('abc_1-2');
    const odd = await fixture.get('/nope', { 'x-request-id': 'a b' });
    expect(odd.headers['x-request-id']).toMatch(/^r\d+$/);
    expect(JSON.parse(odd.body.toString())).toMatchObject({
      error: { requestId: odd.headers['x-request-id'] },
    });
  });

  test('behavior: text from a client cannot become a property, a path or a line of the log (S-09)', async () => {
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty', '..', '%0a']) {
      expect((await fixture.get(`/datasets/${name}/head`)).status, name).toBe(404);
    }
    fixture.dataset.fault = new Error('broken');
    const written = '{"level":10,"msg":"mine %s %o"}';
    const headers = { 'x-request-id': written, 'user-agent': written, 'x-forwarded-for': written };
    const path = `/datasets/ledger-test/stream?${encodeURIComponent(`\n${written}`)}`;
    expect((await fixture.query({ fromBlock: 99, toBlock: 103 }, { headers, path })).status).toBe(
      500,
    );
    expect(fixture.errors.length).toBeGreaterThan(0);
    for (const line of fixture.errors) {
      expect(JSON.parse(line)).toMatchObject({ level: 50 });
      expect(line).not.toContain('mine');
    }
  });

  test('behavior: no response contains the name of the software, and no browser may guess its type (S-08)', async () => {
    for (const [path, status] of [
      ['/datasets', 200],
      ['/nope', 404],
    ] as const) {
      const answer = await fixture.get(path);
      const { headers } = answer;
      expect(answer.status).toBe(status);
      expect([headers['server'], headers['x-powered-by']]).toEqual([undefined, undefined]);
      expect(headers['x-content-type-options'], path).toBe('nosniff');
    }
  });

  test('limit: streams above the limit are 503 with Retry-After, and a stream that ends frees its slot immediately (F-56, L-17)', async () => {
    await restart({ limits: { streamCountMax: 1 } });
    const socket = await fixture.connect();
    socket.write(post(JSON.stringify(matchBody({ fromBlock: 108 }))));
    await until(() => fixture.streams.waiterCount === 1);
    const refused = await fixture.query({ fromBlock: 99, toBlock: 100 });
    expect([refused.status, errorOf(refused).code]).toEqual([503, 'streams-full']);
    expect(refused.headers['retry-after']).toBe('2');
    socket.destroy();
    await until(() => fixture.streams.waiterCount === 0);
    expect((await fixture.query({ fromBlock: 99, toBlock: 100 })).status).toBe(200);
  });
});

describe('cross-origin', () => {
  test('behavior: no page may read responses unless its exact origin is listed (S-07)', async () => {
    const origin = 'https://a.example';
    expect((await fixture.get('/datasets', { origin })).headers).not.toHaveProperty(
      'access-control-allow-origin',
    );
    await restart({ corsOrigins: [origin] });
    const allowed = await fixture.get('/datasets', { origin });
    expect(allowed.headers['access-control-allow-origin']).toBe(origin);
    expect(allowed.headers['access-control-expose-headers']).toContain(
      'X-Ledger-Finalized-Head-Number',
    );
    const other = await fixture.get('/datasets', { origin: 'https://a.example.evil' });
    expect(other.headers).not.toHaveProperty('access-control-allow-origin');
  });

  test('behavior: a listed origin may send a preflight request before a POST', async () => {
    await restart({ corsOrigins: ['https://a.example'] });
    const answer = await fixture.send({
      method: 'OPTIONS',
      path: '/datasets/ledger-test/stream',
      headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
    });
    expect([answer.status, answer.headers['access-control-allow-methods']]).toEqual([
      204,
      'GET, HEAD, POST',
    ]);
    // All request headers that the interface uses.
    expect(String(answer.headers['access-control-allow-headers']).split(', ').sort()).toEqual([
      'authorization',
      'content-encoding',
      'content-type',
      'x-api-key',
      'x-request-id',
    ]);
  });
});

describe('closing', () => {
  test('behavior: streams end after a line with valid compression, and waiting requests get 503 (L-15, F-42, trap: gzip destroy())', async () => {
    const headers = { 'accept-encoding': 'gzip' };
    const followed = fixture.query({ fromBlock: 106 }, { headers });
    const waiting = fixture.query({ fromBlock: 111 });
    await until(() => fixture.streams.waiterCount === 2);
    await fixture.server.close();
    const stream = await followed;
    expect([stream.status, stream.isComplete]).toEqual([200, true]);
    expect(gunzipSync(stream.body).toString()).toMatch(/"number":110,[^\n]*\n$/);
    const refused = await waiting;
    expect([refused.status, errorOf(refused).code]).toEqual([503, 'service-closing']);
    expect(refused.headers['retry-after']).toBe('5');
  });
});

function postGzip(body: Uint8Array): Promise<HttpResponse> {
  return fixture.send({
    method: 'POST',
    path: '/datasets/ledger-test/stream',
    headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    body,
  });
}

function post(body: string, headers = ''): string {
  return `POST /datasets/ledger-test/stream HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`;
}

/** Polls every turn of the event loop, because real sockets take time. The timeout of the test bounds it. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await settle();
}

function waitForWaiters(count: number): Promise<void> {
  return until(() => fixture.streams.waiterCount === count);
}
