import { expectTypeOf, test } from 'vitest';
import type { BlockLine, FullRecord } from './block-line.ts';
import type { QueryBody } from './query-body.ts';

test('default: without a selector a line has the fields that are not marked (ext)', () => {
  type Line = BlockLine;
  expectTypeOf<keyof Line['header']>().toEqualTypeOf<'number' | 'parentSlot' | 'height'>();
  expectTypeOf<NonNullable<Line['balances']>[number]>().toEqualTypeOf<{
    readonly transactionIndex: number;
    readonly account: string;
    readonly pre: bigint;
    readonly post: bigint;
  }>();
  expectTypeOf<keyof NonNullable<Line['rewards']>[number]>().toEqualTypeOf<
    'pubKey' | 'lamports' | 'postBalance' | 'rewardType' | 'commission'
  >();
});

test('behavior: a selector determines the fields of a line; the number is always present', () => {
  type Fields = { block: { hash: true; height: false }; log: { message: true; kind: true } };
  type Line = BlockLine<'ledger', Fields>;
  expectTypeOf<Line['header']>().toEqualTypeOf<{
    readonly number: number;
    readonly hash: string;
  }>();
  expectTypeOf<NonNullable<Line['logs']>[number]>().toEqualTypeOf<{
    readonly kind: 'log' | 'data' | 'other';
    readonly message: string;
  }>();
  expectTypeOf<keyof NonNullable<Line['transactions']>[number]>().toEqualTypeOf<never>();
});

test('behavior: the solana dialect has quantities as text and one name for a recipient', () => {
  expectTypeOf<FullRecord<'transaction', 'solana'>['fee']>().toEqualTypeOf<string | null>();
  expectTypeOf<FullRecord<'transaction', 'solana'>['version']>().toEqualTypeOf<number | 'legacy'>();
  expectTypeOf<FullRecord<'transaction', 'ledger'>['version']>().toEqualTypeOf<number>();
  expectTypeOf<
    'pubKey' extends keyof FullRecord<'reward', 'solana'> ? true : false
  >().toEqualTypeOf<false>();
  expectTypeOf<FullRecord<'reward', 'ledger'>['pubkey']>().toEqualTypeOf<string>();
});

test('behavior: the type of a body has filters, flags and fields', () => {
  const body = {
    fromBlock: 1,
    toBlock: null,
    instructions: [{ programId: 'x', d8: ['0x'], isCommitted: true, logs: true }],
    logs: [{ kind: ['log', 'data'] }],
    fields: { block: { hash: true } },
  } as const;
  expectTypeOf(body).toExtend<QueryBody>();
  expectTypeOf<{ fromBlock: 1; logs: [{ kind: 'nothing' }] }>().not.toExtend<QueryBody>();
  expectTypeOf<{ fromBlock: 1; type: 'other' }>().not.toExtend<QueryBody>();
});
