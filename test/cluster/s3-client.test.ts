import { systemClock } from '@sluice/base/clock';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { probeStore } from '../../packages/server/src/object-store/probe-store.ts';
import { S3Client } from '../../packages/server/src/object-store/s3-client.ts';
import { type FaultProxy, startFaultProxy } from './services/fault-proxy.ts';
import { type S3Server, useS3 } from './services/start-s3.ts';

let server: S3Server;
let proxy: FaultProxy;
let client: S3Client;

beforeAll(async () => {
  server = await useS3();
  proxy = await startFaultProxy(server.port);
  client = clientOf('test');
});
beforeEach(() => {
  const limit = Number.POSITIVE_INFINITY;
  Object.assign(proxy, { fault: 'none', share: 1, match: '', limit });
});
afterAll(async () => {
  await client?.close();
  await proxy?.stop();
});

function clientOf(prefix: string, secret = server.secretAccessKey): S3Client {
  const { bucket, accessKeyId } = server;
  const credentials = { accessKeyId, secretAccessKey: secret };
  return new S3Client(
    {
      bucket,
      prefix,
      endpoint: proxy.url,
      region: 'us-east-1',
      pathStyle: true,
      requestMsMax: 5_000,
      connectionCountMax: 32,
    },
    { credentials: async () => credentials, clock: systemClock, random: () => 0 },
  );
}

const bytes = (length: number) => Uint8Array.from({ length }, (_, i) => (i * 31) & 255);

test('default: an object is written, read as a whole and by range, listed and removed', async () => {
  const body = bytes(100_000);
  await client.put('a/one two+é', body);
  expect(Buffer.compare(await client.get('a/one two+é'), body)).toBe(0);
  expect(await client.get('a/one two+é', { start: 10, end: 14 })).toEqual(body.slice(10, 14));
  expect(await client.head('a/one two+é')).toMatchObject({ byteLength: 100_000 });
  expect(await client.list('a/')).toMatchObject([{ key: 'a/one two+é', byteLength: 100_000 }]);
  await client.remove('a/one two+é');
  await client.remove('a/one two+é');
  expect(await client.head('a/one two+é')).toBeUndefined();
  await expect(client.get('a/one two+é')).rejects.toMatchObject({ code: 'store-object-missing' });
});

test('behavior: of concurrent writers of one key exactly one succeeds', async () => {
  const attempts = Array.from({ length: 20 }, (_, i) =>
    client.create('race', new TextEncoder().encode(`writer ${i}`)),
  );
  const won = await Promise.all(attempts);
  expect(won.filter((one) => one)).toHaveLength(1);
  const text = new TextDecoder().decode(await client.get('race'));
  expect(text).toBe(`writer ${won.indexOf(true)}`);
});

test('behavior: the probe passes, and a listing has several pages', async () => {
  await probeStore(client, 'x');
  await Promise.all(Array.from({ length: 1_100 }, (_, i) => client.put(`many/${i}`, bytes(1))));
  expect(await client.list('many/')).toHaveLength(1_100);
});

test.each(['slow', 'failing', 'throttling', 'truncated', 'cut'] as const)(
  'behavior: requests that are sometimes %s succeed',
  async (fault) => {
    const body = bytes(50_000);
    Object.assign(proxy, { fault, share: 0.3 });
    const work = Array.from({ length: 12 }, async (_, i) => {
      await client.put(`fault/${fault}-${i}`, body);
      return Buffer.compare(await client.get(`fault/${fault}-${i}`), body);
    });
    expect(await Promise.all(work)).toEqual(Array(12).fill(0));
  },
);

test('behavior: a create whose response was lost counts as done', async () => {
  Object.assign(proxy, { fault: 'lost', limit: 1 });
  expect(await client.create('lost', bytes(10))).toBe(true);
  expect(proxy.limit).toBeLessThan(0);
});

test('error: store-unreachable: after all attempts, within seconds', async () => {
  Object.assign(proxy, { fault: 'failing', share: 1 });
  await expect(client.get('any')).rejects.toMatchObject({ code: 'store-unreachable' });
});

test('error: store-refused: a wrong secret is not retried', async () => {
  const other = clientOf('test', 'wrong');
  const before = proxy.requests;
  await expect(other.put('any', bytes(1))).rejects.toMatchObject({ code: 'store-refused' });
  expect(proxy.requests - before).toBe(1);
  await other.close();
});
