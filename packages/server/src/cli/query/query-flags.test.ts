import { isCodedError } from '@sluice/base/errors';
import { QUERY_LIMITS } from '@sluice/protocol/query-limits';
import { expect, test } from 'vitest';
import { parseQuery } from '../../query/parse-query.ts';
import { defaultFields, fieldsForCsv, fieldsForTable, parseFields } from './choose-fields.ts';
import { buildItems, type FilterFlags } from './query-flags.ts';
import { chooseKind } from './record-rows.ts';

const A = 'So11111111111111111111111111111111111111112';
const B = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

test.each<[string, FilterFlags, object]>([
  ['no flag', {}, {}],
  ['a program', { program: [A] }, { instructions: [{ programId: [A] }] }],
  [
    'a program narrowed by data and account',
    { program: [A], d8: ['0x0102030405060708'], account: [B] },
    { instructions: [{ programId: [A], d8: ['0x0102030405060708'], mentionsAccount: [B] }] },
  ],
  ['an account alone', { account: [A] }, { transactions: [{ mentionsAccount: [A] }] }],
  [
    'a fee payer and an account',
    { feePayer: [A], account: [B] },
    { transactions: [{ feePayer: [A], mentionsAccount: [B] }] },
  ],
  [
    'a mint and an owner',
    { mint: [A], owner: [B] },
    { tokenBalances: [{ mint: [A], owner: [B] }] },
  ],
  ['all logs', { logs: true }, { logs: [{}] }],
  [
    'logs of the program',
    { logs: true, program: [A] },
    { instructions: [{ programId: [A] }], logs: [{ programId: [A] }] },
  ],
  [
    'records that come with a match',
    { program: [A], with: ['transaction', 'inner', 'token-balances'] },
    {
      instructions: [
        {
          ...{ programId: [A], transaction: true, innerInstructions: true },
          transactionTokenBalances: true,
        },
      ],
    },
  ],
  [
    'a relation on each item that has it',
    { mint: [A], with: ['transaction'] },
    { tokenBalances: [{ mint: [A], transaction: true }] },
  ],
])('behavior: the items are right for %s', (_what, flags, items) => {
  expect(buildItems(flags)).toEqual(items);
  const rules = { limits: QUERY_LIMITS, dialects: ['ledger'] as const };
  for (const chooseFields of [defaultFields, fieldsForTable, fieldsForCsv]) {
    const fields = chooseFields(buildItems(flags), chooseKind(items));
    parseQuery({ fromBlock: 0, ...items, fields }, rules);
  }
});

function refusal(work: () => unknown) {
  try {
    work();
  } catch (error) {
    if (isCodedError(error, 'cli-usage')) return error.detail;
  }
  return undefined;
}

test('error: cli-usage for a relation that no item has, with the nearest name', () => {
  const wrong = () => buildItems({ program: [A], with: ['transactoin'] });
  expect(refusal(wrong)).toMatchObject({ option: '--with', nearest: 'transaction' });
  expect(refusal(() => buildItems({ with: ['logs'] }))).toMatchObject({ found: 'logs' });
});

test('behavior: fields are given by kind, and a kind alone selects all its fields', () => {
  const fields = parseFields(['instruction.data', 'block.timestamp', 'balance']);
  expect(fields).toEqual({
    block: { timestamp: true },
    instruction: { data: true },
    balance: { transactionIndex: true, account: true, pre: true, post: true },
  });
});

test.each([
  ['instructions.data', 'instruction'],
  ['instruction.dat', 'data'],
])('error: cli-usage for the field %s, with the nearest name', (text, nearest) => {
  expect(refusal(() => parseFields([text]))).toMatchObject({ option: '--fields', nearest });
});
