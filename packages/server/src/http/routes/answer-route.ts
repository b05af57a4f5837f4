/** Answers the requests of a route: parameters, body, answer, compression. */
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { QueryLimits } from '@sluice/protocol/query-limits';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { assert } from '../../base/assert.ts';
import { CodedError } from '../../base/errors.ts';
import { runInTimeSlices } from '../../base/time-slices.ts';
import { parseQuerySteps } from '../../query/parse-query.ts';
import type { Query } from '../../query/query.ts';
import { type ByteMeter, HeldBytes } from '../byte-meter.ts';
import type { LookupSlots } from '../lookup-slots.ts';
import { negotiateEncoding } from '../negotiate-encoding.ts';
import { readBody } from '../read-body.ts';
import { refuseUnread } from '../refuse-unread.ts';
import type { CheckedRequest } from '../request-checks.ts';
import { parseParameters } from './parse-parameters.ts';
import type { Route, RouteAnswer } from './route.ts';

export interface AnswerRouteModules {
  readonly queryLimits: QueryLimits;
  /** Bytes of the bodies that are being read. */
  readonly queries: ByteMeter;
  readonly lookups: LookupSlots;
  readonly log: Logger;
}

export interface RoutedRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly checked: CheckedRequest;
}

export async function answerRoute(
  route: Route,
  routed: RoutedRequest,
  modules: AnswerRouteModules,
): Promise<void> {
  const { request, reply, checked } = routed;
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  const held = new HeldBytes(modules.queries);
  try {
    const answer = await answerWithin(route, routed, { ...modules, held, signal: gone.signal });
    if (!gone.signal.aborted) await send(reply, answer, request.headers['accept-encoding']);
    else reply.hijack();
  } catch (error) {
    // Nobody is there to read an answer.
    if (gone.signal.aborted) return void reply.hijack();
    const dataset = checked.dataset?.names.name;
    const about = { dataset, requestId: request.id, key: checked.key?.name };
    throw refuseUnread(error, modules.log.child(about));
  } finally {
    held.release();
  }
}

interface Attempt extends AnswerRouteModules {
  readonly held: HeldBytes;
  readonly signal: AbortSignal;
}

async function answerWithin(
  route: Route,
  { request, checked }: RoutedRequest,
  { queryLimits, lookups, held, signal }: Attempt,
): Promise<RouteAnswer> {
  const { dataset } = checked;
  const parameters = parseParameters(route.parameters, {
    ...withoutName(request.params as Record<string, unknown>),
    ...(request.query as Record<string, unknown>),
  });
  const readQuery = async (): Promise<Query> => {
    assert(dataset !== null, 'a query is sent to a dataset');
    const body = await readBody(request.raw, { ...queryLimits, held });
    if (body === null) throw new CodedError('request-malformed');
    const rules = { limits: queryLimits, dialects: dataset.names.dialects };
    return runInTimeSlices(parseQuerySteps(body, rules));
  };
  const leave = route.isLookup === true ? lookups.take() : () => undefined;
  try {
    return await route.handle({ dataset, parameters, readQuery, signal });
  } finally {
    leave();
  }
}

/** The dataset is resolved by the checks. */
function withoutName({ name: _, ...parameters }: Record<string, unknown>): Record<string, unknown> {
  return parameters;
}

/** Shorter answers gain nothing by compression. */
const gzipBytesMin = 1_024;
const compress = promisify(gzip);

async function send(
  reply: FastifyReply,
  { type, body, headers = {} }: RouteAnswer,
  acceptEncoding: string | undefined,
): Promise<void> {
  reply.headers(headers).header('content-type', type);
  const known = reply.getHeader('vary');
  reply.header('vary', known === undefined ? 'Accept-Encoding' : `${known}, Accept-Encoding`);
  const isGzip = negotiateEncoding(acceptEncoding, ['gzip', 'identity']) === 'gzip';
  if (!isGzip || body.length < gzipBytesMin) return void reply.send(body);
  const compressed = await compress(body, { level: constants.Z_BEST_SPEED });
  reply.header('content-encoding', 'gzip').send(compressed);
}
