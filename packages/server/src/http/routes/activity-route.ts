import Type, { type TSchema } from 'typebox';
import { defineLookup } from './lookup-routes.ts';
import { count, limit, slot } from './parameter-schemas.ts';

const bounds = {
  from: Type.Optional(slot('The first slot; the first of the dataset by default.')),
  to: Type.Optional(slot('The last slot, inclusive; the head by default.')),
};

export const activityRoute = defineLookup({
  method: 'GET',
  url: '/datasets/:name/activity',
  operationId: 'getActivity',
  summary:
    'The programs, discriminators, mints and accounts with the most transactions in a range.',
  parameters: { ...bounds, limit: limit('Entries of each list.') },
  response: Type.Object({
    fromBlock: count('The first slot that was counted.'),
    toBlock: count('The last slot that was counted.'),
    isComplete: Type.Boolean({ description: 'Whether the whole range was counted.' }),
    blocks: count(),
    transactions: count(),
    programs: entries({ programId: Type.String() }),
    discriminators: entries({ programId: Type.String(), discriminator: Type.String() }),
    mints: entries({ mint: Type.String() }),
    accounts: entries({ account: Type.String() }),
    exact: Type.Object(
      {
        programs: Type.Boolean(),
        discriminators: Type.Boolean(),
        mints: Type.Boolean(),
        accounts: Type.Boolean(),
      },
      { description: 'Whether the counts of a list are exact; if not they are lower bounds.' },
    ),
  }),
  lookUp: (lookups, { parameters, signal }) => lookups.activity(parameters, signal),
});

export const coverageRoute = defineLookup({
  method: 'GET',
  url: '/datasets/:name/coverage',
  operationId: 'getCoverage',
  summary: 'Which slots of a range are stored, proven to be skipped, not final, or missing.',
  parameters: bounds,
  response: Type.Object({
    fromBlock: count(),
    toBlock: count('The last slot that is described.'),
    isComplete: Type.Boolean({ description: 'If false, the rest begins after toBlock.' }),
    slots: Type.Object(
      { stored: count(), skipped: count(), notFinal: count(), missing: count() },
      { description: 'The number of slots of each state.' },
    ),
    ranges: Type.Array(
      Type.Object({
        from: count(),
        to: count('Inclusive.'),
        state: Type.Enum(['stored', 'skipped', 'notFinal', 'missing']),
        reason: Type.String(),
      }),
    ),
  }),
  lookUp: (lookups, { parameters }) => lookups.coverage(parameters),
});

export const digestRoute = defineLookup({
  method: 'GET',
  url: '/datasets/:name/digest',
  operationId: 'getDigest',
  summary: 'A digest of the final blocks of a range, which is the same wherever they are stored.',
  parameters: {
    from: bounds.from,
    to: Type.Optional(slot('The last slot, inclusive; the finalized head by default.')),
  },
  response: Type.Object({
    version: count('Digests of different versions cannot be compared.'),
    fromBlock: count(),
    toBlock: Type.Integer({ description: 'The last slot that is included.' }),
    isComplete: Type.Boolean({ description: 'If false, the rest begins after toBlock.' }),
    blocks: count(),
    records: Type.Object({
      transactions: count(),
      instructions: count(),
      logs: count(),
      balances: count(),
      tokenBalances: count(),
      rewards: count(),
    }),
    digest: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  }),
  lookUp: (lookups, { parameters, signal }) => lookups.digest(parameters, signal),
});

function entries(names: Readonly<Record<string, TSchema>>): TSchema {
  const transactions = count('The number of transactions of the range in which it occurs.');
  return Type.Array(Type.Object({ ...names, transactions }), { maxItems: 100 });
}
