import { defineLookup } from './lookup-route.ts';
import { line, slot } from './parameter-schemas.ts';

export const blockRoute = defineLookup({
  method: 'GET',
  url: '/datasets/:name/blocks/:slot',
  operationId: 'getBlock',
  summary: 'One block with every field of every record.',
  parameters: { slot: slot('The slot of the block.') },
  answer: line,
  lookUp: (lookups, { parameters, signal }) => lookups.block(parameters.slot, signal),
  // Without the line feed.
  write: (line) => line.subarray(0, -1),
});
