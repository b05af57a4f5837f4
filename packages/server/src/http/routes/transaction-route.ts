import { decodeBase58, isBase58Of64 } from '@sluice/base/base58';
import { CodedError } from '@sluice/base/errors';
import { defineLookup } from './lookup-route.ts';
import { line, signature } from './parameter-schemas.ts';

export const transactionRoute = defineLookup({
  method: 'GET',
  url: '/datasets/:name/transactions/:signature',
  operationId: 'getTransaction',
  summary: 'The block of a transaction with only this transaction and its records.',
  parameters: { signature },
  answer: line,
  lookUp: async (lookups, { parameters, signal }) =>
    lookups.transaction(decodeSignature(parameters.signature), signal),
  write: (text) => text.trimEnd(),
});

function decodeSignature(text: string): Uint8Array {
  const bytes = isBase58Of64(text) ? decodeBase58(text) : undefined;
  if (bytes !== undefined) return bytes;
  throw new CodedError('parameter-invalid', { path: 'signature', allowed: 'base58 of 64 bytes' });
}
