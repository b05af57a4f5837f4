/** The OpenAPI description, built from the same routes, tables and schemas that validate requests and respond to them. */

import { ERRORS, type ErrorRow } from '@sluice/base/errors';
import { ARROW_STREAM_TYPE } from '@sluice/protocol/arrow-table';
import { datasetNamePattern } from '@sluice/protocol/dataset-name';
import { DIALECTS, type Dialect } from '@sluice/protocol/dialect';
import { buildLineSchema } from '@sluice/protocol/line-schema';
import { buildQuerySchema } from '@sluice/protocol/query-schema';
import Type, { type TSchema } from 'typebox';
import {
  describeRefusals,
  encodingHeaders,
  everyResponse,
  FAILURE,
  failureResponse,
  headHeaders,
  reference,
  streamHeaders,
} from './openapi-responses.ts';
import { isRequired } from './routes/parse-parameters.ts';
import { blockRef } from './routes/response-schemas.ts';
import type { AnyRoute, Route, RouteContext } from './routes/route.ts';
import { CLOSING_PARAMETERS, STREAM_PARAMETERS } from './streaming/output-form.ts';

export function buildOpenApi(context: Omit<RouteContext, 'datasets'>): object {
  const { queryLimits, limits, version, routes } = context;
  return {
    openapi: '3.1.0',
    info: { title: 'Sluice', version, description: 'Blocks of a ledger, filtered, as JSON lines.' },
    paths: Object.fromEntries(routes.map((route) => [toPath(route), describeMethods(route)])),
    components: {
      schemas: {
        // One schema per value of `type`, because the dialects have different fields.
        Query: { oneOf: DIALECTS.map((name) => reference('schemas', `Query-${name}`)) },
        ...ofEachDialect('Query', (name) => buildQuerySchema([name], queryLimits)),
        ...ofEachDialect('Line', buildLineSchema),
        Conflict: Type.Object({
          previousBlocks: Type.Array(blockRef, { minItems: 1, maxItems: 100 }),
        }),
        Error: FAILURE,
      },
      parameters: {
        name: {
          name: 'name',
          in: 'path',
          required: true,
          schema: Type.String({ pattern: datasetNamePattern.source }),
        },
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

function ofEachDialect(prefix: string, build: (dialect: Dialect) => TSchema): object {
  return Object.fromEntries(DIALECTS.map((name) => [`${prefix}-${name}`, build(name)]));
}

function toPath({ url }: AnyRoute): string {
  return url.replaceAll(/:(\w+)/g, '{$1}');
}

function describeMethods(route: AnyRoute): object {
  const operation = route.kind === 'stream' ? describeStream() : describeResponse(route);
  const parameters = [...namesOf(route), ...parametersOf(route)];
  const described = parameters.length === 0 ? operation : { ...operation, parameters };
  const { operationId, summary } = route;
  return { [route.method.toLowerCase()]: { operationId, summary, ...described } };
}

/** The name of the dataset, where the path has one. */
function namesOf({ url }: AnyRoute): readonly object[] {
  return url.includes('/:name') ? [reference('parameters', 'name')] : [];
}

function parametersOf(route: AnyRoute): readonly object[] {
  if (route.kind === 'stream') {
    const description = `Only with the header Accept: ${ARROW_STREAM_TYPE}, which needs a table.`;
    const ofArrow = Object.entries(STREAM_PARAMETERS).map(([name, schema]) => ({
      ...{ name, in: 'query', required: false, description },
      schema,
    }));
    const ofAll = Object.entries(CLOSING_PARAMETERS).map(([name, schema]) => ({
      ...{ name, in: 'query', required: false },
      schema,
    }));
    return [...ofArrow, ...ofAll];
  }
  return Object.entries(route.parameters).map(([name, schema]) => {
    const isInPath = route.url.split('/').includes(`:${name}`);
    return { name, in: isInPath ? 'path' : 'query', required: isRequired(schema), schema };
  });
}

const queryBody = {
  required: true,
  content: { 'application/json': { schema: reference('schemas', 'Query') } },
};

function describeResponse(route: Route): object {
  const { parameters, takesQuery, response, responseType = 'application/json', isOpen } = route;
  const hasInput = takesQuery === true || Object.keys(parameters).length > 0;
  const ofBody = takesQuery === true ? [408, 413, 415] : [];
  const isLookup = route.isLookup === true;
  const success = {
    description: 'The response.',
    headers: isLookup ? { ...headHeaders, ...encodingHeaders } : everyResponse,
    content: { [responseType]: { schema: response } },
  };
  // Routes without keys and parameters reject nothing.
  if (isOpen === true) return { responses: { 200: success } };
  return {
    ...(takesQuery === true ? { requestBody: queryBody } : {}),
    responses: {
      200: success,
      ...describeRefusals([...(hasInput ? [400] : []), 401, 404, ...ofBody, 429, 500, 503]),
      default: failureResponse,
    },
  };
}

function describeStream(): object {
  const lines = DIALECTS.map((name) => reference('schemas', `Line-${name}`));
  return {
    requestBody: queryBody,
    responses: {
      200: {
        description:
          'One block per line, or record batches of the rows of one table. Without lines or rows if every slot of a bounded range was skipped.',
        headers: { ...streamHeaders, ...encodingHeaders },
        content: {
          'application/jsonl': { schema: { anyOf: lines } },
          [ARROW_STREAM_TYPE]: {
            schema: { type: 'string', format: 'binary', description: 'An Arrow IPC stream.' },
          },
        },
      },
      204: {
        description: 'The range is above the newest block of the stream.',
        headers: streamHeaders,
      },
      409: {
        description:
          'The parent hash is not on the chain; the response has blocks of the chain below fromBlock.',
        headers: everyResponse,
        content: { 'application/json': { schema: reference('schemas', 'Conflict') } },
      },
      ...describeRefusals([400, 401, 404, 408, 413, 415, 429, 500, 503]),
      default: failureResponse,
    },
  };
}
