/** What the routes of lookups have in common: the dataset, the state they saw, and what a client is told of failures. */
import type { TSchema } from 'typebox';
import { assert } from '../../base/assert.ts';
import type { DatasetLookups, LookedUp } from '../../stream/lookups/dataset-lookups.ts';
import type { RouteRow } from '../request-checks.ts';
import { defineRoute, type ParameterSchemas, type Route, type RouteRequest } from './route.ts';

interface LookupRoute<P extends ParameterSchemas, Value> extends RouteRow {
  readonly summary: string;
  readonly parameters: P;
  readonly takesQuery?: true;
  readonly answer: TSchema;
  readonly look: (lookups: DatasetLookups, request: RouteRequest<P>) => Promise<LookedUp<Value>>;
  /** Writes the body; JSON by default. */
  readonly write?: (value: Value) => string;
}

export function defineLookup<P extends ParameterSchemas, Value>({
  look,
  write = (value) => JSON.stringify(value),
  ...route
}: LookupRoute<P, Value>): Route {
  return defineRoute<P>({
    ...route,
    isLookup: true,
    handle: async (request) => {
      assert(request.dataset !== null, 'the checks resolve the dataset of a path');
      const { value, snapshot } = await look(request.dataset.served.lookups, request);
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
