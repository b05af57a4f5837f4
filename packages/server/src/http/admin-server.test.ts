import { createServer } from 'node:net';
import { type RegisteredIdl, readRegistered } from '@sluice/decode/idl-registry';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { AdminIdls } from './admin-idls.ts';
import { AdminServer } from './admin-server.ts';
import type { AdminSets } from './admin-sets.ts';
import { Metrics } from './metrics/metrics.ts';
import { errorOf, type HttpResponse, send } from './testing/http-fixture.ts';

let server: AdminServer;
let port: number;
let reason: string | null;
let unavailable: string[];
let faults: unknown[];
let registered: Map<string, RegisteredIdl>;
const idls: AdminIdls = {
  list: () =>
    [...registered.values()].flatMap((idl) =>
      readRegistered(idl).map(({ name: program, address = '' }) => {
        const { name, fromSlot = null, toSlot = null } = idl;
        const rest = { origin: 'operator', undefinedTypes: [] } as const;
        return { name, program, programId: address, fromSlot, toSlot, ...rest };
      }),
    ),
  put: (idl) => {
    readRegistered(idl);
    registered.set(idl.name, idl);
  },
  remove: (name) => registered.delete(name),
};
const metrics = new Metrics();
metrics.counter({ name: 'test_total', help: 'A counter.' });

const sets: AdminSets = {
  list: () => [],
  put: () => Promise.reject(new Error('not used')),
  remove: async () => false,
};

beforeEach(async () => {
  reason = null;
  unavailable = [];
  faults = [];
  registered = new Map();
  server = new AdminServer({
    metrics,
    notReadyReason: () => reason,
    unavailable: () => unavailable,
    newRequestId: () => 'r1',
    idls,
    sets,
    reportFault: (error) => faults.push(error),
  });
  port = await server.listen('127.0.0.1', 0);
});
afterEach(() => server.close());

function get(path: string, method = 'GET'): Promise<HttpResponse> {
  return send(port, { method, path });
}

const textOf = ({ body }: HttpResponse) => body.toString();

test('default: health, readiness and metrics are served, with or without a query string', async () => {
  const health = await get('/health?x=1');
  expect([health.status, textOf(health)]).toEqual([200, '{"status":"alive"}']);
  expect(health.headers).toMatchObject({
    'content-type': 'application/json',
    'x-request-id': 'r1',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  const ready = await get('/ready');
  expect([ready.status, textOf(ready)]).toEqual([200, '{"status":"ready"}']);
  expect(ready.headers['content-type']).toBe('application/json');
  const counted = await get('/metrics');
  expect([counted.status, counted.headers['content-type']]).toEqual([200, metrics.contentType]);
  expect(textOf(counted)).toContain('test_total 0');
});

test('behavior: readiness has the reason, and names datasets that cannot be opened', async () => {
  unavailable = ['broken'];
  expect(JSON.parse(textOf(await get('/ready')))).toEqual({ status: 'ready', unavailable });
  reason = 'closing';
  unavailable = [];
  faults = [];
  const answer = await get('/ready');
  expect([answer.status, textOf(answer)]).toEqual([
    503,
    '{"status":"not-ready","reason":"closing"}',
  ]);
});

test('behavior: HEAD gets the headers without a body', async () => {
  const answer = await get('/health', 'HEAD');
  expect([answer.status, textOf(answer)]).toEqual([200, '']);
  expect((await get('/ready', 'HEAD')).status).toBe(200);
});

test('error: method-wrong and operator-path-unknown', async () => {
  for (const [path, method, status, code] of [
    ['/health', 'POST', 405, 'method-wrong'],
    ['/other', 'GET', 404, 'operator-path-unknown'],
    ['/', 'HEAD', 404, undefined],
  ] as const) {
    const answer = await get(path, method);
    expect([path, answer.status]).toEqual([path, status]);
    expect(answer.headers['content-type']).toBe('application/json');
    if (code !== undefined) {
      expect(errorOf(answer)).toMatchObject({ code, requestId: 'r1' });
    }
  }
});

test('error: listen-failed has the address and the code of the operating system', async () => {
  const other = new AdminServer({
    metrics,
    notReadyReason: () => null,
    unavailable: () => [],
    newRequestId: () => '',
    reportFault: () => undefined,
    idls,
    sets,
  });
  await expect(other.listen('127.0.0.1', port)).rejects.toMatchObject({
    code: 'listen-failed',
    detail: { host: '127.0.0.1', port, code: 'EADDRINUSE' },
  });
});

test('behavior: closing ends open connections and frees the port', async () => {
  const answered = await get('/health');
  expect(answered.status).toBe(200);
  await server.close();
  const next = createServer();
  await new Promise<void>((resolve, reject) => {
    next.once('error', reject);
    next.listen(port, '127.0.0.1', resolve);
  });
  await new Promise((resolve) => next.close(resolve));
});

test('error: internal-error: a metric that cannot be computed fails its request only, and is reported', async () => {
  const fault = new Error('the disk fails');
  const text = vi.spyOn(metrics, 'text').mockRejectedValue(fault);
  const failed = await get('/metrics');
  expect([failed.status, errorOf(failed)?.code, faults]).toEqual([500, 'internal-error', [fault]]);
  text.mockRestore();
  expect((await get('/metrics')).status).toBe(200);
});

const program = '7ZsGTnBTMSAm9Q7VDe3a9TrtpZ354eZfV6HxV1yCY1mc';
const idl = JSON.stringify({
  address: program,
  metadata: { name: 'amm' },
  instructions: [{ name: 'swap', discriminator: [1, 2] }],
});

test('behavior: an operator registers an IDL with its slots, lists and removes it', async () => {
  const put = await send(port, {
    method: 'PUT',
    path: '/idls/amm.json?fromSlot=5&toSlot=9',
    body: idl,
  });
  expect(put.status).toBe(200);
  const expected = {
    name: 'amm.json',
    program: 'amm',
    programId: program,
    fromSlot: 5,
    toSlot: 9,
    origin: 'operator',
    undefinedTypes: [],
  };
  expect(JSON.parse(textOf(await get('/idls')))).toEqual([expected]);
  expect((await get('/idls/amm.json', 'DELETE')).status).toBe(200);
  expect(JSON.parse(textOf(await get('/idls')))).toEqual([]);
  expect((await get('/idls/amm.json', 'DELETE')).status).toBe(404);
});

test.each([
  ['an IDL that is not one', '/idls/a.json', '{', 'idl-invalid'],
  [
    'an IDL without an address',
    '/idls/a.json',
    '{"name":"a","instructions":[]}',
    'idl-address-missing',
  ],
  [
    'a range that ends before it begins',
    '/idls/a.json?fromSlot=9&toSlot=8',
    idl,
    'parameter-invalid',
  ],
  ['a slot that is not one', '/idls/a.json?fromSlot=x', idl, 'parameter-invalid'],
  ['an address that is not one', '/idls/a.json?programId=x', idl, 'parameter-invalid'],
  ['a name with a slash', '/idls/a/b', idl, 'operator-path-unknown'],
])('error: %s is refused and changes nothing', async (_name, path, body, code) => {
  expect(errorOf(await send(port, { method: 'PUT', path, body })).code).toBe(code);
  expect(registered.size).toBe(0);
});
