/** Defines routes that look something up in the indexes. They have their own limit and report the heads of their state. */

import { decodeBase58, isBase58Of64 } from '@sluice/base/base58';
import { CodedError } from '@sluice/base/errors';
import { RECORD_ARRAY_NAMES } from '@sluice/protocol/field-table';
import { mapKeys } from '@sluice/protocol/typed-keys';
import type { TSchema } from 'typebox';
import Type from 'typebox';
import type { DatasetLookups, LookupResult } from '../../stream/lookups/dataset-lookups.ts';
import type { RouteRow } from '../request-checks.ts';
import { count, line, signature, slot } from './parameter-schemas.ts';
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
  readonly response: TSchema;
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

export const blockRoute = defineLookup({
  method: 'GET',
  url: '/datasets/:name/blocks/:slot',
  operationId: 'getBlock',
  summary: 'One block with every field of every record.',
  parameters: { slot: slot('The slot of the block.') },
  response: line,
  lookUp: (lookups, { parameters, signal }) => lookups.block(parameters.slot, signal),
  // Without the line feed.
  write: (line) => line.subarray(0, -1),
});

export const transactionRoute = defineLookup({
  method: 'GET',
  url: '/datasets/:name/transactions/:signature',
  operationId: 'getTransaction',
  summary: 'The block of a transaction with only this transaction and its records.',
  parameters: { signature },
  response: line,
  lookUp: async (lookups, { parameters, signal }) =>
    lookups.transaction(decodeSignature(parameters.signature), signal),
  write: (text) => text.trimEnd(),
});

function decodeSignature(text: string): Uint8Array {
  const bytes = isBase58Of64(text) ? decodeBase58(text) : undefined;
  if (bytes !== undefined) return bytes;
  throw new CodedError('parameter-invalid', { path: 'signature', allowed: 'base58 of 64 bytes' });
}

const bound = Type.Object({
  min: count(),
  max: Type.Union([count(), Type.Null()], {
    description: 'Null if not all segments were examined.',
  }),
});

export const estimateRoute = defineLookup({
  method: 'POST',
  url: '/datasets/:name/estimate',
  operationId: 'estimateQuery',
  summary: 'The estimated cost of a query, from the indexes.',
  parameters: {},
  takesQuery: true,
  response: Type.Object({
    fromBlock: count(),
    toBlock: Type.Integer({ description: 'The last slot of the range, at most the head.' }),
    isSampled: Type.Boolean({ description: 'Whether the sums are scaled up from a sample.' }),
    segments: Type.Object({ total: count(), examined: count(), withCandidates: count() }),
    blocks: Type.Object({ total: count(), withCandidates: count() }),
    transactions: Type.Object({ total: count(), toExamine: count() }),
    bytesToRead: count('Approximate stored bytes.'),
    bounds: Type.Object(
      mapKeys(['blocks', ...RECORD_ARRAY_NAMES], () => bound),
      {
        description:
          'How many blocks with a line and records a response has, exactly or between two numbers.',
      },
    ),
  }),
  lookUp: async (lookups, { readQuery, signal }) => lookups.estimate(await readQuery(), signal),
});

const slotOrNull = Type.Union([Type.Integer(), Type.Null()]);

export const countRoute = defineLookup({
  method: 'POST',
  url: '/datasets/:name/count',
  operationId: 'countRecords',
  summary: 'The exact number of records that a query selects.',
  parameters: {},
  takesQuery: true,
  response: Type.Object({
    fromBlock: count(),
    toBlock: Type.Integer({ description: 'The last slot that was counted, at most the head.' }),
    isComplete: Type.Boolean({ description: 'If false, the rest begins after toBlock.' }),
    blocks: count('Blocks with a selected record.'),
    transactions: count(),
    instructions: count(),
    logs: count(),
    balances: count(),
    tokenBalances: count(),
    rewards: count(),
    firstBlock: slotOrNull,
    lastBlock: slotOrNull,
  }),
  lookUp: async (lookups, { readQuery, signal }) => lookups.count(await readQuery(), signal),
});
