/** Behaviour of clients that no client library has: sending slowly, not reading, disconnecting, sending garbage. */

import type { BlockRef } from '@sluice/ledger/block';
import { afterEach, expect, test } from 'vitest';
import type { BlockEvaluator } from '../stream/block-evaluator.ts';
import { LinePiece } from '../stream/line-piece.ts';
import { settle } from '../stream/testing/manual-clock.ts';
import { MemoryDataset } from '../stream/testing/memory-dataset.ts';
import { HTTP_LIMITS } from './http-limits.ts';
import { errorOf, HttpFixture, matchBody, readToEnd } from './testing/http-fixture.ts';

let fixture: HttpFixture;
afterEach(() => fixture.close());

const quick = { headersMsMax: 200, requestMsMax: 400, timeoutCheckMs: 50 };
const head =
  'POST /datasets/ledger-test/stream HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n';

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await settle();
}

/** Returns whether the metrics contain a text. */
async function metricsHave(text: string): Promise<boolean> {
  return (await fixture.metrics.text()).includes(text);
}

/** Resolves when the writer waits for its client and no further block is read ahead. */
async function untilHeldBack(): Promise<void> {
  let stillSince = 0;
  for (let turn = 0, decoded = -1; turn - stillSince < 50; turn++) {
    await settle();
    const isWaiting = !(await metricsHave('sluice_http_unsent_bytes 0'));
    if (!isWaiting || fixture.dataset.decodeCount !== decoded) stillSince = turn;
    decoded = fixture.dataset.decodeCount;
  }
}

async function say(text: string): Promise<string> {
  const socket = await fixture.connect();
  socket.write(text);
  return readToEnd(socket);
}

test('error: request-too-slow: slow headers, a slow body and silence are closed (F-53, trap: requestTimeout 0)', async () => {
  fixture = await HttpFixture.start({ limits: quick });
  const slowBody = say(`${head}content-length: 100\r\n\r\n{`);
  const slowHeaders = say('POST /datasets');
  const silence = await fixture.connect();
  const silent = readToEnd(silence);
  for (const text of [await slowBody, await slowHeaders, await silent]) {
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect(text).toContain('x-content-type-options: nosniff');
    expect(text).toMatch(/x-request-id: r\d+/);
    expect(text).toContain('"code":"request-too-slow"');
  }
});

test('limit: S-05 a slow or idle connection is closed after a timeout', async () => {
  const { headersMsMax, requestMsMax, timeoutCheckMs, keepAliveMs, headerBytesMax } = HTTP_LIMITS;
  expect([headersMsMax, requestMsMax, timeoutCheckMs]).toEqual([5_000, 10_000, 1_000]);
  expect([keepAliveMs, headerBytesMax]).toEqual([15_000, 16_384]);
  fixture = await HttpFixture.start({ limits: { keepAliveMs: 100 } });
  const text = await say('GET /datasets HTTP/1.1\r\nhost: x\r\n\r\n');
  // The service responded, kept the connection, and then closed it.
  expect(text).toMatch(/^HTTP\/1\.1 200 /);
  expect(text).toContain('Connection: keep-alive\r\nKeep-Alive: timeout=0\r\n');
});

test('error: body-too-large reaches a client that first sends its whole body (S-04)', async () => {
  fixture = await HttpFixture.start();
  const bytes = Buffer.alloc(32 << 20, ' ');
  const forms = [
    [`content-length: ${bytes.length}\r\n\r\n`, ''],
    [`transfer-encoding: chunked\r\n\r\n${bytes.length.toString(16)}\r\n`, '\r\n0\r\n\r\n'],
  ];
  for (const [before, after = ''] of forms) {
    const socket = await fixture.connect();
    socket.write(`${head}${before}`);
    // A reset connection reports an error here.
    const failure = await new Promise((resolve) => socket.write(bytes, resolve));
    expect(failure ?? null).toBeNull();
    socket.write(after);
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 413 /);
  }
});

test('error: headers-too-large is 431 with an error of the catalogue (F-63, trap: framework answers)', async () => {
  fixture = await HttpFixture.start();
  const text = await say(`GET /datasets HTTP/1.1\r\nhost: x\r\na: ${'a'.repeat(17_000)}\r\n\r\n`);
  expect(text).toMatch(/^HTTP\/1\.1 431 /);
  expect(text).toContain('"code":"headers-too-large"');
  expect(await fixture.metrics.text()).toContain('sluice_http_responses_total{status="431"} 1');
});

test('error: request-malformed: garbage, two lengths, length and chunks, no host (F-63)', async () => {
  fixture = await HttpFixture.start();
  const broken = [
    'garbage\r\n\r\n',
    `${head}content-length: 5\r\ncontent-length: 6\r\n\r\n`,
    `${head}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
    'GET /datasets HTTP/1.1\r\nconnection: close\r\n\r\n',
  ];
  for (const text of broken) {
    const answer = await say(text);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"code":"request-malformed"');
    expect(answer).toMatch(/x-request-id: r\d+/);
  }
});

test('behavior: CONNECT gets an error of the catalogue, an unknown expectation is ignored (F-63, trap: framework answers)', async () => {
  fixture = await HttpFixture.start();
  const tunnel = await say('CONNECT example.org:443 HTTP/1.1\r\nhost: example.org\r\n\r\n');
  expect(tunnel).toMatch(/^HTTP\/1\.1 405 /);
  expect(tunnel).toContain('"code":"method-wrong"');
  expect(tunnel).toContain('\r\nallow: GET, HEAD, POST\r\n');
  const expecting = 'GET /datasets HTTP/1.1\r\nhost: x\r\nexpect: tea\r\nconnection: close\r\n\r\n';
  expect(await say(expecting)).toMatch(/^HTTP\/1\.1 200 /);
});

test.each([
  ['http://x/datasets/ledger-test/head', 200],
  ['HTTPS://other:1/datasets/ledger-test/head?a=http://b/c', 200],
  ['http://x', 200],
  ['http://x?a', 200],
  ['http://x/datasets/nope/head', 404],
  ['ftp://x/datasets/ledger-test/head', 404],
])('behavior: a request target may be a whole URL: %s gets %i', async (target, status) => {
  fixture = await HttpFixture.start();
  const answer = await say(`GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
});

test('behavior: pipelined requests are answered one after another', async () => {
  fixture = await HttpFixture.start();
  const body = JSON.stringify(matchBody({ fromBlock: 100, toBlock: 110 }));
  const request = (rest: string) => `${head}${rest}content-length: ${body.length}\r\n\r\n${body}`;
  const alone = await say(request('connection: close\r\n'));
  const lines = (text: string) => text.split('\n').filter((line) => line.startsWith('{"header"'));
  expect(lines(alone).length).toBeGreaterThan(1);
  const three = await say(`${request('')}${request('')}${request('connection: close\r\n')}`);
  expect(three.match(/HTTP\/1\.1 200 /g)).toHaveLength(3);
  expect(lines(three)).toEqual([...lines(alone), ...lines(alone), ...lines(alone)]);
});

test('behavior: a response that is ready waits for an earlier one that is not', async () => {
  fixture = await HttpFixture.start();
  const post = (query: Record<string, unknown>, rest = '') => {
    const body = JSON.stringify(matchBody(query));
    return `${head}${rest}content-length: ${body.length}\r\n\r\n${body}`;
  };
  const bounded = post({ fromBlock: 100, toBlock: 103 }, 'connection: close\r\n');
  const answered = say(`${post({ fromBlock: 111 })}${bounded}`);
  await until(() => fixture.streams.waiterCount === 1);
  await settle();
  await fixture.manualClock.advance(6_000);
  const text = await answered;
  expect(text).toMatch(/^HTTP\/1\.1 204 .*HTTP\/1\.1 200 .*"number":103.*\n0\r\n\r\n$/s);
});

test('behavior: a client that disconnects before the turn of its response holds nothing', async () => {
  fixture = await HttpFixture.start();
  const body = JSON.stringify(matchBody({ fromBlock: 111 }));
  const ready = JSON.stringify(matchBody({ fromBlock: 100, toBlock: 103 }));
  const socket = await fixture.connect();
  for (const one of [body, ready])
    socket.write(`${head}content-length: ${one.length}\r\n\r\n${one}`);
  await until(() => fixture.streams.waiterCount === 1);
  await settle();
  socket.destroy();
  await until(() => metricsHave('sluice_http_streams 0'));
  expect(fixture.errors).toEqual([]);
});

test('behavior: a client that disconnects within its request holds nothing', async () => {
  fixture = await HttpFixture.start();
  const socket = await fixture.connect();
  socket.write(`${head}content-length: 100\r\n\r\n{`);
  await settle();
  socket.destroy();
  await settle();
  expect((await fixture.get('/datasets')).status).toBe(200);
  expect(fixture.errors).toEqual([]);
});

test('behavior: a client that disconnects while it waits frees its slot (L-16, trap: disconnect)', async () => {
  fixture = await HttpFixture.start();
  const body = JSON.stringify(matchBody({ fromBlock: 111 }));
  const socket = await fixture.connect();
  socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  await until(() => fixture.streams.waiterCount === 1);
  socket.destroy();
  await until(() => fixture.streams.waiterCount === 0);
  await until(() => metricsHave('sluice_http_streams 0'));
});

test('limit: I-96 the bytes of a query are released when its stream ends for any reason', async () => {
  fixture = await HttpFixture.start();
  const holdsNone = () => metricsHave('sluice_http_query_bytes 0\n');
  expect((await fixture.query({ fromBlock: 100, toBlock: 103 })).status).toBe(200);
  await until(holdsNone);
  expect((await fixture.query({ fromBlock: 1 })).status).toBe(400);
  await until(holdsNone);
  const body = JSON.stringify(matchBody({ fromBlock: 100 }));
  const socket = await fixture.connect();
  socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  await until(() => fixture.streams.waiterCount === 1);
  expect(await fixture.metrics.text()).toContain(`sluice_http_query_bytes ${body.length}\n`);
  socket.destroy();
  await until(holdsNone);
});

test('behavior: a client that disconnects while its first blocks are read releases them', async () => {
  let goOn = () => {};
  let state = 'none';
  const evaluator: BlockEvaluator = {
    async *evaluate() {
      state = 'reading';
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
      try {
        const lastCovered = fixture.dataset.snapshot().head as BlockRef;
        const piece = new LinePiece(Buffer.from('{}\n'));
        yield { piece, lastCovered, endsWithLine: true, headerLine: () => piece };
      } finally {
        state = 'left';
      }
    },
  };
  fixture = await HttpFixture.start({ evaluator, streamLimits: { sharedSlotCountMax: 0 } });
  const body = JSON.stringify(matchBody({ fromBlock: 100 }));
  const socket = await fixture.connect();
  socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  await until(() => state === 'reading');
  socket.destroy();
  await until(() => metricsHave('sluice_http_streams 0'));
  goOn();
  await until(() => state === 'left');
  expect(fixture.dataset.leaseCount).toBe(0);
  expect(fixture.errors).toEqual([]);
});

/** About 30 MB of lines, which is more than sockets buffer. */
function largeChain(): MemoryDataset {
  const dataset = new MemoryDataset({ rewardCount: 200 });
  dataset.extend(
    Array.from({ length: 2_000 }, (_, i) => i),
    'a',
    () => true,
  );
  return dataset;
}

test('behavior: nothing is read ahead for a client that stops reading, which is disconnected after 15 s with an incomplete body (F-51, F-52, trap: write() ignored, trap: res.setTimeout)', async () => {
  fixture = await HttpFixture.start({ dataset: largeChain() });
  const body = JSON.stringify(matchBody({ fromBlock: 0, toBlock: 1_999 }));
  const socket = await fixture.connect();
  socket.pause();
  socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  await untilHeldBack();
  const decoded = fixture.dataset.decodeCount;
  await fixture.manualClock.advance(14_000);
  expect(fixture.dataset.decodeCount).toBe(decoded);
  expect(decoded).toBeLessThan(1_900);
  await fixture.manualClock.advance(2_000);
  await until(() => metricsHave('reason="stalled"} 1'));
  const text = readToEnd(socket);
  socket.resume();
  expect((await text).endsWith('0\r\n\r\n')).toBe(false);
  expect(fixture.dataset.leaseCount).toBe(0);
});

test('behavior: a block of megabytes is one line like any other (I-37)', async () => {
  const dataset = new MemoryDataset({ rewardCount: 50_000 });
  dataset.extend([0], 'a', () => true);
  fixture = await HttpFixture.start({ dataset });
  const body = JSON.stringify(matchBody({ fromBlock: 0, toBlock: 0 }));
  const answer = await say(
    `${head}connection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  expect(answer.length).toBeGreaterThan(2_500_000);
  expect(answer.match(/"pubKey"/g)).toHaveLength(50_000);
  expect(answer.endsWith('\r\n0\r\n\r\n')).toBe(true);
});

test('behavior: a slow reader gets everything (F-52)', async () => {
  fixture = await HttpFixture.start({ dataset: largeChain() });
  const body = JSON.stringify(matchBody({ fromBlock: 0, toBlock: 1_999 }));
  const socket = await fixture.connect();
  socket.pause();
  socket.write(`${head}connection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  await untilHeldBack();
  await fixture.manualClock.advance(10_000);
  const text = readToEnd(socket);
  socket.resume();
  const answer = await text;
  expect(answer.endsWith('\r\n0\r\n\r\n')).toBe(true);
  expect(answer.match(/"number":/g)).toHaveLength(2_000);
});

test('limit: while too many bytes wait for slow clients, new streams are rejected (I-96)', async () => {
  fixture = await HttpFixture.start({ dataset: largeChain(), limits: { unsentBytesMax: 1 } });
  const body = JSON.stringify(matchBody({ fromBlock: 0, toBlock: 1_999 }));
  const socket = await fixture.connect();
  socket.pause();
  socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  await until(async () => !(await metricsHave('sluice_http_unsent_bytes 0')));
  const close = 'connection: close\r\n';
  const refused = await say(`${head}${close}content-length: ${body.length}\r\n\r\n${body}`);
  expect(refused).toMatch(/^HTTP\/1\.1 503 /);
  expect(refused).toMatch(/^retry-after: 5\r$/im);
  expect(refused).toContain('"code":"readers-too-slow"');
  // Requests that open no stream are still answered.
  expect((await fixture.get('/datasets/ledger-test/head')).status).toBe(200);
  socket.destroy();
  await until(() => metricsHave('sluice_http_unsent_bytes 0'));
  const short = JSON.stringify(matchBody({ fromBlock: 0, toBlock: 3 }));
  const answer = await say(`${head}${close}content-length: ${short.length}\r\n\r\n${short}`);
  expect(answer).toMatch(/^HTTP\/1\.1 200 /);
});

test('limit: while queries hold too many bytes, read completely or in part, new ones are rejected (I-96)', async () => {
  fixture = await HttpFixture.start({ limits: { queryBytesMax: 1 } });
  const body = JSON.stringify(matchBody({ fromBlock: 111 }));
  const short = matchBody({ fromBlock: 100, toBlock: 103 });
  const begun = await fixture.connect();
  begun.write(`${head}content-length: ${body.length}\r\n\r\n${body.slice(0, 20)}`);
  await until(() => metricsHave('sluice_http_query_bytes 20'));
  const refused = await fixture.query(short);
  expect([refused.status, errorOf(refused).code]).toEqual([503, 'queries-full']);
  expect(refused.headers['retry-after']).toBe('5');
  begun.destroy();
  await until(() => metricsHave('sluice_http_query_bytes 0'));
  const waiting = await fixture.connect();
  waiting.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  await until(() => fixture.streams.waiterCount === 1);
  expect((await fixture.query(short)).status).toBe(503);
  waiting.destroy();
  await until(() => metricsHave('sluice_http_query_bytes 0'));
  expect((await fixture.query(short)).status).toBe(200);
});

test('limit: closing does not wait for a client that stopped reading (trap: app.close())', async () => {
  fixture = await HttpFixture.start({ dataset: largeChain() });
  const body = JSON.stringify(matchBody({ fromBlock: 0, toBlock: 1_999 }));
  const socket = await fixture.connect();
  socket.pause();
  socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  await untilHeldBack();
  const closed = fixture.server.close();
  await fixture.manualClock.advance(5_000);
  await closed;
  const text = readToEnd(socket);
  socket.resume();
  expect((await text).endsWith('0\r\n\r\n')).toBe(false);
});

test('behavior: closing ends a kept-alive connection once its response has ended', async () => {
  fixture = await HttpFixture.start({ dataset: largeChain() });
  const body = JSON.stringify(matchBody({ fromBlock: 0, toBlock: 1_999 }));
  const socket = await fixture.connect();
  socket.pause();
  socket.write(`${head}content-length: ${body.length}\r\n\r\n${body}`);
  await untilHeldBack();
  let isClosed = false;
  const closed = fixture.server.close().then(() => {
    isClosed = true;
  });
  await settle();
  // The response can end only now, while no connection is idle.
  const answer = readToEnd(socket);
  socket.resume();
  await until(() => metricsHave('sluice_http_streams 0'));
  await until(() => metricsHave('sluice_http_unsent_bytes 0'));
  // Far below the time after which all connections are destroyed.
  for (let step = 0; step < 40 && !isClosed; step++) await fixture.manualClock.advance(100);
  expect(isClosed).toBe(true);
  await closed;
  expect((await answer).endsWith('0\r\n\r\n')).toBe(true);
});

test('limit: connections beyond the limit are closed (F-55)', async () => {
  fixture = await HttpFixture.start({ limits: { connectionCountMax: 2 } });
  const first = await fixture.connect();
  const second = await fixture.connect();
  const third = await fixture.connect();
  expect(await readToEnd(third)).toBe('');
  first.destroy();
  second.destroy();
});
