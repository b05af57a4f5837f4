/** Paths that clients of the dialect `solana` use. Only datasets that allow the dialect have them. */

import { CodedError } from '@sluice/base/errors';
import Type from 'typebox';
import { metadataRoute } from './dataset-routes.ts';
import { METADATA, orNull } from './response-schemas.ts';
import {
  defineRoute,
  json,
  type Route,
  type RouteReply,
  type RouteRequest,
  servedDataset,
} from './route.ts';

const peer = { method: 'GET', dialect: 'solana' } as const;
const note = 'Only where the dataset allows the dialect solana.';
const height = {
  ...peer,
  summary: `The highest finalized slot as a bare number. ${note}`,
  response: Type.Integer(),
  responseType: 'text/plain',
  handle: serveHeight,
} as const;

export const SOLANA_ROUTES: readonly Route[] = [
  defineRoute({
    ...peer,
    url: '/datasets/:name',
    operationId: 'getDataset',
    summary: `The metadata of the dataset. ${note}`,
    response: METADATA,
    handle: metadataRoute.handle,
  }),
  defineRoute({ ...height, url: '/datasets/:name/height', operationId: 'getHeight' }),
  defineRoute({
    ...height,
    url: '/datasets/:name/finalized-stream/height',
    operationId: 'getFinalizedHeight',
  }),
  defineRoute({
    ...peer,
    url: '/datasets/:name/state',
    operationId: 'getState',
    summary: `The stored range. ${note}`,
    response: Type.Object({
      worker_ranges: Type.Record(
        Type.String(),
        Type.Object({
          ranges: Type.Array(Type.Object({ begin: Type.Integer(), end: Type.Integer() })),
        }),
      ),
      height: orNull(Type.Integer()),
    }),
    handle: serveState,
  }),
];

function serveHeight(request: RouteRequest): RouteReply {
  const { finalized } = servedDataset(request).reader.snapshot();
  if (finalized === null) throw new CodedError('dataset-starting');
  return { type: 'text/plain; charset=utf-8', body: String(finalized.number) };
}

/** The clients list ranges by worker. This service is one worker. */
function serveState(request: RouteRequest): RouteReply {
  const { reader } = servedDataset(request);
  const { start, head } = reader.snapshot();
  const ranges = start === null || head === null ? [] : [{ begin: start, end: head.number }];
  const { name } = reader.description;
  return json({ worker_ranges: { [name]: { ranges } }, height: head?.number ?? null });
}
