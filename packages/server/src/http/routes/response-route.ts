/** Answers a request according to its route: parses parameters, calls the handler, compresses the body. */
import { promisify } from 'node:util';
import { constants, gzip, gzipSync } from 'node:zlib';
import { assert } from '@sluice/base/assert';
import { CodedError } from '@sluice/base/errors';
import { runInTimeSlices } from '@sluice/base/time-slices';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { parseQuerySteps } from '../../query/parse-query.ts';
import { type Query, setsOf } from '../../query/query.ts';
import { type ByteMeter, HeldBytes } from '../byte-meter.ts';
import { keyId } from '../keys/api-keys.ts';
import type { KeyBudgets } from '../keys/key-budgets.ts';
import { negotiateEncoding } from '../negotiate-encoding.ts';
import { readBody } from '../read-body.ts';
import type { CheckedRequest } from '../request-checks.ts';
import type { LookupSlots } from './lookup-slots.ts';
import { parseParameters } from './parse-parameters.ts';
import { refuseUnread } from './refuse-unread.ts';
import type { Route, RouteContext, RouteReply } from './route.ts';

export interface DatasetRouteDependencies {
  readonly context: RouteContext;
  /** Bytes of the bodies that are being read. */
  readonly queries: ByteMeter;
  readonly lookups: LookupSlots;
  readonly budgets: KeyBudgets;
  readonly log: Logger;
}

export interface RoutedRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly checked: CheckedRequest;
}

export async function respondWithBody(
  route: Route,
  routed: RoutedRequest,
  dependencies: DatasetRouteDependencies,
): Promise<void> {
  const { request, reply, checked } = routed;
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  const held = new HeldBytes(dependencies.queries);
  try {
    const result = await runRoute(route, routed, {
      ...dependencies,
      held,
      signal: gone.signal,
    });
    if (result.isBulk === true && checked.key !== null)
      await dependencies.budgets.takeBytes(keyId(checked.key), result.body.length, gone.signal);
    if (!gone.signal.aborted) await send(reply, result, request.headers['accept-encoding']);
    else reply.hijack();
  } catch (error) {
    // The client has disconnected.
    if (gone.signal.aborted) return void reply.hijack();
    const dataset = checked.dataset?.names.name;
    const about = { dataset, requestId: request.id, key: checked.key?.name };
    throw refuseUnread(error, dependencies.log.child(about));
  } finally {
    held.release();
  }
}

interface Attempt extends DatasetRouteDependencies {
  readonly held: HeldBytes;
  readonly signal: AbortSignal;
}

async function runRoute(
  route: Route,
  { request, checked }: RoutedRequest,
  { context, lookups, held, signal }: Attempt,
): Promise<RouteReply> {
  const { dataset } = checked;
  const { queryLimits } = context;
  const parameters = parseParameters(route.parameters, listTexts(route, request));
  let setHeaders: Readonly<Record<string, string>> = {};
  const readQuery = async (): Promise<Query> => {
    assert(dataset !== null, 'a query is sent to a dataset');
    const body = await readBody(request.raw, { ...queryLimits, held });
    if (body === null) throw new CodedError('request-malformed');
    const rules = {
      limits: queryLimits,
      dialects: dataset.names.dialects,
      ...(context.idls === undefined ? {} : { idls: context.idls() }),
      ...(context.sets === undefined ? {} : { sets: context.sets }),
    };
    const query = await runInTimeSlices(parseQuerySteps(body, rules));
    setHeaders = describeSets(query);
    return query;
  };
  const leave =
    route.isLookup === true ? lookups.take(clientOf(request, checked)) : () => undefined;
  try {
    const reply = await route.handle({ context, dataset, parameters, readQuery, signal });
    return { ...reply, headers: { ...reply.headers, ...setHeaders } };
  } finally {
    leave();
  }
}

/** Returns the header with the versions of the sets that a query refers to, if it refers to any. */
export function describeSets(query: Query): Readonly<Record<string, string>> {
  const sets = setsOf(query).map(({ name, version }) => `${name}=${version}`);
  return sets.length === 0 ? {} : { 'sluice-sets': sets.join(', ') };
}

/** Returns what identifies a client for limits. */
function clientOf({ ip }: FastifyRequest, { key }: CheckedRequest): string {
  return key === null ? ip : keyId(key);
}

/**
 * Returns the texts of all parameters except the name of the dataset, which the checks resolve. Lookups reject unknown keys of the query
 * string; other routes ignore them.
 */
function listTexts(route: Route, { params, query }: FastifyRequest): Record<string, unknown> {
  const { name: _, ...inPath } = params as Record<string, unknown>;
  const inQuery = Object.entries(query as Record<string, unknown>).filter(
    ([key]) => route.isLookup === true || Object.hasOwn(route.parameters, key),
  );
  return { ...inPath, ...Object.fromEntries(inQuery) };
}

/** Compressing shorter responses is not worthwhile. */
const gzipBytesMin = 1_024;
/** Compressing at most this many bytes takes less processor time than asking another thread to do it. */
const syncBytesMax = 16_384;
const compress = promisify(gzip);

async function send(
  reply: FastifyReply,
  { type, body, isBulk, headers = {} }: RouteReply,
  acceptEncoding: string | undefined,
): Promise<void> {
  reply.headers(headers).header('content-type', type);
  if (body.length < gzipBytesMin || isBulk === true) return void reply.send(body);
  const known = reply.getHeader('vary');
  reply.header('vary', known === undefined ? 'Accept-Encoding' : `${known}, Accept-Encoding`);
  const isGzip = negotiateEncoding(acceptEncoding, ['gzip', 'identity']) === 'gzip';
  if (!isGzip) return void reply.send(body);
  const level = { level: constants.Z_BEST_SPEED };
  const isSmall = body.length <= syncBytesMax;
  const compressed = isSmall ? gzipSync(body, level) : await compress(body, level);
  reply.header('content-encoding', 'gzip').send(compressed);
}
