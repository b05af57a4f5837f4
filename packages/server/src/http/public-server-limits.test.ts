/** What a reload, the role of the process and the framework change. */
import { createHash } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { settle } from '../stream/testing/manual-clock.ts';
import {
  errorOf,
  type FixtureOptions,
  HttpFixture,
  matchBody,
  readToEnd,
} from './testing/http-fixture.ts';

let fixture: HttpFixture;
afterEach(() => fixture.close());

const keyOf = (text: string) => ({
  name: text,
  hash: createHash('sha256').update(text).digest(),
});

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await settle();
}

const metricsHave = async (text: string) => (await fixture.metrics.text()).includes(text);

test('behavior: removing a key ends its streams and keeps those of others', async () => {
  const options: FixtureOptions = { keys: [keyOf('one'), keyOf('two')] };
  fixture = await HttpFixture.start(options);
  const follow = (key: string) =>
    fixture.query({ fromBlock: 109 }, { headers: { 'x-api-key': key } });
  const [removed, kept] = [follow('one'), follow('two')];
  await until(() => fixture.streams.waiterCount === 2);
  options.keys = [keyOf('two')];
  fixture.server.refresh();
  expect((await removed).isComplete).toBe(true);
  await until(() => metricsHave('sluice_http_streams 1\n'));
  expect(await metricsHave('reason="closing"} 1\n')).toBe(true);
  expect((await fixture.get('/datasets', { 'x-api-key': 'one' })).status).toBe(401);
  // Streams that were opened without a key end too, once keys are configured.
  options.keys = [];
  fixture.server.refresh();
  await kept;
});

test('behavior: without keys a reload ends no stream, and changed limits apply', async () => {
  fixture = await HttpFixture.start();
  const followed = fixture.query({ fromBlock: 109 });
  await until(() => fixture.streams.waiterCount === 1);
  fixture.limits.connectionCountMax = 1;
  fixture.server.refresh();
  await settle();
  expect(fixture.streams.waiterCount).toBe(1);
  const refused = await fixture.connect();
  expect(await readToEnd(refused)).toBe('');
  fixture.limits.connectionCountMax = 10;
  fixture.limits.keepAliveMs = 4_000;
  fixture.server.refresh();
  const kept = await fixture.connect();
  kept.write('GET /datasets HTTP/1.1\r\nhost: x\r\n\r\n');
  const text = await new Promise<string>((resolve) =>
    kept.once('data', (data) => resolve(String(data))),
  );
  expect(text).toContain('Keep-Alive: timeout=4\r\n');
  kept.destroy();
  await fixture.server.close();
  expect((await followed).isComplete).toBe(true);
});

test('error: queries-elsewhere for queries and lookups, while the state is reported', async () => {
  fixture = await HttpFixture.start({ servesQueries: false });
  const base = '/datasets/ledger-test';
  const answers = [
    await fixture.query({ fromBlock: 99 }),
    await fixture.query({ fromBlock: 99 }, { path: `${base}/estimate` }),
    await fixture.get(`${base}/blocks/100`),
  ];
  for (const answer of answers) {
    expect([answer.status, errorOf(answer).code]).toEqual([503, 'queries-elsewhere']);
  }
  for (const path of [`${base}/status`, `${base}/head`, '/datasets', '/', '/openapi.json']) {
    expect([path, (await fixture.get(path)).status]).toEqual([path, 200]);
  }
  expect(fixture.errors).toEqual([]);
});

test('error: listen-failed has the address and the code of the operating system', async () => {
  fixture = await HttpFixture.start();
  await expect(fixture.server.listen('127.0.0.1', -1)).rejects.toMatchObject({
    code: 'listen-failed',
    detail: { host: '127.0.0.1', port: -1 },
  });
});

test('behavior: responses and their time are counted by status and route', async () => {
  fixture = await HttpFixture.start();
  await fixture.get('/datasets/ledger-test/head');
  await fixture.get('/nothing');
  await fixture.get('/datasets/%zz/head');
  await until(() => metricsHave('sluice_http_responses_total{status="400"} 1\n'));
  for (const text of [
    'sluice_http_responses_total{status="200"} 1\n',
    'sluice_http_responses_total{status="404"} 1\n',
    'sluice_http_request_seconds_count{route="/datasets/:name/head"} 1\n',
    'sluice_http_request_seconds_count{route="none"} ',
  ]) {
    expect([text, await metricsHave(text)]).toEqual([text, true]);
  }
  const pending = fixture.query({ fromBlock: 111 });
  await until(() => fixture.streams.waiterCount === 1);
  await fixture.manualClock.advance(5_200);
  expect((await pending).status).toBe(204);
  await until(() => metricsHave('sluice_http_responses_total{status="204"} 1\n'));
  const seconds = /request_seconds_sum\{route="\/datasets\/:name\/stream"\} (\d\.?\d*)/;
  expect(Number(seconds.exec(await fixture.metrics.text())?.[1])).toBeCloseTo(5, 0);
  expect(await fixture.metrics.text()).toContain('sluice_http_responses_total{status="500"} 0\n');
});

test('behavior: bytes and the time to the first line of a stream are counted', async () => {
  fixture = await HttpFixture.start();
  const answer = await fixture.query({ fromBlock: 99, toBlock: 110 });
  await until(() => metricsHave('sluice_http_stream_ends_total{reason="complete"} 1\n'));
  const text = await fixture.metrics.text();
  expect(text).toContain(
    `sluice_http_stream_bytes_total{encoding="identity"} ${answer.body.length}\n`,
  );
  expect(text).toContain('sluice_http_first_line_seconds_count 1\n');
  expect(text).toContain('sluice_http_unsent_bytes 0\n');
  expect(answer.headers['x-accel-buffering']).toBe('no');
});

test('behavior: a request without a response is not counted', async () => {
  fixture = await HttpFixture.start();
  const body = JSON.stringify(matchBody({ fromBlock: 111 }));
  const socket = await fixture.connect();
  socket.write(
    `POST /datasets/ledger-test/stream HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await until(() => fixture.streams.waiterCount === 1);
  socket.destroy();
  await until(() => metricsHave('sluice_http_request_seconds_count'));
  expect(await fixture.metrics.text()).not.toMatch(/responses_total\{status="\d+"\} [1-9]/);
  expect(fixture.errors).toEqual([]);
});

test('behavior: HTTP/1.0 needs no host and gets a body without chunks', async () => {
  fixture = await HttpFixture.start();
  const say = async (text: string) => {
    const socket = await fixture.connect();
    socket.write(text);
    return readToEnd(socket);
  };
  expect(await say('GET /datasets HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  const body = JSON.stringify(matchBody({ fromBlock: 99, toBlock: 110 }));
  const answer = await say(
    `POST /datasets/ledger-test/stream HTTP/1.0\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  const [head = '', lines = ''] = answer.split('\r\n\r\n');
  expect(head.toLowerCase()).not.toContain('transfer-encoding');
  expect(lines.match(/^\{"header".*\}$/gm)).toHaveLength(3);
});

test('behavior: an accepted id has up to 64 letters, digits, _ and -', async () => {
  fixture = await HttpFixture.start();
  const idFor = async (id: string) =>
    (await fixture.get('/datasets', { 'x-request-id': id })).headers['x-request-id'];
  const long = 'x'.repeat(64);
  expect(await idFor(long)).toBe(long);
  for (const id of [`${long}x`, '', 'a.b', '-"']) expect(await idFor(id)).toMatch(/^r\d+$/);
});

test('behavior: listed origins: every response varies, and the preflight of another is refused', async () => {
  fixture = await HttpFixture.start({ corsOrigins: ['https://a.example', 'https://b.example'] });
  const path = '/datasets/ledger-test/head';
  const other = await fixture.send({
    method: 'OPTIONS',
    path,
    headers: { origin: 'https://c.example' },
  });
  expect([other.status, other.headers['vary']]).toEqual([405, 'Origin']);
  expect((await fixture.get(path)).headers['vary']).toBe('Origin');
  const allowed = await fixture.get(path, { origin: 'https://b.example' });
  expect(allowed.status).toBe(200);
  expect(allowed.headers).toMatchObject({
    'access-control-allow-origin': 'https://b.example',
    'access-control-expose-headers': [
      'X-Ledger-Finalized-Head-Number',
      'X-Ledger-Finalized-Head-Hash',
      'X-Ledger-Head-Number',
      'X-Sqd-Finalized-Head-Number',
      'X-Sqd-Finalized-Head-Hash',
      'X-Sqd-Head-Number',
      'X-Sqd-Data-Source',
      'Sluice-Sets',
      'X-Request-Id',
      'Retry-After',
    ].join(', '),
  });
  const headers = { origin: 'https://b.example' };
  const stream = await fixture.query({ fromBlock: 99, toBlock: 102 }, { headers });
  expect(stream.headers['vary']).toBe('Origin, Accept-Encoding');
});
