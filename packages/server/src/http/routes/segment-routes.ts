/** The files of sealed segments, for another service that copies history. */
import { CodedError } from '@sluice/base/errors';
import { segmentPartBytesMax } from '@sluice/source/portal/segment-list';
import Type from 'typebox';
import type { SealedSegment } from '../../chain/chain-snapshot.ts';
import { findSegment, segmentsDownFrom } from '../../chain/segment-lists.ts';
import { count, limit, slot } from './parameter-schemas.ts';
import { blockRef } from './response-schemas.ts';
import { defineRoute, json, servedDataset } from './route.ts';

export const segmentsRoute = defineRoute({
  method: 'GET',
  url: '/datasets/:name/segments',
  operationId: 'listSegments',
  summary: 'The sealed segments that begin at or below a slot, newest first.',
  parameters: {
    to: slot('Segments that begin above this slot are omitted.'),
    limit: limit('The maximum number of segments.'),
  },
  isLookup: true,
  response: Type.Array(
    Type.Object({
      id: Type.String({ description: 'Its name. It ends with the CRC-32 of its bytes.' }),
      first: blockRef,
      last: blockRef,
      block_count: Type.Integer(),
      byte_length: Type.Integer(),
    }),
  ),
  handle: async (request) => {
    const { to, limit: countMax } = request.parameters;
    const { reader } = servedDataset(request);
    const { snapshot, release } = reader.acquire();
    const below: SealedSegment[] = [];
    try {
      for await (const segment of segmentsDownFrom(snapshot, to, reader.readList)) {
        below.push(segment);
        if (below.length >= countMax) break;
      }
    } finally {
      release();
    }
    return json(
      below.map(({ id, first, last, blockCount, byteLength }) => ({
        id,
        first,
        last,
        block_count: blockCount,
        byte_length: byteLength,
      })),
    );
  },
});

export const segmentRoute = defineRoute({
  method: 'GET',
  url: '/datasets/:name/segments/:id',
  operationId: 'getSegmentPart',
  summary: 'A part of the file of a sealed segment.',
  parameters: {
    id: Type.String({
      pattern: '^[0-9a-f.-]{1,64}segment$',
      description: 'the name of the segment',
    }),
    offset: count('The first byte of the part. It ends after 4 MiB, or with the file.'),
  },
  isLookup: true,
  response: Type.Unsafe({ type: 'string', format: 'binary' }),
  responseType: 'application/octet-stream',
  handle: async (request) => {
    const { id, offset } = request.parameters;
    const { reader } = servedDataset(request);
    const { snapshot, release } = reader.acquire();
    try {
      // The name of a segment begins with its first slot.
      const slot = Number.parseInt(id, 10);
      const segment = await findSegment(snapshot, slot, reader.readList);
      if (segment?.id !== id) throw new CodedError('sealed-segment-unknown');
      const end = Math.min(offset + segmentPartBytesMax, segment.byteLength);
      const body = await reader.readSegment(segment, { start: Math.min(offset, end), end });
      return { type: 'application/octet-stream', body, isBulk: true };
    } finally {
      release();
    }
  },
});
