/**
 * The definition of an endpoint: its path, its parameters, its response, and its handler. The router, the validation of parameters, the
 * OpenAPI description and the documentation page read it.
 */

import { assert } from '@sluice/base/assert';
import type { IdlRegistry } from '@sluice/decode/idl-registry';
import type { QueryLimits } from '@sluice/protocol/query-limits';
import type { Static, TSchema } from 'typebox';
import type { AddressSets } from '../../query/address-set.ts';
import type { Query } from '../../query/query.ts';
import type { HttpLimits } from '../http-limits.ts';
import type { RouteRow } from '../request-checks.ts';
import type { DatasetDirectory, DatasetEntry, ServedDataset } from '../served-dataset.ts';

/** The schema of each parameter by name: an integer or a text. Parameters that are not in the URL path are in the query string. */
export type ParameterSchemas = Readonly<Record<string, TSchema>>;

export type ParameterValues<P extends ParameterSchemas> = {
  readonly [Name in keyof P]: Static<P[Name]>;
};

/** The state of the service that handlers read. */
export interface RouteContext {
  readonly datasets: DatasetDirectory;
  readonly limits: HttpLimits;
  readonly queryLimits: QueryLimits;
  readonly idls?: (() => IdlRegistry) | undefined;
  readonly sets?: AddressSets | undefined;
  readonly version: string;
  readonly routes: readonly AnyRoute[];
}

export interface RouteRequest<P extends ParameterSchemas = ParameterSchemas> {
  readonly context: RouteContext;
  readonly dataset: DatasetEntry | null;
  readonly parameters: ParameterValues<P>;
  /** Parses the body, which is a query. */
  readonly readQuery: () => Promise<Query>;
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
}

export interface RouteReply {
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the body is large and compressed already. The byte limit of a key applies to it, as to streams. */
  readonly isBulk?: true;
}

interface DescribedRoute extends RouteRow {
  /** The name of the operation in the OpenAPI description, from which generated clients name their functions. */
  readonly operationId: string;
  readonly summary: string;
}

/** A route that answers with one body. */
export interface Route extends DescribedRoute {
  readonly kind: 'response';
  readonly parameters: ParameterSchemas;
  /** Whether the body is a query. */
  readonly takesQuery?: true;
  /** The schema of the body of a 200. */
  readonly response: TSchema;
  /** The type of that body; JSON by default. */
  readonly responseType?: string;
  readonly handle: (request: RouteRequest) => RouteReply | Promise<RouteReply>;
}

/** A route that answers a query with a stream of lines. */
export interface StreamRoute extends DescribedRoute {
  readonly kind: 'stream';
  readonly finalizedOnly: boolean;
}

export type AnyRoute = Route | StreamRoute;

/** Defines a route whose handler knows the types of its parameters. */
export function defineRoute<P extends ParameterSchemas>(
  route: Omit<Route, 'kind' | 'parameters' | 'handle'> & {
    readonly parameters?: P;
    readonly handle: (request: RouteRequest<P>) => RouteReply | Promise<RouteReply>;
  },
): Route {
  return { kind: 'response', parameters: {}, ...route } as unknown as Route;
}

export function json(value: unknown): RouteReply {
  return { type: 'application/json; charset=utf-8', body: JSON.stringify(value) };
}

/** Returns the dataset of a path that names one. */
export function servedDataset({ dataset }: Pick<RouteRequest, 'dataset'>): ServedDataset {
  assert(dataset !== null, 'the checks resolve the dataset of a path');
  return dataset.served;
}
