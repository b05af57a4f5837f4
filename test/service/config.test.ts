/** Runs `sluice serve --config` and `sluice config` as an operator does. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { main } from '../../packages/server/src/cli/main.ts';
import { ServiceProcess } from './service-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-config-'));
const file = join(folder, 'sluice.yaml');
const keyFile = join(folder, 'keys.txt');
const variables = { RPC_KEY: 'sesame-from-environment' };
const secrets = ['sesame-from-environment', 'sesame-path', 'sesame-query', 'sesame-header'];

function writeKeys(...keys: readonly string[]): void {
  const lines = keys.map((key) => `${createHash('sha256').update(key).digest('hex')} ${key}`);
  writeFileSync(keyFile, lines.join('\n'));
}

const config = (limits = '') => `
listen:
  keys: keys.txt
datasets:
  - name: demo
    aliases: [other]
    from: genesis
    keep: 100000
    dialects: [ledger, solana]
    sources:
      - kind: simulator
        startSlot: 40
        slotMs: 100
      # No server listens at this address. Its secrets must not appear in any output.
      - kind: rpc
        url: http://127.0.0.1:9/sesame-path/\${RPC_KEY}?key=sesame-query
        ws: none
        headers: { x-token: sesame-header }
${limits}`;

async function run(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const out = new PassThrough();
  const err = new PassThrough();
  const code = await main(args, { out, err });
  return { code, out: String(out.read() ?? ''), err: String(err.read() ?? '') };
}

/** Returns the files of a folder with their content. */
function filesOf(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => {
      const bytes = readFileSync(join(parentPath, name));
      return `${name} ${createHash('sha256').update(bytes).digest('hex')}`;
    })
    .sort();
}

let service: ServiceProcess;
beforeAll(async () => {
  writeKeys('alice', 'bob');
  writeFileSync(file, config());
  service = await ServiceProcess.startServe(['--config', file], variables);
});
afterAll(async () => {
  await service.end('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const ask = (key: string, path = '/datasets/other/head', init: RequestInit = {}) =>
  fetch(`${service.url}${path}`, { ...init, headers: { 'x-api-key': key, ...init.headers } });
const statusFor = async (key: string) => (await ask(key)).status;

function stream(key: string, query: object): Promise<Response> {
  const headers = { 'content-type': 'application/json' };
  return ask(key, '/datasets/demo/stream', {
    method: 'POST',
    headers,
    body: JSON.stringify(query),
  });
}

async function untilHead(slot: number): Promise<void> {
  for (;;) {
    const head = (await (await ask('alice')).json()) as { number: number } | null;
    if (head !== null && head.number >= slot) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test('default: datasets, aliases, dialects, sources and keys are as configured', async () => {
  await untilHead(20);
  expect(await (await ask('bob', '/datasets/other/metadata')).json()).toEqual({
    dataset: 'demo',
    aliases: ['other'],
    real_time: true,
    start_block: 0,
  });
  const answer = await stream('alice', { type: 'solana', fromBlock: 0, toBlock: 10 });
  expect([answer.status, answer.headers.has('x-sqd-head-number')]).toEqual([200, true]);
  expect((await answer.text()).endsWith('\n')).toBe(true);
  expect(await statusFor('mallory')).toBe(401);
});

test('behavior: SIGHUP activates a new key; a removed key gets 401 and its streams end after a whole line', async () => {
  const followed = await stream('bob', { fromBlock: 0, includeAllBlocks: true });
  writeKeys('alice', 'carol');
  const ended = followed.text();
  await service.reload('reloaded keys, limits');
  expect([await statusFor('alice'), await statusFor('carol'), await statusFor('bob')]).toEqual([
    200, 200, 401,
  ]);
  expect((await ended).endsWith('\n')).toBe(true);
});

test('behavior: SIGHUP applies limits at once and lists the changes that need a restart', async () => {
  const items = (count: number) => ({
    fromBlock: 0,
    toBlock: 1,
    rewards: Array.from({ length: count }, () => ({})),
  });
  expect((await stream('alice', items(3))).status).toBe(200);
  const limits =
    'limits:\n  query: { itemCountMax: 2 }\n  key: { requestBurst: 1, requestsPerSecond: 0.01 }\nadmin: { host: 127.0.0.2 }';
  writeFileSync(file, config(limits));
  const lines = await service.reload('take effect at the next start');
  expect(lines.join('')).toContain('"changed":["admin"]');
  const refused = await stream('alice', items(3));
  expect([refused.status, await refused.text()]).toEqual([
    400,
    expect.stringContaining('query-items-too-many'),
  ]);
  expect((await stream('alice', items(2))).status).toBe(429);
  const described = await fetch(`${service.url}/openapi.json`);
  expect(await described.json()).toMatchObject({ 'x-limits': { itemCountMax: 2 } });
});

test('error: SIGHUP with an invalid configuration or key file changes nothing and logs the reason', async () => {
  writeFileSync(file, config('limits:\n  query: { itemsCountMax: 50 }\n'));
  const [line = ''] = await service.reload('was not reloaded');
  expect(JSON.parse(line)).toMatchObject({
    code: 'config-key-unknown',
    msg: expect.stringMatching(/itemsCountMax, line 20, nearest itemCountMax/),
  });
  writeFileSync(file, config());
  writeFileSync(keyFile, 'sesame-path');
  const [keysLine = ''] = await service.reload('keys-invalid');
  expect(JSON.parse(keysLine).msg).toMatch(/key listen\.keys, line 3, .*keyLine 1\)/);
  expect([await statusFor('carol'), await statusFor('bob')]).toEqual([200, 401]);
  writeKeys('alice', 'carol');
  await service.reload('reloaded keys, limits');
});

test('behavior: a secret is in no log, metric, response, error or output, and no response contains a path (F-17, S-15)', async () => {
  const texts = [service.text, service.log.join('\n')];
  for (const path of ['/datasets/demo/status', '/docs', '/datasets']) {
    texts.push(await (await ask('carol', path)).text());
  }
  texts.push(await (await fetch(`${service.adminUrl}/metrics`)).text());
  process.env['RPC_KEY'] = variables.RPC_KEY;
  const printed = await run('config', 'print', file);
  delete process.env['RPC_KEY'];
  expect([printed.code, printed.err]).toEqual([0, '']);
  expect(printed.out).toContain('http://127.0.0.1:9/***');
  const unset = await run('config', 'check', file);
  expect([unset.code, unset.out]).toEqual([1, expect.stringContaining('variable RPC_KEY')]);
  for (const secret of secrets) {
    expect([...texts, printed.out, unset.out, unset.err].join('\n')).not.toContain(secret);
  }
  expect(texts[2]).toContain('"rpc-2"');
  for (const hidden of [folder, '127.0.0.1', 'carol', 'keys.txt']) {
    expect(texts[2]).not.toContain(hidden);
    expect(texts[4]).not.toContain(hidden);
    // The documentation page contains the address of the request.
    if (hidden !== '127.0.0.1') expect(texts[3]).not.toContain(hidden);
  }
});

test('behavior: there is no debugger route, and a page describes how to report vulnerabilities (S-15)', async () => {
  for (const path of ['/debug', '/debug/vars', '/inspect', '/json/list', '/heapdump', '/config']) {
    expect((await ask('carol', path)).status, path).toBe(404);
    expect((await fetch(`${service.adminUrl}${path}`)).status, path).toBe(404);
  }
  const page = readFileSync(new URL('../../SECURITY.md', import.meta.url), 'utf8');
  expect(page).toContain('## Reporting');
});

test('behavior: F-71 a dataset that is removed from the configuration is kept but gets no new blocks', async () => {
  const data = join(folder, 'data/demo');
  await untilHead(45);
  await service.end('SIGTERM');
  const before = filesOf(data);
  expect(before.length).toBeGreaterThan(1);
  const other = '\ndatasets: [{ name: new, sources: [{ kind: simulator }] }]\n';
  writeFileSync(file, `listen: { keys: keys.txt }\nserveUnlisted: false${other}`);
  service = await ServiceProcess.startServe(['--config', file]);
  expect((await ask('carol', '/datasets/demo/head')).status).toBe(404);
  await service.end('SIGTERM');
  writeFileSync(file, 'listen: { keys: keys.txt }\nserveUnlisted: true\n');
  service = await ServiceProcess.startServe(['--config', file]);
  const head = (await (await ask('carol', '/datasets/demo/head')).json()) as { number: number };
  expect(head.number).toBeGreaterThanOrEqual(45);
  const metadata = await (await ask('carol', '/datasets/demo/metadata')).json();
  expect(metadata).toMatchObject({ real_time: false });
  expect(filesOf(data)).toEqual(before);
});

test('error: an invalid configuration prevents the start and is reported with key and line', async () => {
  const wrong = join(folder, 'wrong.yaml');
  writeFileSync(wrong, 'listen:\n  prot: 1\nlog:\n  level: loud\n');
  await expect(ServiceProcess.startServe(['--config', wrong])).rejects.toThrow(
    /key listen\.prot, line 2, nearest port\) \[config-key-unknown\]/,
  );
  const { code, out } = await run('config', 'check', wrong);
  expect([code, out.match(/line \d/g)]).toEqual([1, ['line 2', 'line 4']]);
});

test('error: a missing key file is reported with key and line, together with other errors', async () => {
  const wrong = join(folder, 'wrong.yaml');
  writeFileSync(wrong, 'listen:\n  keys: nowhere.txt\ndialects: [solana]\n');
  const { code, out } = await run('config', 'check', wrong);
  expect(code).toBe(1);
  expect(out).toMatch(/key dialects, line 3/);
  expect(out).toMatch(/file \S*wrong\.yaml, key listen\.keys, line 2, found "\S*nowhere\.txt"/);
});

test('default: init writes a file that check accepts and serve runs, and does not overwrite an existing one', async () => {
  const fresh = mkdtempSync(join(tmpdir(), 'sluice-init-'));
  const path = join(fresh, 'sluice.yaml');
  expect((await run('config', 'init', path)).code).toBe(0);
  expect(await run('config', 'check', path)).toMatchObject({ code: 0, err: '' });
  const written = readFileSync(path, 'utf8');
  expect((await run('config', 'init', path)).err).toContain('[cli-file-exists]');
  expect(readFileSync(path, 'utf8')).toBe(written);
  const started = await ServiceProcess.startServe(['--config', path]);
  expect(started.text).toContain(`Serving ${join(fresh, 'data')} at`);
  expect((await started.get('/datasets/simulated/status')).status).toBe(200);
  expect(await started.end('SIGTERM')).toBe(0);
  rmSync(fresh, { recursive: true, force: true });
});
