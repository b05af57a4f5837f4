/**
 * What is checked before a body is read, in the order the interface promises: 401, 404, 405, 429, 415. After it come 413, 400
 * and 503.
 */
import type { Dialect } from '@sluice/protocol/dialect';
import type { FastifyRequest } from 'fastify';
import { CodedError } from '../base/errors.ts';
import { type ApiKey, findKey, keyId, shownKey } from './api-keys.ts';
import type { KeyBudgets } from './key-budgets.ts';
import { checkBodyHeaders } from './read-body.ts';
import type { DatasetDirectory, DatasetEntry } from './served-dataset.ts';

/** One line of the table that routes, checks of methods and the description are made from. */
export interface RouteRow {
  readonly method: 'GET' | 'POST';
  /** In the router's form: `:name` stands for one part. */
  readonly url: string;
  /** Pages for people, and the description of the interface, hold no data and take no key. */
  readonly isOpen?: true;
  /** A page of the web application, or a file of one; not part of the interface that is described. */
  readonly isPage?: true;
  /** Whether it looks something up in the indexes; only so many do at once. */
  readonly isLookup?: true;
  /** Only datasets that allow this dialect have the path. */
  readonly dialect?: Dialect;
}

export interface RequestChecksModules {
  readonly routes: readonly RouteRow[];
  readonly datasets: DatasetDirectory;
  /** `null` where no keys are configured; asked each time, since a reload may change them. */
  readonly keys: () => readonly ApiKey[] | null;
  readonly budgets: KeyBudgets;
}

/** What the checks found out. */
export interface CheckedRequest {
  readonly key: ApiKey | null;
  /** The dataset, where the path names one. */
  readonly dataset: DatasetEntry | null;
}

export function checkRequest(
  request: FastifyRequest,
  modules: RequestChecksModules,
): CheckedRequest {
  const route = modules.routes.find(({ url }) => url === request.routeOptions.url);
  const key = route?.isOpen === true ? null : checkKey(request, modules);
  const matches = route === undefined ? matchPath(request.url, modules.routes) : [route];
  const dataset = checkDataset(request.url, matches, modules.datasets);
  const offered = matches.filter((row) => isOffered(row, dataset));
  if (route === undefined || request.is404 || offered.length === 0) {
    throw refuseRoute(request.method, offered);
  }
  if (key !== null) modules.budgets.takeRequest(keyId(key));
  if (request.method !== 'POST') return { key, dataset };
  if (key !== null && route.isLookup !== true) modules.budgets.checkStreams(keyId(key));
  checkBodyHeaders(request.raw);
  return { key, dataset };
}

export function checkKey(
  request: Pick<FastifyRequest, 'headers'>,
  { keys }: Pick<RequestChecksModules, 'keys'>,
): ApiKey | null {
  const known = keys();
  if (known === null) return null;
  const shown = shownKey(request.headers);
  if (shown === undefined) throw new CodedError('key-missing');
  const key = findKey(shown, known);
  if (key === undefined) throw new CodedError('key-wrong');
  return key;
}

/** The rows whose path this is, whatever the method. */
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
  return (url.split('?', 1)[0] as string).split('/').map(decodePart);
}

/** As the router does it: an escape stands for its letter, one that is broken for itself. */
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
  const dataset = datasets.find(pathParts(url)[2] as string);
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
