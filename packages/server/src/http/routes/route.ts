/**
 * An endpoint in one place: where it is, what it takes, what it answers, and the code that answers. The router, the
 * validation of parameters, the OpenAPI description and the documentation page all read this.
 */
import type { Static, TSchema } from 'typebox';
import type { Query } from '../../query/query.ts';
import type { RouteRow } from '../request-checks.ts';
import type { DatasetEntry } from '../served-dataset.ts';

/** By name the schema of a parameter: an integer or a text. Those that the url does not name are in the query string. */
export type ParameterSchemas = Readonly<Record<string, TSchema>>;

export type ParameterValues<P extends ParameterSchemas> = {
  readonly [Name in keyof P]: Static<P[Name]>;
};

export interface RouteRequest<P extends ParameterSchemas = ParameterSchemas> {
  readonly dataset: DatasetEntry | null;
  readonly parameters: ParameterValues<P>;
  /** Parses the body, which is a query. */
  readonly readQuery: () => Promise<Query>;
  /** Aborts when the client is gone. */
  readonly signal: AbortSignal;
}

export interface RouteAnswer {
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Route extends RouteRow {
  readonly summary: string;
  readonly parameters: ParameterSchemas;
  /** Whether the body is a query. */
  readonly takesQuery?: true;
  /** The schema of the body of a 200. */
  readonly answer: TSchema;
  readonly handle: (request: RouteRequest) => Promise<RouteAnswer>;
}

/** Defines a route whose handler knows the types of its parameters. */
export function defineRoute<P extends ParameterSchemas>(
  route: Omit<Route, 'parameters' | 'handle'> & {
    readonly parameters: P;
    readonly handle: (request: RouteRequest<P>) => Promise<RouteAnswer>;
  },
): Route {
  return route as unknown as Route;
}
