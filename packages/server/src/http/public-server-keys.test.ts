import { createHash } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { errorOf, HttpFixture } from './testing/http-fixture.ts';

let fixture: HttpFixture;
afterEach(() => fixture.close());

async function restart(options: Parameters<typeof HttpFixture.start>[0]): Promise<void> {
  fixture = await HttpFixture.start(options);
}

describe('keys', () => {
  const key = 'k'.repeat(32);
  const keys = [{ name: 'one', hash: createHash('sha256').update(key).digest() }];

  test('error: without a key everything except the pages gets 401, before all other checks (S-01)', async () => {
    await restart({ keys });
    const paths = ['/datasets', '/nope', '/datasets/nope/head', '/datasets/%zz/head'];
    for (const path of paths) {
      const missing = await fixture.get(path);
      expect([path, missing.status, errorOf(missing).code]).toEqual([path, 401, 'key-missing']);
    }
    const wrong = await fixture.get('/datasets', { authorization: 'Bearer wrong' });
    expect([wrong.status, errorOf(wrong).code]).toEqual([401, 'key-wrong']);
    expect(errorOf(wrong).message).not.toContain('is needed');
    expect(wrong.headers['www-authenticate']).toBe('Bearer');
    for (const open of ['/', '/docs', '/live/x', '/openapi.json']) {
      expect([open, (await fixture.get(open)).status]).toEqual([open, 200]);
    }
    expect((await fixture.get(`/datasets?key=${key}`)).status).toBe(401);
  });

  test('behavior: a key may be in either header', async () => {
    await restart({ keys });
    expect((await fixture.get('/datasets', { authorization: `Bearer ${key}` })).status).toBe(200);
    expect((await fixture.get('/datasets', { 'x-api-key': key })).status).toBe(200);
  });

  test('limit: a key above its rate gets 429 with Retry-After, before the body is read (S-03)', async () => {
    await restart({ keys, keyLimits: { requestsPerSecond: 1, requestBurst: 2 } });
    const headers = { 'x-api-key': key, 'content-type': 'text/plain' };
    const statuses: number[] = [];
    for (let i = 0; i < 3; i++) {
      statuses.push((await fixture.query({ fromBlock: 0 }, { headers })).status);
    }
    expect(statuses).toEqual([415, 415, 429]);
    expect((await fixture.get('/datasets', headers)).headers['retry-after']).toBe('1');
    expect((await fixture.get('/datasets/nope/head', headers)).status).toBe(404);
    await fixture.manualClock.advance(1_000);
    expect((await fixture.get('/datasets', headers)).status).toBe(200);
  });
});

test('limit: S-03 limits are per key, even if two keys have the same name; the log has the name and never the key', async () => {
  const shown = ['k'.repeat(32), 'l'.repeat(32)];
  const keys = shown.map((key) => ({
    name: 'alice',
    hash: createHash('sha256').update(key).digest(),
  }));
  await restart({ keys, keyLimits: { requestsPerSecond: 1, requestBurst: 1 } });
  const statuses = [];
  for (const key of [...shown, ...shown]) {
    statuses.push((await fixture.get('/datasets', { 'x-api-key': key })).status);
  }
  expect(statuses).toEqual([200, 200, 429, 429]);
  await fixture.manualClock.advance(1_000);
  fixture.dataset.fault = new Error('broken');
  const headers = { 'x-api-key': shown[0] as string };
  expect((await fixture.query({ fromBlock: 99, toBlock: 103 }, { headers })).status).toBe(500);
  expect(fixture.errors.map((line) => (JSON.parse(line) as { key?: string }).key)).toEqual([
    'alice',
  ]);
  expect(fixture.errors.join('')).not.toContain(shown[0]);
});
