/**
 * The checks before a body is read, in the documented order: 401, 404, 405, 429, 415. The checks for 413, 400 and 503
 * follow.
 */

import { elementAt } from '@sluice/base/element-at';
import { CodedError } from '@sluice/base/errors';
import type { Dialect } from '@sluice/protocol/dialect';
import type { FastifyRequest } from 'fastify';
import { type ApiKey, findKey, keyId, shownKey } from './keys/api-keys.ts';
import type { KeyBudgets } from './keys/key-budgets.ts';
import { checkBodyHeaders } from './read-body.ts';
import type { DatasetDirectory, DatasetEntry } from './served-dataset.ts';

/** The part of a route that the checks need. */
export interface RouteRow {
  readonly method: 'GET' | 'POST';
  /** In the form of the router: `:name` stands for one segment of the path. */
  readonly url: string;
  /** Pages and the description of the interface contain no data and need no key. */
  readonly isOpen?: true;
  /** `stream` if it opens a stream, whose number a key limits. */
  readonly kind?: 'response' | 'stream';
  /** Whether it looks something up in the indexes. The number of such requests at once is limited. */
  readonly isLookup?: true;
  /** Only datasets that allow this dialect have the path. */
  readonly dialect?: Dialect;
}

export interface RequestChecksDependencies {
  readonly routes: readonly RouteRow[];
  readonly datasets: DatasetDirectory;
  /** Returns the current keys; `null` if none are configured. */
  readonly keys: () => readonly ApiKey[] | null;
  readonly budgets: KeyBudgets;
}

/** The result of the checks. */
export interface CheckedRequest {
  readonly key: ApiKey | null;
  /** The dataset that the path names, if it names one. */
  readonly dataset: DatasetEntry | null;
}

export function checkRequest(
  request: FastifyRequest,
  dependencies: RequestChecksDependencies,
): CheckedRequest {
  const route = dependencies.routes.find(({ url }) => url === request.routeOptions.url);
  const key = route?.isOpen === true ? null : checkKey(request, dependencies);
  const matches = route === undefined ? matchPath(request.url, dependencies.routes) : [route];
  const dataset = checkDataset(request.url, matches, dependencies.datasets);
  const offered = matches.filter((row) => isOffered(row, dataset));
  if (route === undefined || request.is404 || offered.length === 0) {
    throw refuseRoute(request.method, offered);
  }
  if (key !== null) dependencies.budgets.takeRequest(keyId(key));
  if (request.method !== 'POST') return { key, dataset };
  if (key !== null && route.kind === 'stream') dependencies.budgets.checkStreams(keyId(key));
  const isTypeOptional = dataset?.names.dialects.includes('solana') === true;
  checkBodyHeaders(request.raw, { isTypeOptional });
  return { key, dataset };
}

export function checkKey(
  request: Pick<FastifyRequest, 'headers'>,
  { keys }: Pick<RequestChecksDependencies, 'keys'>,
): ApiKey | null {
  const known = keys();
  if (known === null) return null;
  const shown = shownKey(request.headers);
  if (shown === undefined) throw new CodedError('key-missing');
  const key = findKey(shown, known);
  if (key === undefined) throw new CodedError('key-wrong');
  return key;
}

/** Returns whether a route has this path, with any method. */
export function isKnownPath(url: string, routes: readonly RouteRow[]): boolean {
  return matchPath(url, routes).length > 0;
}

/** Returns the routes with this path, of any method. */
function matchPath(url: string, routes: readonly RouteRow[]): readonly RouteRow[] {
  const parts = pathParts(url);
  return routes.filter((row) => {
    const pattern = row.url.split('/');
    return (
      pattern.length === parts.length &&
      pattern.every((step, i) => step.startsWith(':') || step === parts[i])
    );
  });
}

function pathParts(url: string): readonly string[] {
  return elementAt(url.split('?', 1), 0).split('/').map(decodePart);
}

/** Decodes as the router does. An invalid escape sequence is kept as it is. */
function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function checkDataset(
  url: string,
  matches: readonly RouteRow[],
  datasets: DatasetDirectory,
): DatasetEntry | null {
  if (!matches.some((row) => row.url.startsWith('/datasets/:name'))) return null;
  const dataset = datasets.find(elementAt(pathParts(url), 2));
  if (dataset === undefined) throw new CodedError('dataset-unknown');
  return dataset;
}

function isOffered({ dialect }: RouteRow, dataset: DatasetEntry | null): boolean {
  return dialect === undefined || dataset?.names.dialects.includes(dialect) === true;
}

function refuseRoute(method: string, matches: readonly RouteRow[]): CodedError {
  const allowed = allowedMethods(matches);
  if (allowed === '' || method === '') return new CodedError('path-unknown');
  return new CodedError('method-wrong', { method, allowed });
}

export function allowedMethods(matches: readonly RouteRow[]): string {
  return matches
    .flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
    .join(', ');
}
