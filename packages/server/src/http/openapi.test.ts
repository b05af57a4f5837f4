/** The operations of the description, for a few routes of each form. `pages.test.ts` tests the description as it is served. */
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import Type from 'typebox';
import { beforeEach, expect, test } from 'vitest';
import { HTTP_LIMITS } from './http-limits.ts';
import { buildOpenApi } from './openapi.ts';
import { type AnyRoute, defineRoute } from './routes/route.ts';
import { ROUTES } from './routes/routes.ts';

interface Response {
  readonly description: string;
  readonly headers?: Record<string, object>;
  readonly content?: object;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters?: object[];
  readonly requestBody?: object;
  readonly responses: Record<string, Response>;
}

interface Description {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: {
    readonly schemas: Record<string, { readonly oneOf?: object[]; readonly required?: string[] }>;
    readonly parameters: object;
    readonly securitySchemes: object;
  };
  readonly security: object[];
  readonly [name: `x-${string}`]: unknown;
}

const answered = { response: Type.String(), handle: () => ({ type: '', body: '' }) };
const integer = Type.Integer({ minimum: 0 });
const routes: readonly AnyRoute[] = [
  {
    kind: 'stream',
    method: 'POST',
    url: '/datasets/:name/stream',
    summary: 's',
    operationId: 'stream',
    finalizedOnly: false,
  },
  defineRoute({
    method: 'GET',
    url: '/open',
    operationId: 'open',
    isOpen: true,
    summary: 'o',
    ...answered,
  }),
  defineRoute({
    method: 'GET',
    url: '/list',
    operationId: 'list',
    summary: 'l',
    responseType: 'text/plain',
    ...answered,
  }),
  defineRoute({
    method: 'GET',
    url: '/datasets/:name/blocks/:slot',
    operationId: 'block',
    summary: 'b',
    isLookup: true,
    parameters: { slot: integer, limit: Type.Optional(integer) },
    ...answered,
  }),
  defineRoute({
    method: 'POST',
    url: '/datasets/:name/estimate',
    operationId: 'estimate',
    summary: 'e',
    takesQuery: true,
    ...answered,
  }),
];

const context = { queryLimits: QUERY_LIMITS, limits: HTTP_LIMITS, version: '1.2.3', routes };
let description: Description;
beforeEach(() => {
  description = buildOpenApi(context) as Description;
});

function operation(path: string, method: string): Operation {
  const found = description.paths[path]?.[method];
  if (found === undefined) return expect.unreachable(`${method} ${path}`);
  return found;
}

const statuses = ({ responses }: Operation) => Object.keys(responses).join(' ');
const headersOf = ({ responses }: Operation, status: string) =>
  Object.keys(responses[status]?.headers ?? {});

const name = { $ref: '#/components/parameters/name' };
const query = {
  required: true,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Query' } } },
};
const failure = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
const headHeaders = [
  'X-Request-Id',
  'X-Ledger-Finalized-Head-Number',
  'X-Ledger-Finalized-Head-Hash',
  'X-Ledger-Head-Number',
];
const encodingHeaders = ['Content-Encoding', 'Vary'];

test('default: the document has its version, its schemas and both ways to send a key', () => {
  expect(description).toMatchObject({
    openapi: '3.1.0',
    info: { title: 'Sluice', version: '1.2.3' },
    security: [{}, { bearer: [] }, { key: [] }],
  });
  const { schemas, parameters, securitySchemes } = description.components;
  expect(Object.keys(schemas).sort()).toEqual(
    'Conflict Error Line-ledger Line-solana Query Query-ledger Query-solana'.split(' '),
  );
  expect(schemas['Query']?.oneOf).toEqual([
    { $ref: '#/components/schemas/Query-ledger' },
    { $ref: '#/components/schemas/Query-solana' },
  ]);
  expect(schemas['Query-ledger']).not.toEqual(schemas['Query-solana']);
  expect(schemas['Conflict']).toMatchObject({
    properties: { previousBlocks: { type: 'array', minItems: 1, maxItems: 100 } },
  });
  expect(schemas['Error']).toMatchObject({
    properties: { error: { required: ['code', 'message', 'requestId'] } },
  });
  expect(parameters).toMatchObject({
    name: { name: 'name', in: 'path', required: true, schema: { type: 'string' } },
  });
  expect(securitySchemes).toEqual({
    bearer: { type: 'http', scheme: 'bearer' },
    key: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
  });
});

test('default: every operation of the interface has an id of its own, from which clients are generated', () => {
  const { paths } = buildOpenApi({ ...context, routes: ROUTES }) as Description;
  const ids = Object.values(paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  expect(ids).toHaveLength(ROUTES.length);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[a-z][a-zA-Z]+$/);
});

test('default: a stream has a query and all its responses', () => {
  const stream = operation('/datasets/{name}/stream', 'post');
  const [dataset, ...others] = stream.parameters as { name?: string }[];
  expect(others.map(({ name }) => name)).toEqual([
    'table',
    'addresses',
    'decoded',
    'event',
    'accounts',
    'decimals',
    'closing',
  ]);
  expect([stream.summary, [dataset], stream.requestBody]).toEqual(['s', [name], query]);
  expect(statuses(stream)).toBe('200 204 400 401 404 408 409 413 415 429 500 503 default');
  expect(stream.responses['200']?.content).toEqual({
    'application/vnd.apache.arrow.stream': {
      schema: expect.objectContaining({ format: 'binary' }),
    },
    'application/jsonl': {
      schema: {
        anyOf: [
          { $ref: '#/components/schemas/Line-ledger' },
          { $ref: '#/components/schemas/Line-solana' },
        ],
      },
    },
  });
  expect(stream.responses['409']?.content).toEqual({
    'application/json': { schema: { $ref: '#/components/schemas/Conflict' } },
  });
  const streamHeaders = [...headHeaders, 'X-Sqd-Data-Source', 'Sluice-Sets'];
  expect(headersOf(stream, '200')).toEqual([...streamHeaders, ...encodingHeaders]);
  expect(headersOf(stream, '204')).toEqual(streamHeaders);
  expect(headersOf(stream, '409')).toEqual(['X-Request-Id']);
});

test('behavior: every rejection has its own description and headers, and the schema of errors', () => {
  const { responses } = operation('/datasets/{name}/stream', 'post');
  const rejected = Object.entries(responses).filter(([status]) => !/^(20.|409)$/.test(status));
  for (const [status, { content, description: text }] of rejected) {
    expect([status, content, text.length > 0]).toEqual([status, failure, true]);
  }
  expect(new Set(rejected.map(([, { description: text }]) => text)).size).toBe(rejected.length);
  const added = rejected.flatMap(([status, { headers = {} }]) => {
    expect(headers).toHaveProperty('X-Request-Id');
    return Object.keys(headers).flatMap((one) =>
      one === 'X-Request-Id' ? [] : `${status} ${one}`,
    );
  });
  expect(added).toEqual(['401 WWW-Authenticate', '429 Retry-After', '503 Retry-After']);
  expect(responses['429']?.headers?.['Retry-After']).toMatchObject({ schema: { type: 'integer' } });
});

test('behavior: a route without parameters cannot get 400, and an open one rejects nothing', () => {
  const open = operation('/open', 'get');
  expect([open.summary, statuses(open), open.parameters]).toEqual(['o', '200', undefined]);
  const list = operation('/list', 'get');
  expect([list.parameters, list.requestBody]).toEqual([undefined, undefined]);
  expect(statuses(list)).toBe('200 401 404 429 500 503 default');
  expect(headersOf(list, '200')).toEqual(['X-Request-Id']);
  expect(Object.keys(list.responses['200']?.content ?? {})).toEqual(['text/plain']);
  expect(list.responses['default']?.content).toEqual(failure);
});

test('behavior: a parameter is in the path or in the query string', () => {
  const block = operation('/datasets/{name}/blocks/{slot}', 'get');
  expect(block.parameters).toMatchObject([
    name,
    { name: 'slot', in: 'path', required: true, schema: { type: 'integer' } },
    { name: 'limit', in: 'query', required: false },
  ]);
  expect(statuses(block)).toBe('200 400 401 404 429 500 503 default');
  expect(headersOf(block, '200')).toEqual([...headHeaders, ...encodingHeaders]);
  expect(block.responses['200']?.content).toEqual({
    'application/json': { schema: Type.String() },
  });
});

test('behavior: a route that takes a query has the rejections of a body', () => {
  const estimate = operation('/datasets/{name}/estimate', 'post');
  expect([estimate.parameters, estimate.requestBody]).toEqual([[name], query]);
  expect(statuses(estimate)).toBe('200 400 401 404 408 413 415 429 500 503 default');
});

test('behavior: the limits and the errors of this listener are listed', () => {
  expect(description['x-limits']).toEqual({ ...QUERY_LIMITS, ...HTTP_LIMITS });
  const errors = description['x-errors'] as { code: string; status: number; text: string }[];
  expect(errors.find(({ code }) => code === 'path-unknown')).toEqual({
    code: 'path-unknown',
    status: 404,
    text: expect.any(String),
  });
  const codes = errors.map(({ code }) => code);
  expect(codes).not.toContain('engine-cancelled');
  expect(codes.filter((code) => /^(operator|simulator)-/.test(code))).toEqual([]);
});
