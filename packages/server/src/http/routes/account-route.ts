import { decodeBase58, isBase58Of32 } from '@sluice/base/base58';
import { CodedError } from '@sluice/base/errors';
import Type from 'typebox';
import type { TransactionPosition } from '../../engine/lookup/find-mentions.ts';
import type { AccountTransactions } from '../../stream/lookups/list-account-transactions.ts';
import { defineLookup } from './lookup-routes.ts';
import { address, limit, line } from './parameter-schemas.ts';

export const accountRoute = defineLookup({
  method: 'GET',
  url: '/datasets/:name/accounts/:address/transactions',
  operationId: 'listAccountTransactions',
  summary: 'The newest transactions that name an address in any role, page by page backwards.',
  parameters: {
    address,
    before: Type.Optional(
      Type.String({
        pattern: '^\\d{1,16}(-\\d{1,9})?$',
        description: 'a slot, or the value of next in the previous response',
      }),
    ),
    limit: limit('Transactions of a page.'),
  },
  response: Type.Object({
    transactions: Type.Array(line, {
      maxItems: 100,
      description: 'The newest first; each with one transaction and its records without logs.',
    }),
    next: Type.Union([Type.String(), Type.Null()], {
      description: 'The value of before for the next page; null if there is nothing older.',
    }),
  }),
  lookUp: async (lookups, { parameters, signal }) => {
    const { before, limit } = parameters;
    const key = decodeAddress(parameters.address);
    const position = before === undefined ? null : parsePosition(before);
    return lookups.accountTransactions({ address: key, before: position, limit }, signal);
  },
  write: ({ lines, next }: AccountTransactions) => {
    const texts = lines.map((text) => text.trimEnd()).join();
    return `{"transactions":[${texts}],"next":${next === null ? 'null' : `"${writePosition(next)}"`}}`;
  },
});

function decodeAddress(text: string): Uint8Array {
  const bytes = isBase58Of32(text) ? decodeBase58(text) : undefined;
  if (bytes !== undefined) return bytes;
  throw new CodedError('parameter-invalid', { path: 'address', allowed: 'base58 of 32 bytes' });
}

/** A slot alone is the position of its first transaction. */
function parsePosition(text: string): TransactionPosition {
  const [slot = 0, ordinal = 0] = text.split('-').map(Number);
  return { slot: Math.min(slot, Number.MAX_SAFE_INTEGER), ordinal };
}

function writePosition({ slot, ordinal }: TransactionPosition): string {
  return ordinal === 0 ? String(slot) : `${slot}-${ordinal}`;
}
