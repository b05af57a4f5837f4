/** Short responses about a dataset: its metadata, its heads, its status. */

import { CodedError } from '@sluice/base/errors';
import Type from 'typebox';
import { buildMetadata, buildStatus } from '../describe-dataset.ts';
import { blockRef, METADATA, orNull, STATUS } from './answer-schemas.ts';
import { defineRoute, json, servedDataset } from './route.ts';

export const datasetsRoute = defineRoute({
  method: 'GET',
  url: '/datasets',
  operationId: 'listDatasets',
  summary: 'All datasets that are open and know their first slot.',
  answer: Type.Array(METADATA),
  handle: ({ context }) =>
    json(context.datasets.all.flatMap(({ reader }) => buildMetadata(reader) ?? [])),
});

export const metadataRoute = defineRoute({
  method: 'GET',
  url: '/datasets/:name/metadata',
  operationId: 'getMetadata',
  summary: 'The metadata of the dataset.',
  answer: METADATA,
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
  answer: orNull(blockRef),
  handle: (request) => json(servedDataset(request).reader.snapshot().head),
});

export const finalizedHeadRoute = defineRoute({
  method: 'GET',
  url: '/datasets/:name/finalized-head',
  operationId: 'getFinalizedHead',
  summary: 'The highest finalized block.',
  answer: orNull(blockRef),
  handle: (request) => json(servedDataset(request).reader.snapshot().finalized),
});

export const statusRoute = defineRoute({
  method: 'GET',
  url: '/datasets/:name/status',
  operationId: 'getStatus',
  summary: 'What is stored, and how it is doing.',
  answer: STATUS,
  handle: (request) => json(buildStatus(servedDataset(request))),
});
