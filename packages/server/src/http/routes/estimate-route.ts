import Type from 'typebox';
import { defineLookup } from './lookup-route.ts';
import { count } from './parameter-schemas.ts';

export const estimateRoute = defineLookup({
  method: 'POST',
  url: '/datasets/:name/estimate',
  operationId: 'estimateQuery',
  summary: 'The estimated cost of a query, from the indexes.',
  parameters: {},
  takesQuery: true,
  answer: Type.Object({
    fromBlock: count(),
    toBlock: Type.Integer({ description: 'The last slot of the range, at most the head.' }),
    isSampled: Type.Boolean({ description: 'Whether the sums are scaled up from a sample.' }),
    segments: Type.Object({ total: count(), examined: count(), withCandidates: count() }),
    blocks: Type.Object({ total: count(), withCandidates: count() }),
    transactions: Type.Object({ total: count(), toExamine: count() }),
    bytesToRead: count('Approximate stored bytes.'),
  }),
  lookUp: async (lookups, { readQuery, signal }) => lookups.estimate(await readQuery(), signal),
});
