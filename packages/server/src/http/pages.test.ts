/** The interface described by itself: for people, for programs. */
import type { TSchema } from 'typebox';
import { Check, Errors } from 'typebox/value';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { escapeHtml } from './html.ts';
import { STATUS } from './openapi.ts';
import { ROUTES } from './public-server.ts';
import { HttpFixture } from './testing/http-fixture.ts';

let fixture: HttpFixture;
beforeEach(async () => {
  fixture = await HttpFixture.start();
});
afterEach(() => fixture.close());

test('default: the root, the docs and the description are there', async () => {
  const root = await fixture.get('/');
  expect([root.status, root.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
  const docs = (await fixture.get('/docs')).body.toString();
  for (const text of ['mentionsAccount', 'transactionIndex', 'range-unavailable', '1048576']) {
    expect(docs).toContain(text);
  }
  // The values that keys take: dialects, addresses, discriminators, kinds of logs, one or several.
  const forms = ['`ledger` or `solana`', '`0x` and 16 hex digits', 'base58 of 32 bytes', '`other`'];
  for (const form of forms) expect(docs).toContain(form.replaceAll(/`(.*?)`/g, '<code>$1</code>'));
  expect(docs).toContain('a list of which any may match');
  // What a reader pastes asks the service that was read, for a dataset that it has.
  expect(docs).toContain(`http://127.0.0.1:${fixture.port}/datasets/ledger-test/stream -d`);
  expect(docs).toContain(escapeHtml('{"fromBlock":99,'));
  const hostile = await fixture.get('/docs', { host: '"><i>' });
  expect(hostile.body.toString()).not.toContain('<i>');
  for (const foreign of ['simulator-', 'operator-path']) expect(docs).not.toContain(foreign);
  // Everything a page needs comes from this service.
  expect(docs + root.body.toString()).not.toMatch(/(src|href)="(https?:)?\/\//);
});

test('behavior: the description names exactly the routes there are', async () => {
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

test('behavior: the description has a parameter for every name in a path, and the status as it is', async () => {
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

test('behavior: the description of a query tells the fields of the dialects apart, as the service does', async () => {
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

test('behavior: the description has every status of a question for a time', async () => {
  const { paths } = JSON.parse((await fixture.get('/openapi.json')).body.toString()) as {
    paths: Record<string, { get?: { responses: object } }>;
  };
  const path = '/datasets/{name}/timestamps/{seconds}/block';
  for (const seconds of ['soon', '99999999999']) {
    const { status } = await fixture.get(`/datasets/ledger-test/timestamps/${seconds}/block`);
    expect(paths[path]?.get?.responses).toHaveProperty(String(status));
  }
});
