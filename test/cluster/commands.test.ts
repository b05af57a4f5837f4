/**
 * Runs `sluice backup`, `restore`, `repair`, `dataset copy`, `push` and `pull`, `doctor` and `config check` with a real object store and a real
 * feed.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { stringify } from 'yaml';
import { main } from '../../packages/server/src/cli/main.ts';
import { type FaultProxy, startFaultProxy } from './services/fault-proxy.ts';
import { type NatsCluster, startNats } from './services/start-nats.ts';
import { type S3Server, useS3 } from './services/start-s3.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-transfer-test-'));
const data = join(folder, 'data');
const config = join(folder, 'sluice.yaml');
let s3: S3Server;
let nats: NatsCluster;
let proxy: FaultProxy;

beforeAll(async () => {
  [s3, nats] = await Promise.all([useS3(), startNats(folder, 1)]);
  proxy = await startFaultProxy(s3.port);
  writeConfig();
  const blocks = join(folder, 'blocks.jsonl');
  await run('simulate', '--seed', '3', '--start-slot', '300', '--blocks', '8', '--out', blocks);
  await run('import', '--data', data, '--dataset', 'mine', blocks);
});
afterEach(() => {
  vi.unstubAllEnvs();
});
afterAll(async () => {
  await proxy?.stop();
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function writeConfig(change: object = {}): void {
  const { bucket, accessKeyId, secretAccessKey } = s3;
  const store = { kind: 's3', bucket, endpoint: proxy.url, accessKeyId, secretAccessKey };
  writeFileSync(config, stringify({ data, store, ...change }));
}

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const out = new PassThrough({ highWaterMark: 1e9 });
  const err = new PassThrough({ highWaterMark: 1e9 });
  const code = await main(args, { out, err });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

test('default: a dataset is pushed to the bucket and pulled unchanged, also after an interruption', async () => {
  const pushed = await run('dataset', 'push', 'mine', '--config', config);
  expect([pushed.code, pushed.out]).toEqual([0, 'mine: manifest 1 with 1 segments\n']);
  const again = await run('dataset', 'push', 'mine', '--config', config);
  expect(again.out).toBe('mine: manifest 2 with 1 segments\n');
  const copy = join(folder, 'copy');
  Object.assign(proxy, { fault: 'wrong', share: 1, match: '/segments/' });
  const damaged = await run('dataset', 'pull', 'mine', '--config', config, '--data', copy);
  expect([damaged.code, damaged.err]).toEqual([1, expect.stringContaining('[segment-damaged]')]);
  expect(existsSync(join(copy, 'mine'))).toBe(false);
  Object.assign(proxy, { fault: 'none', match: '' });
  const pulled = await run('dataset', 'pull', 'mine', '--config', config, '--data', copy);
  expect([pulled.code, pulled.out]).toEqual([0, `mine: 1 segments in ${join(copy, 'mine')}\n`]);
  const segments = (where: string) => readdirSync(join(where, 'mine/segments'));
  expect(segments(copy)).toEqual(segments(data));
  expect((await run('verify', '--data', copy)).code).toBe(0);
});

test('error: dataset-exists, store-owned: neither command overwrites anything', async () => {
  const pull = await run('dataset', 'pull', 'mine', '--config', config);
  expect([pull.code, pull.err]).toEqual([1, expect.stringContaining('[dataset-exists]')]);
  const push = await run(
    'dataset',
    'push',
    'mine',
    '--config',
    config,
    '--data',
    join(folder, 'copy'),
  );
  expect([push.code, push.err]).toEqual([1, expect.stringContaining('[store-owned]')]);
});

/** Lets commands find the store that an address such as `s3://BUCKET/PREFIX` names. */
function useStoreOfEnvironment(): string {
  vi.stubEnv('AWS_ENDPOINT_URL', proxy.url);
  vi.stubEnv('AWS_ACCESS_KEY_ID', s3.accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', s3.secretAccessKey);
  return `s3://${s3.bucket}`;
}

test('default: a backup in a bucket is incremental, verified, restored, and repairs a damaged segment', async () => {
  const to = `${useStoreOfEnvironment()}/backups/sluice`;
  const backup = ['backup', '--data', data, '--to', to, '--verify'];
  Object.assign(proxy, { fault: 'failing', share: 1, limit: 2, match: '/segments/' });
  const first = await run(...backup);
  Object.assign(proxy, { fault: 'none', limit: Infinity, match: '' });
  expect([first.code, first.out]).toEqual([
    0,
    expect.stringMatching(/^mine: 8 blocks .*\nmine: 1 segments of the backup are intact\n$/),
  ]);
  proxy.restartCount();
  expect(await run(...backup)).toMatchObject({ code: 0, out: first.out });
  const [segment = ''] = readdirSync(join(data, 'mine/segments'));
  const path = join(data, 'mine/segments', segment);
  const bytes = readFileSync(path);
  // Only descriptions were sent again.
  expect(proxy.sentBytes).toBeLessThan(bytes.length);

  const restored = join(folder, 'restored');
  expect(await run('restore', '--from', to, '--data', restored)).toMatchObject({ code: 0 });
  expect(readFileSync(join(restored, 'mine/segments', segment))).toEqual(bytes);
  expect((await run('verify', '--data', restored)).code).toBe(0);

  const damaged = Buffer.from(bytes);
  damaged.writeUInt8(damaged.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1);
  writeFileSync(join(restored, 'mine/segments', segment), damaged);
  expect((await run('verify', '--data', restored)).code).toBe(1);
  const repaired = await run('repair', 'mine', '--data', restored, '--from', to);
  expect([repaired.code, repaired.err]).toEqual([0, expect.any(String)]);
  expect(readFileSync(join(restored, 'mine/segments', segment))).toEqual(bytes);
});

test('default: dataset copy goes to a bucket, from where a restore brings it back', async () => {
  const to = `${useStoreOfEnvironment()}/copies`;
  const copied = await run('dataset', 'copy', 'mine', '--data', data, '--to', to);
  expect([copied.code, copied.err]).toEqual([0, expect.any(String)]);
  const back = join(folder, 'back');
  expect(await run('restore', 'mine', '--from', to, '--data', back)).toMatchObject({ code: 0 });
  const segments = (where: string) => readdirSync(join(where, 'mine/segments'));
  expect(segments(back)).toEqual(segments(data));
  expect((await run('verify', '--data', back)).code).toBe(0);
});

async function examine(): Promise<{ area: string; state: string; text: string }[]> {
  const { out } = await run('doctor', '--config', config, '--json');
  const findings = JSON.parse(out) as { area: string; state: string; text: string }[];
  return findings.filter(({ area }) => area === 'store' || area === 'feed');
}

test('default: doctor tries the bucket and the stream', async () => {
  const servers = nats.ports.map((port) => `nats://127.0.0.1:${port}`);
  const feed = { kind: 'jetstream', servers, replicas: 1 };
  const datasets = [{ name: 'mine', sources: [{ kind: 'rpc', url: 'http://127.0.0.1:1' }] }];
  writeConfig({ feed, datasets });
  expect(await examine()).toMatchObject([
    { area: 'store', state: 'ok', text: expect.stringContaining('refuses to overwrite') },
    { area: 'feed', state: 'warning', text: expect.stringContaining('1 replicas') },
  ]);
  writeConfig({ feed: { ...feed, servers: ['nats://127.0.0.1:1'] }, datasets });
  expect((await examine())[1]).toMatchObject({ area: 'feed', state: 'wrong' });
  writeConfig();
});

test('default: config check also tries the bucket and the stream, except with --offline', async () => {
  const servers = nats.ports.map((port) => `nats://127.0.0.1:${port}`);
  const feed = { kind: 'jetstream', servers, replicas: 1 };
  const datasets = [{ name: 'mine', sources: [{ kind: 'rpc', url: 'http://127.0.0.1:1' }] }];
  writeConfig({ feed, datasets });
  const right = await run('config', 'check', config);
  expect(right.code).toBe(0);
  expect(right.out).toMatch(
    /store: ok: bucket .* refuses to overwrite\nfeed: warning: stream of mine/,
  );
  writeConfig({ feed: { ...feed, servers: ['nats://127.0.0.1:1'] }, datasets });
  const wrong = await run('config', 'check', config);
  expect([wrong.code, wrong.out]).toEqual([1, expect.stringContaining('[feed-unreachable]')]);
  expect((await run('config', 'check', '--offline', config)).code).toBe(0);
  Object.assign(proxy, { fault: 'unconditional', share: 1 });
  writeConfig({ feed, datasets });
  const unsafe = await run('config', 'check', config);
  expect([unsafe.code, unsafe.out]).toEqual([1, expect.stringContaining('[store-unconditional]')]);
  Object.assign(proxy, { fault: 'none' });
  writeConfig();
});

test('error: store-unconditional: doctor finds a store that ignores If-None-Match', async () => {
  Object.assign(proxy, { fault: 'unconditional', share: 1 });
  expect(await examine()).toMatchObject([
    { state: 'wrong', text: expect.stringContaining('[store-unconditional]') },
  ]);
  Object.assign(proxy, { fault: 'none' });
});
