import { CodedError } from '@sluice/base/errors';
import Type from 'typebox';
import { findBlockAtTime } from '../../chain/find-blocks.ts';
import { defineRoute, json, servedDataset } from './route.ts';

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
  answer: Type.Object({ block_number: Type.Integer() }),
  handle: async (request) => {
    const { reader } = servedDataset(request);
    const { snapshot, release } = reader.acquire();
    try {
      const seconds = BigInt(request.parameters.seconds);
      const header = await findBlockAtTime(snapshot, seconds, (one) => reader.readHeaders(one));
      if (header === undefined) throw new CodedError('time-not-reached', { path: 'seconds' });
      return json({ block_number: header.number });
    } finally {
      release();
    }
  },
});
