/** Defines routes that look something up in the indexes. They have their own limit and report the heads of their state. */
import type { TSchema } from 'typebox';
import type { DatasetLookups, LookupResult } from '../../stream/lookups/dataset-lookups.ts';
import type { RouteRow } from '../request-checks.ts';
import {
  defineRoute,
  type ParameterSchemas,
  type Route,
  type RouteRequest,
  servedDataset,
} from './route.ts';

interface LookupRoute<P extends ParameterSchemas, Value> extends RouteRow {
  readonly operationId: string;
  readonly summary: string;
  readonly parameters: P;
  readonly takesQuery?: true;
  readonly answer: TSchema;
  readonly lookUp: (
    lookups: DatasetLookups,
    request: RouteRequest<P>,
  ) => Promise<LookupResult<Value>>;
  /** Writes the body; JSON by default. */
  readonly write?: (value: Value) => string | Uint8Array;
}

export function defineLookup<P extends ParameterSchemas, Value>({
  lookUp,
  write = (value) => JSON.stringify(value),
  ...route
}: LookupRoute<P, Value>): Route {
  return defineRoute<P>({
    ...route,
    isLookup: true,
    handle: async (request) => {
      const { value, snapshot } = await lookUp(servedDataset(request).lookups, request);
      const { head, finalized } = snapshot;
      const headers = {
        ...(head === null ? {} : { 'x-ledger-head-number': String(head.number) }),
        ...(finalized === null
          ? {}
          : {
              'x-ledger-finalized-head-number': String(finalized.number),
              'x-ledger-finalized-head-hash': finalized.hash,
            }),
      };
      return { type: 'application/json; charset=utf-8', body: write(value), headers };
    },
  });
}
