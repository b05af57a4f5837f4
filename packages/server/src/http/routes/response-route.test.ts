/** What all routes of lookups have in common, with lookups that the test controls. */
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { CodedError } from '@sluice/base/errors';
import { afterEach, expect, test } from 'vitest';
import { emptySnapshot } from '../../chain/chain-snapshot.ts';
import type { DatasetLookups } from '../../stream/lookups/dataset-lookups.ts';
import { parseKeys } from '../keys/api-keys.ts';
import { errorOf, type FixtureOptions, HttpFixture } from '../testing/http-fixture.ts';

let fixture: HttpFixture;
afterEach(() => fixture.close());

type BlockLookup = (slot: number, signal: AbortSignal) => Promise<Uint8Array>;

async function start(lookUp: BlockLookup, options: FixtureOptions = {}): Promise<void> {
  const block: DatasetLookups['block'] = async (slot, signal) => ({
    value: await lookUp(slot, signal),
    snapshot: emptySnapshot,
  });
  fixture = await HttpFixture.start({ ...options, lookups: { block } as DatasetLookups });
}

const path = '/datasets/ledger-test/blocks/7';
const line = (text: string) => Promise.resolve(Buffer.from(`${text}\n`));

test('default: the answer of a lookup is the line without its line feed', async () => {
  await start((slot) => line(`{"header":{"number":${slot}}}`));
  const answer = await fixture.get(path);
  expect([answer.status, answer.body.toString()]).toEqual([200, '{"header":{"number":7}}']);
  expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  expect((await fixture.send({ method: 'HEAD', path })).status).toBe(200);
  expect(errorOf(await fixture.send({ method: 'DELETE', path })).code).toBe('method-wrong');
});

test('behavior: long responses are compressed if the client allows it, short ones are not', async () => {
  await start((slot) => line('x'.repeat(slot)));
  const encodingOf = async (length: number, accepted?: string) => {
    const headers: Record<string, string> =
      accepted === undefined ? {} : { 'accept-encoding': accepted };
    const { headers: sent } = await fixture.get(`/datasets/ledger-test/blocks/${length}`, headers);
    return sent['content-encoding'];
  };
  expect(await encodingOf(5_000, 'gzip')).toBe('gzip');
  expect(await encodingOf(5_000)).toBeUndefined();
  expect(await encodingOf(5_000, 'gzip;q=0')).toBeUndefined();
  expect(await encodingOf(100, 'gzip')).toBeUndefined();
  expect(await encodingOf(1_023, 'gzip')).toBeUndefined();
  expect(await encodingOf(1_024, 'gzip')).toBe('gzip');
  const zipped = await fixture.get('/datasets/ledger-test/blocks/5000', {
    'accept-encoding': 'gzip',
  });
  expect(gunzipSync(zipped.body).toString()).toBe('x'.repeat(5_000));
  expect(zipped.headers['vary']).toBe('Accept-Encoding');
  expect((await fixture.get('/datasets/ledger-test/blocks/100')).headers['vary']).toBe(undefined);
});

test('behavior: a long response of a listed origin varies by both headers', async () => {
  await start((slot) => line('x'.repeat(slot)), { corsOrigins: ['https://a.example'] });
  const { headers } = await fixture.get('/datasets/ledger-test/blocks/5000');
  expect(headers['vary']).toBe('Origin, Accept-Encoding');
});

test('limit: lookups-full above the limit, until one of them ends', async () => {
  const waiting: (() => void)[] = [];
  const hold = () => new Promise<void>((resolve) => waiting.push(resolve));
  await start(() => hold().then(() => line('{}')), { limits: { lookupCountMax: 2 } });
  const running = [fixture.get(path), fixture.get(path)];
  while (waiting.length < 2) await new Promise((resolve) => setImmediate(resolve));
  const refused = await fixture.get(path);
  expect([refused.status, errorOf(refused).code]).toEqual([503, 'lookups-full']);
  expect(refused.headers['retry-after']).toBe('1');
  for (const resume of waiting.splice(0)) resume();
  for (const answer of await Promise.all(running)) expect(answer.status).toBe(200);
  const next = fixture.get(path);
  while (waiting.length < 1) await new Promise((resolve) => setImmediate(resolve));
  waiting[0]?.();
  expect((await next).status).toBe(200);
});

test('limit: lookups-full above the limit of one client, while another key gets a slot', async () => {
  const waiting: (() => void)[] = [];
  const hold = () => new Promise<void>((resolve) => waiting.push(resolve));
  const limits = { lookupCountMax: 5, clientLookupCountMax: 1 };
  const hashes = ['first', 'second'].map((text) => createHash('sha256').update(text).digest('hex'));
  const keys = parseKeys(`${hashes.join('\n')}\n`);
  await start(() => hold().then(() => line('{}')), { limits, keys });
  const ask = (secret: string) => fixture.get(path, { authorization: `Bearer ${secret}` });
  const running = [ask('first')];
  while (waiting.length < 1) await new Promise((resolve) => setImmediate(resolve));
  const refused = await ask('first');
  expect([refused.status, errorOf(refused).code]).toEqual([503, 'lookups-full']);
  expect(refused.headers['retry-after']).toBe('1');
  running.push(ask('second'));
  while (waiting.length < 2) await new Promise((resolve) => setImmediate(resolve));
  for (const resume of waiting.splice(0)) resume();
  for (const answer of await Promise.all(running)) expect(answer.status).toBe(200);
  running.push(ask('first'));
  while (waiting.length < 1) await new Promise((resolve) => setImmediate(resolve));
  waiting[0]?.();
  expect((await running[2])?.status).toBe(200);
});

test('behavior: the signal aborts when the client disconnects, and nothing is logged', async () => {
  let aborted: Promise<void> | undefined;
  await start((_, signal) => {
    aborted = new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
    return aborted.then(() => Promise.reject(signal.reason));
  });
  const socket = await fixture.connect();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  while (aborted === undefined) await new Promise((resolve) => setImmediate(resolve));
  socket.destroy();
  await aborted;
  await new Promise((resolve) => setImmediate(resolve));
  expect(fixture.errors).toEqual([]);
  expect((await fixture.get('/datasets/ledger-test/head')).status).toBe(200);
});

test('error: storage-unreachable if segments cannot be read, with the reason only in the log', async () => {
  await start(() => Promise.reject(new CodedError('segment-damaged', { unit: 'postings 0' })));
  const answer = await fixture.get(path);
  expect([answer.status, errorOf(answer).code]).toEqual([503, 'storage-unreachable']);
  expect(answer.body.toString()).not.toContain('postings');
  expect(fixture.errors.join()).toContain('postings 0');
  expect(JSON.parse(fixture.errors[0] as string)).toMatchObject({
    dataset: 'ledger-test',
    requestId: answer.headers['x-request-id'],
    code: 'segment-damaged',
  });
});

test('error: a lookup needs a key and counts against its limit like other requests', async () => {
  const hash = createHash('sha256').update('secret').digest('hex');
  const keyLimits = { requestsPerSecond: 1, requestBurst: 1 };
  await start(() => line('{}'), { keys: parseKeys(`${hash}\n`), keyLimits });
  expect(errorOf(await fixture.get(path)).code).toBe('key-missing');
  const headers = { 'x-api-key': 'secret' };
  expect((await fixture.get(path, headers)).status).toBe(200);
  expect((await fixture.get(path, headers)).status).toBe(429);
});

test('behavior: unknown query-string keys are rejected by lookups and ignored by other routes', async () => {
  await start(() => line('{}'));
  expect(errorOf(await fixture.get(`${path}?x=1`))).toMatchObject({
    code: 'parameter-invalid',
    path: 'x',
  });
  expect((await fixture.get('/datasets/ledger-test/metadata?x=1')).status).toBe(200);
});
