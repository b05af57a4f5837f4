/** Short responses about a dataset: its metadata, its heads, its status. */

import { CodedError } from '@sluice/base/errors';
import Type from 'typebox';
import { findBlockAtTime } from '../../chain/find-blocks.ts';
import { buildMetadata, buildStatus } from '../describe-dataset.ts';
import { buildOpenApi } from '../openapi.ts';
import { blockRef, METADATA, orNull, STATUS } from './response-schemas.ts';
import { defineRoute, json, servedDataset } from './route.ts';

export const datasetsRoute = defineRoute({
  method: 'GET',
  url: '/datasets',
  operationId: 'listDatasets',
  summary: 'All datasets that are open and know their first slot.',
  response: Type.Array(METADATA),
  handle: ({ context }) =>
    json(context.datasets.all.flatMap(({ reader }) => buildMetadata(reader) ?? [])),
});

export const metadataRoute = defineRoute({
  method: 'GET',
  url: '/datasets/:name/metadata',
  operationId: 'getMetadata',
  summary: 'The metadata of the dataset.',
  response: METADATA,
  handle: (request) => {
    const metadata = buildMetadata(servedDataset(request).reader);
    if (metadata === undefined) throw new CodedError('dataset-starting');
    return json(metadata);
  },
});

export const headRoute = defineRoute({
  method: 'GET',
  url: '/datasets/:name/head',
  operationId: 'getHead',
  summary: 'The highest block.',
  response: orNull(blockRef),
  handle: (request) => json(servedDataset(request).reader.snapshot().head),
});

export const finalizedHeadRoute = defineRoute({
  method: 'GET',
  url: '/datasets/:name/finalized-head',
  operationId: 'getFinalizedHead',
  summary: 'The highest finalized block.',
  response: orNull(blockRef),
  handle: (request) => json(servedDataset(request).reader.snapshot().finalized),
});

export const statusRoute = defineRoute({
  method: 'GET',
  url: '/datasets/:name/status',
  operationId: 'getStatus',
  summary: 'The stored range, the heads, the sources and the active alarms of a dataset.',
  response: STATUS,
  handle: (request) => json(buildStatus(servedDataset(request))),
});

export const timeRoute = defineRoute({
  method: 'GET',
  url: '/datasets/:name/timestamps/:seconds/block',
  operationId: 'getBlockAtTime',
  summary: 'The first block whose time is at or after a unix second.',
  parameters: {
    seconds: Type.String({
      // Any integer is a valid time. The maximum length of a path limits its digits.
      pattern: '^-?\\d+$',
      description: 'a whole number of unix seconds',
      'x-error': 'time-invalid',
    }),
  },
  response: Type.Object({ block_number: Type.Integer() }),
  handle: async (request) => {
    const { reader } = servedDataset(request);
    const { snapshot, release } = reader.acquire();
    try {
      const seconds = BigInt(request.parameters.seconds);
      const header = await findBlockAtTime(snapshot, seconds, reader);
      if (header === undefined) throw new CodedError('time-not-reached', { path: 'seconds' });
      return json({ block_number: header.number });
    } finally {
      release();
    }
  },
});

export const descriptionRoute = defineRoute({
  method: 'GET',
  url: '/openapi.json',
  operationId: 'getDescription',
  isOpen: true,
  summary: 'This description.',
  response: Type.Object({}),
  // The response is built for each request, because a reload may change the limits in it.
  handle: ({ context }) => json(buildOpenApi(context)),
});
