/** The pages and the OpenAPI description. */
import type { TSchema } from 'typebox';
import { Check, Errors } from 'typebox/value';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { STATUS } from './routes/response-schemas.ts';
import { ROUTES } from './routes/routes.ts';
import { HttpFixture } from './testing/http-fixture.ts';

let fixture: HttpFixture;
beforeEach(async () => {
  fixture = await HttpFixture.start();
});
afterEach(() => fixture.close());

test('default: every page has the document of the web application, and the description exists', async () => {
  for (const path of [
    '/',
    '/docs',
    '/docs/guide/handling-forks',
    '/docs/queries',
    '/live/ledger-test',
    '/activity/x',
    '/workbench/x',
    '/block/x/1',
    '/transaction/x/y',
    '/account/x/y',
    '/program/x/y',
  ]) {
    const page = await fixture.get(path);
    expect([path, page.status, page.headers['content-type']]).toEqual([
      path,
      200,
      'text/html; charset=utf-8',
    ]);
    expect(page.headers['cache-control']).toBe('no-cache');
    // Everything a page needs comes from this service.
    expect(page.body.toString()).not.toMatch(/(src|href)="(https?:)?\/\//);
  }
  expect((await fixture.get('/openapi.json')).status).toBe(200);
});

test('behavior: pages have a content security policy that allows no inline scripts or styles', async () => {
  const { headers } = await fixture.get('/');
  expect(String(headers['content-security-policy']).split('; ')).toEqual([
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ]);
  expect(headers).toMatchObject({ 'referrer-policy': 'no-referrer', vary: 'Accept-Encoding' });
});

test('behavior: only a GET of a page gets one for an unknown address', async () => {
  const headers = { accept: 'text/html' };
  const posted = await fixture.send({ method: 'POST', path: '/foo', headers });
  expect([posted.status, posted.headers['content-type']]).toEqual([
    404,
    'application/json; charset=utf-8',
  ]);
  const page = await fixture.get('/');
  const again = await fixture.get('/', { 'if-none-match': String(page.headers['etag']) });
  expect([again.status, again.body.length, again.headers['etag']]).toEqual([
    304,
    0,
    page.headers['etag'],
  ]);
  const changed = await fixture.get('/', { 'if-none-match': '"other"' });
  expect([changed.status, changed.body.equals(page.body)]).toEqual([200, true]);
});

test('behavior: a browser gets a page for an unknown address, and a program the error', async () => {
  const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
  for (const path of ['/foo', '/datasets/ledger-test/nothing', '/docs/a/b/c']) {
    const page = await fixture.get(path, browser);
    expect([path, page.status, page.headers['content-type']]).toEqual([
      path,
      404,
      'text/html; charset=utf-8',
    ]);
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    const again = await fixture.get(path, {
      ...browser,
      'if-none-match': String(page.headers['etag']),
    });
    expect(again.status).toBe(404);
    for (const accept of ['*/*', 'application/json']) {
      const answer = await fixture.get(path, { accept });
      expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
      expect(answer.status).toBe(404);
    }
  }
  const known = await fixture.get('/datasets/other/head', browser);
  expect(JSON.parse(known.body.toString())).toMatchObject({ error: { code: 'dataset-unknown' } });
});

test('behavior: the description has the limits in effect and the codes of errors, and nothing of other listeners', async () => {
  const answer = await fixture.get('/openapi.json');
  const description = JSON.parse(answer.body.toString()) as {
    'x-limits': Record<string, number>;
    'x-errors': { code: string; status: number; text: string }[];
  };
  expect(description['x-limits']).toMatchObject({
    bodyBytesMax: 1_048_576,
    streamCountMax: 11_000,
  });
  const codes = description['x-errors'].map(({ code }) => code);
  expect(codes).toContain('range-unavailable');
  expect(codes.filter((code) => /^(simulator|operator)-/.test(code))).toEqual([]);
});

test('behavior: the description has exactly the existing routes', async () => {
  const answer = await fixture.get('/openapi.json');
  const { paths, openapi } = JSON.parse(answer.body.toString()) as {
    paths: Record<string, object>;
    openapi: string;
  };
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const routed = ROUTES.map(({ method, url }) => `${method} ${url.replaceAll(/:(\w+)/g, '{$1}')}`);
  expect(openapi).toBe('3.1.0');
  expect(described.sort()).toEqual(routed.sort());
});

test('behavior: the description has every status of a stream, with its headers', async () => {
  const answer = await fixture.get('/openapi.json');
  const { paths } = JSON.parse(answer.body.toString()) as {
    paths: Record<string, { post?: { responses: Record<string, { headers?: object }> } }>;
  };
  const streams = Object.entries(paths).flatMap(([path, { post }]) =>
    post === undefined || !path.endsWith('stream') ? [] : post,
  );
  expect(streams).toHaveLength(2);
  for (const { responses } of streams) {
    const statuses = '200 204 400 401 404 408 409 413 415 429 500 503'.split(' ');
    expect(Object.keys(responses)).toEqual([...statuses, 'default']);
    for (const { headers } of Object.values(responses))
      expect(headers).toHaveProperty('X-Request-Id');
    for (const status of ['429', '503']) {
      expect(responses[status]?.headers).toHaveProperty('Retry-After');
    }
    for (const status of ['200', '204']) {
      expect(responses[status]?.headers).toHaveProperty('X-Ledger-Finalized-Head-Hash');
    }
  }
});

interface Parameter {
  readonly $ref?: string;
  readonly name?: string;
  readonly in?: string;
}

test('behavior: the description has a parameter for every name in a path, and the schema of the status', async () => {
  const answer = await fixture.get('/openapi.json');
  const { paths, components } = JSON.parse(answer.body.toString()) as {
    paths: Record<string, Record<string, { parameters?: Parameter[] }>>;
    components: { parameters: Record<string, object> };
  };
  for (const [path, methods] of Object.entries(paths)) {
    const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    for (const { parameters = [] } of Object.values(methods)) {
      const inPath = parameters.filter(({ in: place }) => place !== 'query');
      expect(inPath.map(({ $ref, name }) => name ?? $ref?.split('/').at(-1))).toEqual(named);
      for (const { $ref } of parameters)
        if ($ref !== undefined) expect(components.parameters).toHaveProperty($ref.slice(24));
    }
  }
  const status = JSON.parse((await fixture.get('/datasets/ledger-test/status')).body.toString());
  expect([...Errors(STATUS, status)]).toEqual([]);
  expect(Object.keys(status)).toEqual(Object.keys(STATUS.properties));
});

test('behavior: the description of a query distinguishes the fields of the dialects, as the service does', async () => {
  await fixture.close();
  fixture = await HttpFixture.start({ dialects: ['ledger', 'solana'] });
  const { components } = JSON.parse((await fixture.get('/openapi.json')).body.toString()) as {
    components: { schemas: Record<string, TSchema & { oneOf?: { $ref: string }[] }> };
  };
  const names = (components.schemas['Query']?.oneOf ?? []).map(({ $ref }) =>
    $ref.split('/').at(-1),
  );
  for (const type of [undefined, 'ledger', 'solana', 'other']) {
    for (const field of ['pubKey', 'pubkey']) {
      const query = { type, fromBlock: 99, toBlock: 100, fields: { reward: { [field]: true } } };
      const sent = JSON.parse(JSON.stringify(query)) as Record<string, unknown>;
      const fitting = names.filter((name = '') => Check(components.schemas[name] as TSchema, sent));
      const { status } = await fixture.query(sent);
      expect([type, field, fitting.length]).toEqual([type, field, status === 200 ? 1 : 0]);
    }
  }
});

test('behavior: the description has every status of the route for a time', async () => {
  const { paths } = JSON.parse((await fixture.get('/openapi.json')).body.toString()) as {
    paths: Record<string, { get?: { responses: object } }>;
  };
  const path = '/datasets/{name}/timestamps/{seconds}/block';
  for (const seconds of ['soon', '99999999999']) {
    const { status } = await fixture.get(`/datasets/ledger-test/timestamps/${seconds}/block`);
    expect(paths[path]?.get?.responses).toHaveProperty(String(status));
  }
});
