/** The interface described by itself, from the same tables and schemas that validate and write. */
import { DIALECTS, type Dialect } from '@sluice/protocol/dialect';
import { buildLineSchema } from '@sluice/protocol/line-schema';
import type { QueryLimits } from '@sluice/protocol/query-limits';
import { buildQuerySchema } from '@sluice/protocol/query-schema';
import Type, { type TSchema } from 'typebox';
import { ERRORS, type ErrorRow } from '../base/errors.ts';
import type { HttpLimits } from './http-limits.ts';
import { LOOKUP_ROUTES } from './routes/lookup-routes.ts';
import { isRequired } from './routes/parse-parameters.ts';
import type { Route } from './routes/route.ts';
import { DATASET_NAME_PATTERN } from './served-dataset.ts';

export interface OpenApiContext {
  readonly queryLimits: QueryLimits;
  readonly limits: HttpLimits;
  readonly version: string;
}

const blockRef = Type.Object({ number: Type.Integer(), hash: Type.String() });
const metadata = Type.Object({
  dataset: Type.String(),
  aliases: Type.Array(Type.String()),
  real_time: Type.Boolean({ description: 'Whether a live source feeds it.' }),
  start_block: Type.Integer({ description: 'The lowest slot that can be asked for.' }),
});
const state = Type.Object({
  worker_ranges: Type.Record(
    Type.String(),
    Type.Object({
      ranges: Type.Array(Type.Object({ begin: Type.Integer(), end: Type.Integer() })),
    }),
  ),
  height: orNull(Type.Integer()),
});
const conflict = Type.Object({
  previousBlocks: Type.Array(blockRef, { minItems: 1, maxItems: 100 }),
});
const failure = Type.Object({
  error: Type.Object({
    code: Type.String(),
    message: Type.String(),
    path: Type.Optional(Type.String({ description: 'The place of the offending value.' })),
    requestId: Type.String(),
  }),
});

/** What `buildStatus` answers. */
export const STATUS = Type.Object({
  dataset: Type.String(),
  aliases: Type.Array(Type.String()),
  real_time: Type.Boolean(),
  dialects: Type.Array(Type.String(), { description: 'Values of type that it answers.' }),
  votes: Type.Union([Type.Literal('drop'), Type.Literal('keep')]),
  allow_missing: Type.Array(Type.String(), { description: 'Kinds that its blocks may lack.' }),
  genesis_hash: orNull(Type.String()),
  start_block: orNull(Type.Integer()),
  head: orNull(blockRef),
  finalized_head: orNull(blockRef),
  block_count: Type.Integer(),
  sealed_bytes: Type.Integer(),
  head_lag_seconds: orNull(Type.Integer()),
  behind_slots: orNull(Type.Integer({ description: 'Slots that its sources are ahead.' })),
  storage: Type.Object({ kind: Type.String() }),
  sources: Type.Array(
    Type.Object({
      name: Type.String(),
      state: Type.String(),
      fault: orNull(Type.String()),
      failures: Type.Integer(),
      strikes: Type.Integer(),
    }),
  ),
  backfill: orNull(
    Type.Object({
      to: Type.Integer(),
      slot: orNull(Type.Integer()),
      blocks: Type.Integer(),
      blocks_per_second: Type.Number(),
      seconds_left: orNull(Type.Number()),
    }),
  ),
  alarms: Type.Array(
    Type.Object({ code: Type.String(), message: Type.String(), sinceUnixMs: Type.Number() }),
  ),
  counters: Type.Record(Type.String(), Type.Number()),
});

export function buildOpenApi({ queryLimits, limits, version }: OpenApiContext): object {
  const stream = (summary: string) => ({ post: describeStream(summary) });
  const get = (summary: string, schema: TSchema, refusals: readonly number[] = []) => ({
    get: describeGet(summary, schema, refusals),
  });
  const number = (summary: string) => ({
    get: describeGet(summary, Type.Integer(), [], 'text/plain'),
  });
  return {
    openapi: '3.1.0',
    info: { title: 'Sluice', version, description: 'Blocks of a ledger, filtered, as JSON lines.' },
    paths: withParameters({
      '/datasets': get('All datasets.', Type.Array(metadata)),
      '/datasets/{name}/stream': stream('Blocks that match a query, the newest included.'),
      '/datasets/{name}/finalized-stream': stream('The same, finalized blocks only.'),
      '/datasets/{name}/metadata': get('What the dataset is.', metadata),
      '/datasets/{name}/head': get('The highest block.', orNull(blockRef)),
      '/datasets/{name}/finalized-head': get('The highest finalized block.', orNull(blockRef)),
      '/datasets/{name}/status': get('What is stored, and how it is doing.', STATUS),
      '/datasets/{name}/timestamps/{seconds}/block': get(
        'The first block whose time is at or after a unix second.',
        Type.Object({ block_number: Type.Integer() }),
        [400],
      ),
      ...describeRoutes(LOOKUP_ROUTES),
      '/datasets/{name}': get(forPeer('What the dataset is.'), metadata),
      '/datasets/{name}/height': number(forPeer('The highest finalized slot.')),
      '/datasets/{name}/finalized-stream/height': number(forPeer('The highest finalized slot.')),
      '/datasets/{name}/state': get(forPeer('The stored range.'), state),
      '/openapi.json': { get: { summary: 'This description.', responses: page } },
    }),
    components: {
      schemas: {
        // By `type`, since the dialects differ in the fields they have.
        Query: { oneOf: DIALECTS.map((name) => reference('schemas', `Query-${name}`)) },
        ...ofEachDialect('Query', (name) => buildQuerySchema([name], queryLimits)),
        ...ofEachDialect('Line', buildLineSchema),
        Conflict: conflict,
        Error: failure,
      },
      parameters: {
        name: parameter('name', Type.String({ pattern: DATASET_NAME_PATTERN.source })),
        seconds: parameter('seconds', Type.Integer()),
      },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        key: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      },
    },
    security: [{}, { bearer: [] }, { key: [] }],
    // The limits in effect, which a reload may change, and the codes of errors.
    'x-limits': { ...queryLimits, ...limits },
    'x-errors': listErrors(),
  };
}

/** Codes of the simulated node's control port and of the operator's listener. */
const elsewhere = /^(simulator|operator)-/;

function listErrors(): readonly { readonly code: string; readonly status: number }[] {
  return Object.entries<ErrorRow>(ERRORS).flatMap(([code, { status, text }]) =>
    status === undefined || elsewhere.test(code) ? [] : [{ code, status, text }],
  );
}

function forPeer(summary: string): string {
  return `${summary} Only where the dataset allows the dialect solana.`;
}

function ofEachDialect(prefix: string, build: (dialect: Dialect) => TSchema): object {
  return Object.fromEntries(DIALECTS.map((name) => [`${prefix}-${name}`, build(name)]));
}

type Paths = Readonly<Record<string, Readonly<Record<string, object>>>>;

/** Describes routes from their own schemas. */
function describeRoutes(routes: readonly Route[]): Paths {
  return Object.fromEntries(
    routes.map((route) => [
      route.url.replaceAll(/:(\w+)/g, '{$1}'),
      { [route.method.toLowerCase()]: describeRoute(route) },
    ]),
  );
}

function describeRoute(route: Route): object {
  const { url, summary, parameters, takesQuery, answer, isLookup } = route;
  const hasInput = takesQuery === true || Object.keys(parameters).length > 0;
  const ofBody = takesQuery === true ? [408, 413, 415] : [];
  return {
    summary,
    ...(takesQuery === true ? { requestBody: queryBody } : {}),
    parameters: Object.entries(parameters).map(([name, schema]) => {
      const isInPath = url.split('/').includes(`:${name}`);
      return { name, in: isInPath ? 'path' : 'query', required: isRequired(schema), schema };
    }),
    responses: {
      200: {
        description: 'The answer.',
        headers: isLookup === true ? { ...headHeaders, ...encodingHeaders } : everyAnswer,
        content: { 'application/json': { schema: answer } },
      },
      ...describeRefusals([...(hasInput ? [400] : []), 401, 404, ...ofBody, 429, 500, 503]),
      default: failureResponse,
    },
  };
}

/** Each operation with the parameters that its path names, before its own. */
function withParameters(paths: Paths): Paths {
  const describe = (path: string, operation: object & { parameters?: readonly object[] }) => {
    const own = operation.parameters ?? [];
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    const shared = names.filter((name) => name === 'name' || name === 'seconds');
    if (names.length === 0) return operation;
    const parameters = [...shared.map((name) => reference('parameters', name)), ...own];
    return { ...operation, parameters };
  };
  return Object.fromEntries(
    Object.entries(paths).map(([path, methods]) => [
      path,
      Object.fromEntries(
        Object.entries(methods).map(([method, operation]) => [method, describe(path, operation)]),
      ),
    ]),
  );
}

function orNull(schema: TSchema): TSchema {
  return Type.Union([schema, Type.Null()]);
}

function parameter(name: string, schema: TSchema): object {
  return { name, in: 'path', required: true, schema };
}

function reference(kind: string, name: string): object {
  return { $ref: `#/components/${kind}/${name}` };
}

function describeGet(
  summary: string,
  schema: TSchema,
  refusals: readonly number[],
  type = 'application/json',
): object {
  return {
    summary,
    responses: {
      200: {
        description: 'The answer.',
        headers: everyAnswer,
        content: { [type]: { schema } },
      },
      ...describeRefusals([...refusals, 401, 404, 429, 500, 503]),
      default: failureResponse,
    },
  };
}

/** Headers of all answers, errors included. */
const everyAnswer = {
  'X-Request-Id': header(Type.String(), "The client's own, if it sent one that can be; else ours."),
};

/** They take no key, and nothing can be wrong with the request. */
const page = { 200: { description: 'The page.', headers: everyAnswer } };

const retryAfter = { 'Retry-After': header(Type.Integer(), 'Seconds to wait.') };

interface RefusalRow {
  readonly description: string;
  readonly headers?: object;
}

const REFUSALS: Readonly<Record<number, RefusalRow>> = {
  400: {
    description: 'The query or a parameter is malformed, or the range begins below start_block.',
  },
  401: {
    description: 'Keys are configured, and none or a wrong one was sent.',
    headers: { 'WWW-Authenticate': header(Type.String(), 'Bearer.') },
  },
  404: { description: 'There is no such dataset, path, block, transaction or time.' },
  408: { description: 'The request did not arrive in time.' },
  413: { description: 'The body is too large, on the wire or decompressed.' },
  415: { description: 'The type or the encoding of the body is not one that is taken.' },
  429: { description: 'The key is over its limit.', headers: retryAfter },
  500: { description: 'A fault of the service.' },
  503: {
    description: 'Overloaded, starting, shutting down, or the storage cannot be read now.',
    headers: retryAfter,
  },
};

function describeRefusals(statuses: readonly number[]): object {
  const entries = statuses.map((status) => [
    status,
    {
      ...failureResponse,
      ...REFUSALS[status],
      headers: { ...everyAnswer, ...REFUSALS[status]?.headers },
    },
  ]);
  return Object.fromEntries(entries);
}

function header(schema: TSchema, description: string): object {
  return { description, schema };
}

const failureResponse = {
  description: 'Refused; see the table of errors.',
  headers: everyAnswer,
  content: { 'application/json': { schema: reference('schemas', 'Error') } },
};

const queryBody = {
  required: true,
  content: { 'application/json': { schema: reference('schemas', 'Query') } },
};

function describeStream(summary: string): object {
  const lines = DIALECTS.map((name) => reference('schemas', `Line-${name}`));
  return {
    summary,
    requestBody: queryBody,
    responses: {
      200: {
        description: 'One block a line. Empty if every slot of a bounded range was skipped.',
        headers: { ...streamHeaders, ...encodingHeaders },
        content: { 'application/jsonl': { schema: { anyOf: lines } } },
      },
      204: { description: 'The range is above the data.', headers: streamHeaders },
      409: {
        description: 'The parent hash is proved wrong; blocks of the chain below fromBlock.',
        headers: everyAnswer,
        content: { 'application/json': { schema: reference('schemas', 'Conflict') } },
      },
      ...describeRefusals([400, 401, 404, 408, 413, 415, 429, 500, 503]),
      default: failureResponse,
    },
  };
}

/** The state that an answer was made from. */
const headHeaders = {
  ...everyAnswer,
  'X-Ledger-Finalized-Head-Number': header(
    Type.Integer(),
    'The finalized head of the state that the answer began with; X-Sqd- in the dialect solana.',
  ),
  'X-Ledger-Finalized-Head-Hash': header(Type.String(), 'Its hash; both or neither.'),
  'X-Ledger-Head-Number': header(
    Type.Integer(),
    'The highest block of that state; on a finalized stream in the dialect solana, the finalized head.',
  ),
};

/** In the dialect solana they begin with X-Sqd- instead. */
const streamHeaders = {
  ...headHeaders,
  'X-Sqd-Data-Source': header(Type.String(), 'Always real_time; only in the dialect solana.'),
};

const encodingHeaders = {
  'Content-Encoding': header(Type.String(), 'gzip or zstd, where Accept-Encoding allows it.'),
  Vary: header(Type.String(), 'Accept-Encoding.'),
};
